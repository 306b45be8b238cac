package local

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// processLogs are the lines that a process printed, from its log file: the older one first.
func processLogs(ctx context.Context, site processSite, query kind.LogQuery) iter.Seq2[reconcile.LogLine, error] {
	log := ""
	if site.Last != nil {
		log = site.Last.Log
	}
	return logsIn(ctx, site.Location, log, query)
}

// logsIn are the lines of a log file; none without a path.
func logsIn(ctx context.Context, location reconcile.Place, log string, query kind.LogQuery) iter.Seq2[reconcile.LogLine, error] {
	return func(yield func(reconcile.LogLine, error) bool) {
		if log == "" {
			return
		}
		r := &logReader{path: log, query: query, yield: yield}
		err := through(ctx, location, "ReadLog", false, r.open)
		if err == nil {
			err = r.read(ctx)
		}
		if err != nil && !r.left {
			yield(reconcile.LogLine{}, err)
		}
	}
}

// logReader reads a log, and goes on with it where it is turned.
type logReader struct {
	path  string
	query reconcile.LogQuery
	yield func(reconcile.LogLine, error) bool
	left  bool // nobody wants more

	watch *fsnotify.Watcher
	older *os.File // what was put aside before this began
	file  *os.File // nil when there is none
	lines *bufio.Reader
	part  []byte // of a line that is not whole yet
}

// open opens what is there, after it began to watch: what comes in between is seen twice and read once.
func (r *logReader) open() (err error) {
	if r.query.Follow {
		if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
			return err
		}
		if r.watch, err = fsnotify.NewWatcher(); err != nil {
			return err
		}
		if err = r.watch.Add(filepath.Dir(r.path)); err != nil {
			return errors.Join(err, r.watch.Close())
		}
	}
	if r.file, err = openIf(r.path); err != nil {
		return err
	}
	r.older, err = openIf(r.path + olderLog)
	return err
}

// openIf opens a file; nil when there is none.
func openIf(path string) (*os.File, error) {
	f, err := os.Open(path)
	if missing(err) {
		return nil, nil
	}
	return f, err
}

func (r *logReader) close() {
	if r.watch != nil {
		r.watch.Close() //nolint:errcheck // nothing is watched any more
	}
	for _, f := range []*os.File{r.older, r.file} {
		if f != nil {
			f.Close()
		}
	}
}

// read reads what is there and, if it is to follow, what comes.
func (r *logReader) read(ctx context.Context) error {
	defer r.close()
	if err := r.drain(r.older); err != nil || r.left {
		return err
	}
	if err := r.drain(r.file); err != nil || r.left || !r.query.Follow {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-r.watch.Errors:
			return err
		case e := <-r.watch.Events:
			if e.Name != r.path {
				continue
			}
			if err := r.more(); err != nil || r.left {
				return err
			}
		}
	}
}

// more reads what was added, in the file that was open and in the one that took its place.
func (r *logReader) more() error {
	if err := r.drain(r.file); err != nil || r.left {
		return err
	}
	now, err := openIf(r.path)
	if now == nil {
		return err
	}
	if r.file != nil {
		a, errA := r.file.Stat()
		b, errB := now.Stat()
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return now.Close()
		}
		if err := r.drain(r.file); err != nil || r.left { // what came before it was put aside
			return errors.Join(err, now.Close())
		}
		if err := r.file.Close(); err != nil {
			return errors.Join(err, now.Close())
		}
	}
	r.file, r.part = now, nil
	return r.drain(now)
}

// drain reads a file to its end. A line that is not whole is kept for the next time.
func (r *logReader) drain(f *os.File) error {
	if f == nil {
		return nil
	}
	if r.lines == nil {
		r.lines = bufio.NewReader(f)
	}
	r.lines.Reset(f)
	for {
		text, err := r.lines.ReadBytes('\n')
		r.part = append(r.part, text...)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !r.give(r.part) {
			r.left = true
			return nil
		}
		r.part = r.part[:0]
	}
}

// give hands on a line that is asked for. One that cannot be read was cut when the machine stopped.
func (r *logReader) give(data []byte) bool {
	var l recordedLine
	if json.Unmarshal(data, &l) != nil || l.Time.Before(r.query.Since) || !strings.Contains(l.Text, r.query.Filter) {
		return true
	}
	return r.yield(reconcile.LogLine{Time: l.Time, Source: l.Source, Text: l.Text}, nil)
}
