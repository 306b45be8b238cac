package proctest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

func TestShared(t *testing.T) {
	t.Parallel()
	name := filepath.Join(fmt.Sprint(t.Name(), os.Getpid()), "thing")
	if _, err := proctest.Shared(name, func(string) error { return os.ErrInvalid }); !errors.Is(err, os.ErrInvalid) {
		t.Fatalf("what cannot be made: %v", err)
	}
	var made atomic.Int64
	make := func(path string) error {
		return os.WriteFile(path, fmt.Append(nil, made.Add(1), " of a thing"), 0o600)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			path, err := proctest.Shared(name, make)
			if err != nil {
				t.Error(err)
				return
			}
			if text, err := os.ReadFile(path); err != nil || len(text) != len("1 of a thing") {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	group.Wait()
	before := made.Load()
	if runtime.GOOS == "linux" && before != 1 { // where folders can be locked
		t.Errorf("made %d times", before)
	}
	path, err := proctest.Shared(name, make)
	if err != nil || made.Load() != before {
		t.Errorf("%v; it is made again when it is there: %t", err, made.Load() != before)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v lie beside it (%v)", left, err)
	}
}
