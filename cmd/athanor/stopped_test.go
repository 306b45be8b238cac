//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore/tracetest"
)

// A reader that was stopped in the middle of reading the state keeps a deploy waiting for 10 s, which is as long as the
// file is waited for, and no longer. The deploy ends without having done anything, and once more succeeds when the
// reader has ended.
func TestStoppedReader(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 10 s")
	}
	const least = 10 * time.Second // that it waits no longer is what its end tells
	x := newLived(t, built(t, false), nil)
	x.program(here)
	x.must("deploy")
	before := x.seen()
	x.program(program(here, hereUpdated...))
	stopped := false
	reader := []string{x.binary, "state", "list"}
	e := x.watched(reader, tracetest.Watch{Under: []string{x.dir}, After: func(op tracetest.Op) {
		if stopped || op.Kind != tracetest.Shared || op.Path != filepath.Join(x.dir, ".athanor", "state.db") {
			return
		}
		stopped = true
		began := time.Now()
		_, wait := x.start("deploy")
		e, took := wait(), time.Since(began)
		if took < least {
			t.Errorf("deploy waited %s for a stopped reader", took)
		}
		if e.status.ExitStatus() != 1 || !strings.Contains(e.out, "locked") {
			t.Errorf("deploy: %s\n%s", describe(e.status), e.out)
		}
	}})
	if !stopped || e.status.ExitStatus() != 0 {
		t.Fatalf("the reader: stopped %t, %s\n%s", stopped, describe(e.status), e.out)
	}
	if after := x.seen(); strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Errorf("the deploy that gave up changed something: %q, before %q", after, before)
	}
	x.must("deploy")
	x.quiet("deploy")
	x.sound()
}
