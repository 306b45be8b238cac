package kindtest

import (
	"context"
	"errors"
	"sync"

	"github.com/athanor-dev/athanor/reconcile"
)

// errCut is what everything answers once the process counts as dead.
var errCut = errors.New("crashed by kindtest")

// watch is a gate that counts calls, fails one of them, or cuts the run before or after one of them. After
// the cut no call passes and no hook stores, as if the process had died there.
type watch struct {
	mu            sync.Mutex
	calls         []reconcile.Call
	reads, writes int

	cutAt    int  // the mutating call to cut at, from 1; 0 never
	cutAfter bool // let it happen first
	cut      bool

	failRead, failWrite int // the call to fail, from 1; 0 none
	fault               error

	open   int          // mutating calls under way
	stored bool         // something was stored since the last of them ended
	other  map[int]bool // mutating calls, from 1, before which the record is not as it was after the one before
}

// store notes that the record was written.
func (w *watch) store() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stored = true
}

// apart reports whether a cut before a call is another one than a cut after the call before it. Of calls that were not made
// nothing is known.
func (w *watch) apart(call int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return call == 1 || call > w.writes || w.other[call]
}

func (w *watch) Enter(_ context.Context, call reconcile.Call) (func(error), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return nil, &reconcile.StopError{Err: errCut}
	}
	if !call.Mutates {
		if w.reads++; w.reads == w.failRead {
			return nil, w.fault
		}
		w.calls = append(w.calls, call)
		return func(error) {}, nil
	}
	w.writes++
	if w.stored || w.open > 0 {
		if w.other == nil {
			w.other = map[int]bool{}
		}
		w.other[w.writes] = true
	}
	w.stored = false
	at := w.writes == w.cutAt
	if at && !w.cutAfter {
		w.cut = true
		return nil, &reconcile.StopError{Err: errCut}
	}
	if w.writes == w.failWrite {
		return nil, w.fault
	}
	w.calls = append(w.calls, call)
	w.open++
	return func(error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.open--
		w.cut = w.cut || at
	}, nil
}

// made is how many mutating calls were made.
func (w *watch) made() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writes
}

func (w *watch) dead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut
}
