//go:build unix

package local

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

// Nothing that the command started outlives its timeout or a cancel: the shell and its child both hold the pipe
// open, and it ends when neither lives.
func TestCommandGroupIsKilled(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"timeout", "cancel"} {
		b := newBench(t, reconcile.Erase(commandKind))
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
