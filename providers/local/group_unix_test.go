//go:build unix

package local

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Nothing that the command started outlives its timeout or a cancel: the shell and its child both hold the pipe
// open, and it ends when neither lives.
func TestCommandGroupIsKilled(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"timeout", "cancel"} {
		b := newBench(t, commandKind.Erase())
		if err := syscall.Mkfifo(b.at("alive"), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		props := map[string]any{"run": "exec 3>alive; sleep 1000 & echo started >&3; wait"}
		want := errors.New("cancelled by the user")
		if how == "timeout" {
			props["timeout"], want = "300ms", ErrTimeout
		}
		done := make(chan error, 1)
		go func() {
			_, err := b.settleIn(ctx, props)
			done <- err
		}()
		pipe, err := os.Open(b.at("alive"))
		if err != nil {
			t.Fatal(err)
		}
		defer pipe.Close()
		alive := bufio.NewReader(pipe)
		if line, err := alive.ReadString('\n'); err != nil || line != "started\n" {
			t.Fatalf("%s: the command says %q (%v)", how, line, err)
		}
		if how == "cancel" {
			cancel(want)
		}
		if err := <-done; !errors.Is(err, want) {
			t.Errorf("%s: %v", how, err)
		}
		if rest, err := io.ReadAll(alive); err != nil || len(rest) > 0 {
			t.Errorf("%s: after the end %q (%v)", how, rest, err)
		}
	}
}

// A command does not start while an earlier run of it may live, whatever this process can see of that one.
func TestCommandWaitsForItsEarlierRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	made := filepath.Join(t.TempDir(), "made")
	once := execution{argv: []string{"touch", made}, timeout: time.Minute, nonce: "of one start"}
	earlier, err := lockCommand(t.Context(), once.nonce)
	if err != nil || earlier == nil {
		t.Fatal(earlier, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	because := errors.New("given up")
	cancel(because)
	if _, err := run(ctx, once); !errors.Is(err, because) {
		t.Errorf("beside an earlier run: %v", err)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("it ran beside an earlier run")
	}
	other := once
	other.nonce = "of another start"
	if _, err := run(t.Context(), other); err != nil {
		t.Errorf("another command: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := run(t.Context(), once)
		done <- err
	}()
	if err := unlockCommand(earlier); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("after the earlier run: %v", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("locks that stay: %v (%v)", left, err)
	}
}

// What a command leaves running on purpose goes on after it, and holds no lock.
func TestCommandLeavesWhatItStarted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	pipe := filepath.Join(dir, "served")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	once := execution{argv: []string{"sh", "-c", "(exec >/dev/null 2>&1; echo on > served) &"}, dir: dir, timeout: time.Minute, nonce: "n"}
	if _, err := run(t.Context(), once); err != nil {
		t.Fatal(err)
	}
	if said, err := os.ReadFile(pipe); err != nil || string(said) != "on\n" {
		t.Errorf("it says %q (%v)", said, err)
	}
}
