package calls_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/engine/calls"
	"github.com/athanor-dev/athanor/reconcile"
)

// TestCallsThatWaitTogetherCountOnce: the time of a task was negative when several of its calls waited at once.
func TestCallsThatWaitTogetherCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, task := calls.Note(t.Context())
		begun := time.Now()
		calls.Began(ctx, false)
		for range 5 {
			go func() {
				time.Sleep(2 * time.Second)
				reconcile.Waited(ctx, 2*time.Second)
			}()
		}
		time.Sleep(3 * time.Second)
		if took := task.Elapsed(begun); took != 1 {
			t.Errorf("it took %v seconds, want the one in which nothing waited", took)
		}
	})
}
