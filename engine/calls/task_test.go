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
		for i := range 6 {
			go func() {
				if i%2 == 0 {
					time.Sleep(2 * time.Second)
					reconcile.Waited(ctx, 2*time.Second)
					return
				}
				time.Sleep(time.Second)
				reconcile.WaitedForService(ctx, time.Second)
			}()
		}
		time.Sleep(3 * time.Second)
		if took := task.Elapsed(begun); took != 1 {
			t.Errorf("it took %v seconds, want the one in which nothing waited", took)
		}
		if limited := task.Limited(); limited != 1 {
			t.Errorf("a service made it wait %v seconds, want 1", limited)
		}
	})
}
