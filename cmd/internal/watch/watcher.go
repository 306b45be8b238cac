package watch

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/athanor-dev/athanor/reconcile"
)

const (
	// quiet is how long nothing more must happen before what happened is told: an editor that saves writes, renames
	// and changes modes within a millisecond or two.
	quiet = 12 * time.Millisecond
	// patience is how long a burst may keep it waiting.
	patience = 200 * time.Millisecond
	// grain is how much older than the write the time of a file may be: file systems count in ticks of the kernel.
	grain = 5 * time.Millisecond
)

// Watcher tells of changes. It is safe for concurrent use.
type Watcher struct {
	notify  *fsnotify.Watcher
	changes chan []string
	stop    chan struct{}
	stopped sync.WaitGroup

	mu      sync.Mutex
	want    *wanted
	folders map[string]bool // that are watched
	pending map[string]bool
	wake    chan struct{}
}

// New watches nothing yet.
func New() (*Watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, watchError(err)
	}
	w := &Watcher{
		notify: notify, changes: make(chan []string), stop: make(chan struct{}), want: newWanted(Set{}),
		folders: map[string]bool{}, pending: map[string]bool{}, wake: make(chan struct{}, 1),
	}
	w.stopped.Go(w.listen)
	w.stopped.Go(w.tell)
	return w, nil
}

// Close ends it.
func (w *Watcher) Close() error {
	close(w.stop)
	err := w.notify.Close()
	w.stopped.Wait()
	return err
}

// Changes tells what changed, sorted, once per burst. What changes while nobody listens is told in one.
func (w *Watcher) Changes() <-chan []string { return w.changes }

// Watch watches this set from now on. Of what is new in it, whatever was written after since counts as changed: it was
// read, perhaps before the write, when nobody watched it.
func (w *Watcher) Watch(s Set, since time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.want
	w.want = newWanted(s)
	err := w.sync()
	for _, path := range slices.Concat(s.Files, s.Packages, s.Trees) {
		if slices.Contains(slices.Concat(before.Files, before.Packages, before.Trees), path) {
			continue
		}
		if w.want.written(path, since.Add(-grain)) {
			w.pend(path)
		}
	}
	return err
}

// Count is how many folders are watched.
func (w *Watcher) Count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.folders)
}

// sync watches the folders that must be watched, and no others. The lock is held.
func (w *Watcher) sync() error {
	wants := map[string]bool{}
	var errs []error
	for _, dir := range w.want.folders() {
		wants[dir] = true
		if w.folders[dir] {
			continue
		}
		switch err := w.notify.Add(dir); {
		case err == nil:
			w.folders[dir] = true
		case !errors.Is(err, os.ErrNotExist): // deleted again: its own folder tells when it comes back
			errs = append(errs, fmt.Errorf("watch %s: %w", dir, watchError(err)))
		}
	}
	maps.DeleteFunc(w.folders, func(dir string, _ bool) bool {
		if wants[dir] {
			return false
		}
		_ = w.notify.Remove(dir) // it may be deleted
		return true
	})
	return errors.Join(errs...)
}

// watchError says what can be done about the limits of a system.
func watchError(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return reconcile.WithHint(err, "too many folders are watched: sysctl fs.inotify.max_user_watches=524288, or a .gitignore in the source folder")
	case errors.Is(err, syscall.EMFILE):
		return reconcile.WithHint(err, "too many programs watch files: sysctl fs.inotify.max_user_instances=512")
	}
	return err
}

// listen takes in what the system tells.
func (w *Watcher) listen() {
	for {
		select {
		case e, ok := <-w.notify.Events:
			if !ok {
				return
			}
			w.event(e)
		case _, ok := <-w.notify.Errors:
			if !ok {
				return
			}
			w.overflow()
		}
	}
}

// overflow: the system lost events, so anything may have changed.
func (w *Watcher) overflow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, path := range slices.Concat(w.want.Files, w.want.Packages, w.want.Trees) {
		w.pend(path)
	}
	_ = w.sync() // what cannot be watched was said when it was asked for
}

// event takes in one event.
func (w *Watcher) event(e fsnotify.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)
	folder := gone && w.folders[e.Name] || e.Has(fsnotify.Create) && isDir(e.Name)
	if gone && w.folders[e.Name] {
		_ = w.notify.Remove(e.Name) // of a renamed one the system goes on to tell
		delete(w.folders, e.Name)
	}
	name := w.want.named(e.Name)
	if filepath.Base(e.Name) == ignoreFile {
		w.want.ignored.forget(filepath.Dir(e.Name))
	}
	if e.Op == fsnotify.Chmod && !slices.ContainsFunc(w.want.Trees, func(tree string) bool { return within(e.Name, tree) }) {
		return
	}
	above := w.want.above[e.Name] && (gone || e.Has(fsnotify.Create))
	if above {
		for _, path := range w.want.below(e.Name) {
			w.pend(path)
		}
	}
	if above || folder {
		_ = w.sync() // what cannot be watched was said when it was asked for
	}
	if name != "" {
		w.pend(name)
	}
}

// pend notes a change. The lock is held.
func (w *Watcher) pend(path string) {
	w.pending[path] = true
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// tell hands changes on, when it has been quiet for a moment.
func (w *Watcher) tell() {
	for {
		select {
		case <-w.stop:
			return
		case <-w.wake:
		}
		w.settle()
		var batch []string
		var out chan []string
		for {
			if batch = w.take(batch); len(batch) > 0 {
				out = w.changes
			}
			select {
			case <-w.stop:
				return
			case <-w.wake:
				continue
			case out <- batch:
			}
			break
		}
	}
}

// settle waits until nothing more happens.
func (w *Watcher) settle() {
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for began := time.Now(); ; {
		select {
		case <-w.stop:
			return
		case <-timer.C:
			return
		case <-w.wake:
			if time.Since(began) > patience {
				return
			}
			timer.Reset(quiet)
		}
	}
}

// take adds what is pending to a batch.
func (w *Watcher) take(batch []string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	batch = append(batch, slices.Collect(maps.Keys(w.pending))...)
	clear(w.pending)
	slices.Sort(batch)
	return slices.Compact(batch)
}
