//go:build unix

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// world is a folder with a stack in it and a home of its own.
type world struct {
	t      *testing.T
	dir    string
	env    []string
	binary string   // "" for athanor
	within []string // a command that runs another one on the machine of the world; empty for this machine
}

func newWorld(t *testing.T, stack string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	home := t.TempDir()
	w.env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ATHANOR_") }) // an empty stage is an error
	w.env = append(w.env, "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "USER=tester", "TERM=xterm",
		"NO_COLOR=", "CLICOLOR_FORCE=", "PAGER=cat", "LC_ALL=C.UTF-8", "GOGC="+garbage,
		"DBUS_SESSION_BUS_ADDRESS=") // the keyring of the user who tests stays as it is
	w.write("athanor.yaml", stack)
	return w
}

// write writes a file, or to a pipe that somebody reads.
func (w *world) write(name, text string) {
	w.t.Helper()
	onPipe(w.t, name, func() (struct{}, error) {
		return struct{}{}, os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600)
	})
}

func (w *world) has(name string) bool {
	_, err := os.Stat(filepath.Join(w.dir, name))
	return err == nil
}

func (w *world) command(args ...string) *exec.Cmd {
	w.t.Helper()
	binary, err := exec.LookPath(cmp.Or(w.binary, "athanor"))
	if err != nil {
		w.t.Fatal(err)
	}
	line := slices.Concat(w.within, []string{binary}, args)
	cmd := limited(w.t, line[0], line[1:]...)
	cmd.Dir, cmd.Env = w.dir, w.env
	bind(cmd)
	return cmd
}

// exitCode is that of a command, by what its Wait returned.
func exitCode(t *testing.T, cmd *exec.Cmd, err error) int {
	t.Helper()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// summary runs the command with --json and gives its last line.
func (w *world) summary(wantCode int, args ...string) map[string]any {
	w.t.Helper()
	p := w.start("athanor", append(args, "--json")...)
	if code := <-p.ended; code != wantCode {
		w.t.Fatalf("athanor %v: exit code %d, want %d: %s%s", args, code, wantCode, p.out.String(), p.errs.String())
	}
	lines := strings.Split(strings.TrimSpace(p.out.String()), "\n")
	var last map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		w.t.Fatal(err)
	}
	return last
}

func (w *world) await(name string) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !w.has(name); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s does not come", name)
		}
	}
}

// gated is a stack whose second step waits until somebody opens the gate, a named pipe.
const gated = `stack: gated
resources:
  first: {kind: local.File, props: {path: first.txt, content: "1\n"}}
  slow: {kind: local.Command, props: {run: "echo . >> starts; touch started; read x < gate; touch done", triggers: ["${first.digest}"], timeout: 10m}}
  last: {kind: local.File, props: {path: last.txt, content: "${slow.stdout}"}}
`

func newGated(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, gated)
	if err := syscall.Mkfifo(filepath.Join(w.dir, "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// open opens the gate for those that wait at it, or come soon.
func (w *world) open() {
	w.t.Helper()
	gate, err := os.OpenFile(filepath.Join(w.dir, "gate"), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	for deadline := time.Now().Add(patience); errors.Is(err, syscall.ENXIO) && time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		gate, err = os.OpenFile(filepath.Join(w.dir, "gate"), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	defer gate.Close()
	if _, err := gate.WriteString("go\n"); err != nil {
		w.t.Fatal(err)
	}
}

func wantCounts(t *testing.T, have map[string]any, want map[string]float64) {
	t.Helper()
	for name, n := range want {
		if have[name] != n {
			t.Errorf("%s is %v, want %v: %v", name, have[name], n, have)
		}
	}
}

// One interrupt starts nothing new; running calls finish and reach state, and the next run continues.
func TestInterruptOnce(t *testing.T) {
	w := newGated(t)
	deploy := w.start("athanor", "deploy", "--yes", "--json")
	w.await("started")
	deploy.signal(os.Interrupt)
	deploy.errs.until(t, "Stopping.")
	w.open()
	deploy.end(130)
	stdout, stderr := deploy.out.String(), deploy.errs.String()
	if !w.has("done") || w.has("last.txt") {
		t.Errorf("what ran is finished: %t; something new was started: %t", w.has("done"), w.has("last.txt"))
	}
	if !strings.Contains(stderr, "running calls finish") || !strings.Contains(stdout, `"state":"cancelled"`) {
		t.Errorf("it does not say what it does: %s%s", stdout, stderr)
	}
	wantCounts(t, w.summary(0, "deploy", "--yes"), map[string]float64{"created": 1, "unchanged": 2})
	if starts, _ := os.ReadFile(filepath.Join(w.dir, "starts")); string(starts) != ".\n" {
		t.Errorf("the command ran %d times, want once", strings.Count(string(starts), "."))
	}
}

// A second interrupt cancels what runs.
func TestInterruptTwice(t *testing.T) {
	w := newGated(t)
	deploy := w.start("athanor", "deploy", "--yes")
	w.await("started")
	deploy.signal(os.Interrupt)
	deploy.errs.until(t, "A second signal cancels")
	deploy.signal(os.Interrupt)
	deploy.end(130)
	if w.has("done") || w.has("last.txt") {
		t.Error("the cancelled command went on")
	}
	w.openSoon()
	wantCounts(t, w.summary(0, "deploy", "--yes"), map[string]float64{"failed": 0, "unchanged": 1})
}

// openSoon opens the gate for the next one that comes.
func (w *world) openSoon() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.open()
	}()
	w.t.Cleanup(func() { <-done })
}

// openNext opens the gate for the command of the next run, once that has started: the one of a killed run ends with it.
func (w *world) openNext() {
	if err := os.Remove(filepath.Join(w.dir, "started")); err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.await("started")
		w.open()
	}()
	w.t.Cleanup(func() { <-done })
}

// A deploy that is killed in the middle is continued by the next one, at once.
func TestKilled(t *testing.T) {
	w := newGated(t)
	cmd := w.command("deploy", "--yes")
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.await("started")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("it was not killed")
	}
	w.openNext()
	again := w.summary(0, "deploy", "--yes")
	wantCounts(t, again, map[string]float64{"created": 2, "failed": 0})
	// The second step starts when the first is created, so the kill may come before state says that the first is as
	// declared.
	if first := again["unchanged"].(float64) + again["recovered"].(float64); first != 1 {
		t.Errorf("what was done is unchanged or recovered %v times", first)
	}
	w.tookOverTheDead()
	wantCounts(t, w.summary(0, "deploy"), map[string]float64{"unchanged": 3})
}

// tookOverTheDead checks that the newest run took the stage from one whose process has ended, and did not wait for its
// lease.
func (w *world) tookOverTheDead() {
	w.t.Helper()
	if runs := w.history(); len(runs) != 2 || runs[0] != "succeeded" ||
		!strings.HasPrefix(runs[1], "lost: its process ended; taken over by run ") {
		w.t.Errorf("history %q", runs)
	}
}
