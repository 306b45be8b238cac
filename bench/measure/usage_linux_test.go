package measure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/athanor-dev/athanor/bench/measure"
)

// TestAnonymousLeavesFilesOut: what a process has mapped of files does not count, and what it has allocated does.
func TestAnonymousLeavesFilesOut(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, make([]byte, mapped), 0o600); err != nil {
		t.Fatal(err)
	}
	cost, err := run(t, "pages", "FILE="+name)
	if err != nil {
		t.Fatal(err)
	}
	var file, memory int64
	if _, err := fmt.Sscan(cost.Output, &file, &memory); err != nil {
		t.Fatal(err)
	}
	if file > mapped/4 || memory < mapped {
		t.Errorf("with %d MiB of a file it grew by %d MiB, with as much memory by %d", mapped>>20, file>>20, memory>>20)
	}
	if cost.PeakAnon <= 0 || cost.PeakAnon > cost.PeakRSS {
		t.Errorf("at most %d bytes were anonymous, of %d", cost.PeakAnon, cost.PeakRSS)
	}
}

const mapped = 64 << 20

// pages prints by how much the anonymous memory of this process grows with a file in it, and with as much memory.
func pages() error {
	file, err := os.Open(os.Getenv("FILE"))
	if err != nil {
		return err
	}
	defer file.Close()
	before := measure.AnonymousOf(os.Getpid())
	inFile, err := syscall.Mmap(int(file.Fd()), 0, mapped, syscall.PROT_READ, syscall.MAP_SHARED|syscall.MAP_POPULATE)
	if err != nil {
		return err
	}
	between := measure.AnonymousOf(os.Getpid())
	memory, err := syscall.Mmap(-1, 0, mapped, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_POPULATE)
	if err != nil {
		return err
	}
	fmt.Println(between-before, measure.AnonymousOf(os.Getpid())-between)
	return errors.Join(syscall.Munmap(inFile), syscall.Munmap(memory))
}

func init() { roles["pages"] = pages }

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
