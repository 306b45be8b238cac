package terraform

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/providers/terraform/plugin"
)

// pace is how a process of a provider works: how many calls it is asked before another one takes its place, and how far its heap grows between two
// collections. The framework that most providers use keeps some 25 KB of each call until it ends.
type pace struct {
	calls int
	env   []string
}

// paceOf is that of a program of a size in bytes. One of less than 64 MB has a heap of 10 MB when it starts: it may grow by twice of what it holds, which
// takes a third of its time away, and is replaced before it has 100 MB. What is larger holds hundreds of MB for its types, and is slow to start.
func paceOf(size int64) pace {
	if size < 64<<20 {
		return pace{1000, []string{"GOGC=200"}}
	}
	return pace{calls: 2000}
}

// worker is one process of a program, with what is asked of it.
type worker struct {
	*plugin.Process
	end  func() // ends the process, once
	stop sync.Once
	// configured says that it has its configuration. The program's mutex guards it.
	configured bool
	// limit is how many calls it is asked.
	limit int

	mu      sync.Mutex
	calls   int  // that it was asked since it started
	pending int  // of these, those that are not answered
	retired bool // another one took its place
}

func newWorker(process *plugin.Process, limit int) *worker {
	return &worker{Process: process, limit: limit, end: sync.OnceFunc(process.Close)}
}

// enter counts a call, and reports whether the worker takes it.
func (w *worker) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.retired {
		return false
	}
	w.calls++
	w.pending++
	return true
}

// leave says that a call was answered. The caller with the last answer of a worker whose place another one took ends
// it.
func (w *worker) leave() {
	w.mu.Lock()
	w.pending--
	last := w.retired && w.pending == 0
	w.mu.Unlock()
	if last {
		w.end()
	}
}

// retire gives a worker no more calls. It ends when it has answered those that it has.
func (w *worker) retire() {
	w.mu.Lock()
	w.retired = true
	idle := w.pending == 0
	w.mu.Unlock()
	if idle {
		w.end()
	}
}

// spent reports whether a worker has answered as many calls as it is to.
func (w *worker) spent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls >= w.limit
}

// entered is the worker that takes the next call. The caller says when that is answered.
func (p *program) entered() (*worker, error) {
	for {
		w := p.worker.Load()
		if w == nil {
			return nil, errEnded
		}
		if w.enter() {
			return w, nil
		}
		if p.worker.Load() == w {
			return nil, errEnded // nobody took its place
		}
	}
}

// replace gives all further calls to another worker, or to none.
func (p *program) replace(by *worker) {
	before := p.worker.Swap(by)
	if before == nil {
		return
	}
	p.retired = append(slices.DeleteFunc(p.retired, (*worker).Exited), before)
	before.retire()
}

// stop asks a worker once to end its calls.
func (p *program) stop(w *worker) {
	w.stop.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout) //nolint:forbidigo // the run that asks for it is over
		defer cancel()
		if err := w.Stop(ctx); err != nil {
			p.set.warn(p.label + ": " + err.Error())
		}
	})
}

// stopTimeout bounds how long a provider is asked to stop.
const stopTimeout = 5 * time.Second

// ofProvider adds the provider to what went wrong.
func (p *program) ofProvider(err error) error { return fmt.Errorf("%s: %w", p.label, err) }
