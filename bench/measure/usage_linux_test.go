package measure_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/athanor-dev/athanor/bench/measure"
)

func TestCalledOffLeavesNothingRunning(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := measure.Run(ctx, measure.Command{Args: []string{self}, Env: []string{role + "=hold", "PIPE=" + pipe}})
		ended <- err
	}()
	held, err := os.Open(pipe) // waits until the command has opened it
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if _, err := io.ReadFull(held, make([]byte, len("open"))); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation", err)
	}
	if _, err := held.Read(make([]byte, 1)); !errors.Is(err, io.EOF) { // at the end of the only writer
		t.Errorf("the pipe says %v, want its end", err)
	}
}
