package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// Limits are far above what is needed on a machine that does much else. What takes longer hangs, and fails the test that
// began it, alone.
const (
	// commandLimit is how long a command may run that is the test binary. It then says where each goroutine is.
	commandLimit = 4 * time.Minute
	// processLimit is how long any process of a test may run. It is then killed.
	processLimit = commandLimit + 30*time.Second
	// buildLimit is how long the compiler may take, with nothing compiled yet.
	buildLimit = 15 * time.Minute
	// patience is how long a test waits for what a process does.
	patience = 2 * time.Minute
	// scriptLimit is how long one script may take, with all that it runs.
	scriptLimit = 2 * processLimit
)

// limited is a command of a test that does not run for longer than a process may. A program in Go then says where each goroutine is.
func limited(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	return limitedTo(t, processLimit, name, args...)
}

func limitedTo(t testing.TB, limit time.Duration, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("%s %v hangs: killed after %s", filepath.Base(name), args, limit)
			if cmd.Process.Signal(syscall.SIGQUIT) == nil {
				return nil
			}
		}
		return cmd.Process.Kill()
	}
	cmd.WaitDelay = patience // for what its children hold
	return cmd
}

// awaited is what a channel gives. It fails the test when nothing comes.
func awaited[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case v := <-from:
		return v
	case <-limit.C:
		t.Fatalf("%s: nothing comes within %s", what, patience)
		panic("unreachable")
	}
}

// onPipe does what blocks for as long as nobody has the other end of a pipe, and fails the test when nobody comes.
func onPipe[T any](t testing.TB, name string, do func() (T, error)) T {
	t.Helper()
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := do()
		done <- outcome{v, err}
	}()
	o := awaited(t, done, "the other end of "+name)
	if o.err != nil {
		t.Fatal(o.err)
	}
	return o.v
}

// within makes a function of [testscript.Main] a command that ends after a time.
func within(limit time.Duration, command func()) func() {
	return func() {
		time.AfterFunc(limit, func() {
			stacks := make([]byte, 1<<20)
			fmt.Fprintf(os.Stderr, "%v hangs after %s:\n%s\n", os.Args, limit, stacks[:runtime.Stack(stacks, true)])
			os.Exit(97)
		})
		command()
	}
}

// script is a test of its own for a script: with a limit of its own, which begins when it does.
type script struct{ *testing.T }

func (script) Parallel()                               {}
func (script) Verbose() bool                           { return testing.Verbose() }
func (s script) Run(_ string, of func(t testscript.T)) { of(s) }

// runScripts runs each script in a folder as a test: every second for each push, all every night and where they are written anew.
func runScripts(t *testing.T, dir string, p testscript.Params) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	for n, file := range files {
		if !p.UpdateScripts && !proctest.Played(n, 3) {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			own := p
			own.Files, own.Deadline = []string{file}, time.Now().Add(scriptLimit)
			testscript.RunT(script{t}, own)
		})
	}
}

// nightly runs a part of a test that is played every night alone ([proctest.Whole]).
func nightly(t *testing.T, name string, part func(*testing.T)) {
	t.Helper()
	if proctest.Whole() {
		t.Run(name, part)
	}
}

// hang is a command that does not end.
func hang() { select {} }

// failing is a test whose failures are wanted.
type failing struct {
	testing.TB
	said chan string
}

func (f *failing) Errorf(format string, args ...any) { f.said <- fmt.Sprintf(format, args...) }

// A command that hangs says where, and one that cannot is killed.
func TestHangingCommandEnds(t *testing.T) {
	out, err := limited(t, "athanor-hang").CombinedOutput()
	if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != 97 || !strings.Contains(string(out), ".hang()") {
		t.Errorf("it ends as %v, and says:\n%s", err, out)
	}
	of := &failing{t, make(chan string, 1)}
	if err := limitedTo(of, 100*time.Millisecond, "sleep", "1000").Run(); err == nil {
		t.Error("it is not killed")
	}
	if said := <-of.said; !strings.Contains(said, "sleep [1000] hangs") {
		t.Errorf("the test is told %q", said)
	}
}
