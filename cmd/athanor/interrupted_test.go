//go:build unix

package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
)

// However a run is asked to stop, it ends with exit code 130, and its last line of JSON says who asked.
func TestInterruptedBy(t *testing.T) {
	for by, ask := range map[string]func(*testing.T, *world, *os.Process){
		"ctrl-c":  func(t *testing.T, _ *world, p *os.Process) { send(t, p, os.Interrupt) },
		"sigterm": func(t *testing.T, _ *world, p *os.Process) { send(t, p, syscall.SIGTERM) },
		"cancel":  func(t *testing.T, w *world, _ *os.Process) { w.run(0, "cancel") },
	} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			w := newGated(t)
			deploy := w.start("athanor", "deploy", "--yes", "--json")
			w.await("started")
			ask(t, w, deploy.Process)
			if by == "cancel" {
				deploy.out.until(t, "this run was asked to stop")
			}
			w.open()
			deploy.end(130)
			if said := deploy.out.String(); !strings.Contains(said, `"interruptedBy":"`+by+`"`) {
				t.Errorf("it does not say that it was %s: %s", by, said)
			}
		})
	}
}

func send(t *testing.T, p *os.Process, sig os.Signal) {
	t.Helper()
	if err := p.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// A reader of the output that goes away ends the output, and not the run.
func TestUnreadOutputEndsNoRun(t *testing.T) {
	w := newGated(t)
	cmd := w.command("deploy", "--yes", "--json")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = write, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.await("started")
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	w.open()
	if err := cmd.Wait(); err != nil || !w.has("done") || !w.has("last.txt") {
		t.Errorf("%v: done %t, last %t: %s", err, w.has("done"), w.has("last.txt"), errs.String())
	}
}
