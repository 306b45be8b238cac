package devsession

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/athanor-dev/athanor/cmd/internal/traces"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

// devTraces sends an OpenTelemetry trace of each run of a session, beside the work. The events say when a run begins and ends.
type devTraces struct {
	about traces.About
	warn  func(text string)

	mu      sync.Mutex
	run     *traces.Run // at work; nil for none
	warned  bool
	sending sync.WaitGroup
}

// event notes an event of the session.
func (t *devTraces) event(ctx context.Context, e engine.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Type == engine.EventRun && e.Status == engine.StatusRunning {
		var err error
		t.run, err = traces.Begin(os.Getenv, t.about)
		t.warning("no trace is sent", err)
	}
	run := t.run
	run.Event(e)
	if e.Type != engine.EventRun || e.Status == engine.StatusRunning || run == nil {
		return
	}
	t.run = nil
	failure := ""
	if e.Status != engine.Status(statestore.Succeeded) {
		failure = string(e.Status)
	}
	t.sending.Go(func() {
		err := run.End(ctx, string(e.Status), failure)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.warning("a trace was not sent", err)
	})
}

// warning says, once in a session, what keeps traces from being sent.
func (t *devTraces) warning(what string, err error) {
	if err == nil || t.warned {
		return
	}
	t.warned = true
	t.warn(fmt.Sprintf("%s: %v", what, err))
}

// close waits for the traces that are on their way; each has its own time limit.
func (t *devTraces) close() { t.sending.Wait() }
