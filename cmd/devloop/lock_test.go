package devloop_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/cmd/devloop"
	"github.com/athanor-dev/athanor/statestore"
)

// TestLock: a second session of a stage is refused and told whose the first one is, until that one has ended.
func TestLock(t *testing.T) {
	t.Parallel()
	dir, stage := t.TempDir(), statestore.Stage{Stack: "shop", Name: "local-ada"}
	first, err := devloop.TakeLock(dir, stage)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := devloop.TakeLock(dir, stage); !errors.Is(err, devloop.ErrRuns) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", os.Getpid())) {
		t.Errorf("the second session: %v", err)
	}
	other, err := devloop.TakeLock(dir, statestore.Stage{Stack: "shop", Name: "local-bob"})
	if err != nil {
		t.Errorf("another stage: %v", err)
	}
	if err := errors.Join(first.Release(), other.Release()); err != nil {
		t.Fatal(err)
	}
	again, err := devloop.TakeLock(dir, stage)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
}
