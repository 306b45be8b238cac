//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestFailedCommandIsUndone: what a command did before it failed is undone, in its first run and in a later one.
func TestFailedCommandIsUndone(t *testing.T) {
	const fails = "stack: fails\nresources:\n  step: {kind: local.Command, props: {run: \"touch made; exit 3\", undo: rm -f made}}\n"
	w := newWorld(t, fails)
	w.run(4, "deploy", "--yes")
	w.run(0, "destroy", "--yes")
	if w.has("made") {
		t.Error("destroy leaves what a failed command made")
	}
	w.write("athanor.yaml", "stack: fails\nresources:\n  step: {kind: local.Command, props: {run: \"true\", undo: touch wrong}}\n")
	w.run(0, "deploy", "--yes")
	w.write("athanor.yaml", fails)
	w.run(4, "deploy", "--yes")
	w.write("athanor.yaml", "stack: fails\nresources: {}\n")
	w.run(0, "deploy", "--yes")
	if w.has("made") || w.has("wrong") {
		t.Error("what a failed update made is not undone by its own undo")
	}
}

// TestKilledCommandEnds: with the run, its command ends, and the next command undoes it, runs it again, or leaves out what the
// program does not declare any more.
func TestKilledCommandEnds(t *testing.T) {
	const stack = "stack: killed\nresources:\n  step: {kind: local.Command, props: " +
		"{run: \"touch made; exec 3>alive; echo started >&3; [ -e go ] || sleep 100\", undo: rm made}}\n"
	for name, next := range map[string]func(*world){
		"destroy": func(w *world) { w.run(0, "destroy", "--yes") },
		"deploy": func(w *world) {
			w.write("go", "")
			deploy := w.start("athanor", "deploy", "--yes")
			commandStarted(w)
			deploy.end(0)
			w.run(0, "destroy", "--yes")
		},
		"removed": func(w *world) {
			w.write("athanor.yaml", "stack: killed\nresources: {}\n")
			w.run(0, "deploy", "--yes")
		},
		"another kind": func(w *world) {
			w.write("athanor.yaml", "stack: killed\nresources:\n  step: {kind: local.File, props: {path: other}}\n")
			w.run(0, "deploy", "--yes")
		},
		"renamed": func(w *world) {
			w.write("go", "")
			w.write("athanor.yaml", "stack: killed\nresources:\n  other: {kind: local.Command, props: {run: touch made, undo: rm made}, options: {renamedFrom: [step]}}\n")
			w.run(0, "deploy", "--yes")
			w.run(0, "destroy", "--yes")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, stack)
			w.fifo("alive")
			deploy := w.start("athanor", "deploy", "--yes")
			end := commandStarted(w)
			deploy.signal(os.Kill)
			<-deploy.ended
			end()
			next(w)
			if w.has("made") {
				t.Error("what the killed command made is still there")
			}
		})
	}
}

// hooked is a stack with a hook that says that it started, in a process of its own, and waits until somebody writes to "go".
const hooked = "stack: hooked\nresources:\n  page: {kind: local.File, props: {path: page.txt, content: x}, options: " +
	"{before: [\"(exec 3>alive; echo started >&3; read how < go); exit $?\"]}}\n"

// TestKilledHookEnds: with the run, the command of a hook ends, and the next run begins it again.
func TestKilledHookEnds(t *testing.T) {
	w := newWorld(t, hooked)
	w.fifo("alive")
	w.fifo("go")
	deploy := w.start("athanor", "deploy", "--yes")
	end := commandStarted(w)
	deploy.signal(os.Kill)
	<-deploy.ended
	end()
	deploy = w.start("athanor", "deploy", "--yes")
	commandStarted(w)
	w.write("go", "on\n") // a pipe, which the hook reads
	deploy.end(0)
}

// TestCancelledHookEnds: a first signal lets the command of a hook finish, a second one ends it with all that it has started.
func TestCancelledHookEnds(t *testing.T) {
	w := newWorld(t, hooked)
	w.fifo("alive")
	w.fifo("go")
	deploy := w.start("athanor", "deploy", "--yes")
	end := commandStarted(w)
	for range 2 {
		deploy.signal(os.Interrupt)
		deploy.errs.until(t, "A second signal cancels")
	}
	end()
	deploy.end(130)
	if w.has("page.txt") {
		t.Errorf("the page was made: %s", deploy.errs.String())
	}
}

// commandStarted waits until the command has started. What it returns waits until nothing of the command lives.
func commandStarted(w *world) (end func()) {
	w.t.Helper()
	pipe := onPipe(w.t, "alive", func() (*os.File, error) { return os.Open(filepath.Join(w.dir, "alive")) })
	w.t.Cleanup(func() { pipe.Close() })
	if err := pipe.SetReadDeadline(time.Now().Add(patience)); err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewReader(pipe)
	if line, err := lines.ReadString('\n'); err != nil || line != "started\n" {
		w.t.Fatalf("the command says %q (%v)", line, err)
	}
	return func() {
		w.t.Helper()
		if _, err := io.Copy(io.Discard, lines); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestCutUndoRunsAgain: an undo that failed or was killed after it had acted has begun, so that a deploy of the same program runs the
// command again, and a destroy undoes it again.
func TestCutUndoRunsAgain(t *testing.T) {
	for name, undo := range map[string]string{
		"failed": "rm -f made; [ -e go ]",
		"killed": "rm -f made; [ -e go ] || { exec 3>alive; echo started >&3; sleep 100; }",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "stack: undone\nresources:\n  step: {kind: local.Command, props: {run: touch made, undo: \""+undo+"\"}}\n")
			w.fifo("alive")
			w.run(0, "deploy", "--yes")
			if name == "failed" {
				w.run(4, "destroy", "--yes")
			} else {
				destroy := w.start("athanor", "destroy", "--yes")
				end := commandStarted(w)
				destroy.signal(os.Kill)
				<-destroy.ended
				end()
			}
			if w.has("made") {
				t.Fatal("the undo did nothing before it was cut")
			}
			w.run(0, "deploy", "--yes")
			if !w.has("made") {
				t.Error("a deploy takes what is half undone for done")
			}
			w.write("go", "")
			w.run(0, "destroy", "--yes")
			if w.has("made") {
				t.Error("it is not undone")
			}
		})
	}
}
