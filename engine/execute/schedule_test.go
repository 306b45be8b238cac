package execute

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile"
)

// scheduled is tasks of one kind that do the same, so many that no others would be started beside them.
func scheduled(kind string, count int, do func(ctx context.Context)) []*task {
	tasks := make([]*task, count)
	for i := range tasks {
		n := orderedNode(fmt.Sprintf("%s%04d", kind, i))
		n.Spec.Type = kind
		tasks[i] = &task{n: n, do: func(t *task) (bool, error) {
			do(t.yields(context.Background()))
			return false, nil
		}}
	}
	return tasks
}

func runAll(tasks []*task) {
	inOrder := func(tasks []*task) {
		for i, t := range tasks {
			t.turn = i
		}
	}
	newSchedule(func() bool { return false }, inOrder, func(*task, *task) {}).run(tasks)
}

// TestTasksThatWaitLeaveTheirPlace: however many tasks of a kind wait for their service, those of another are started, and of the
// first not all wait at once.
func TestTasksThatWaitLeaveTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var waiting, most int
		slow := func(ctx context.Context) {
			defer reconcile.Yield(ctx)()
			mu.Lock()
			waiting++
			most = max(most, waiting)
			mu.Unlock()
			time.Sleep(time.Hour)
			mu.Lock()
			waiting--
			mu.Unlock()
		}
		since, soon := time.Now(), time.Duration(0)
		quick := func(context.Context) {
			mu.Lock()
			defer mu.Unlock()
			soon = max(soon, time.Since(since))
		}
		tasks := append(scheduled("slow", 3*inFlight, slow), scheduled("quick", inFlight, quick)...)
		runAll(tasks)
		if took := time.Since(since); soon > 0 || took > 3*time.Hour || most > 2*inFlight {
			t.Errorf("others were done after %s, all after %s, %d waited at once", soon, took, most)
		}
		for _, task := range tasks {
			if task.state != finished {
				t.Fatalf("%s is not done", task.n.Address)
			}
		}
	})
}

// TestHeldTasksAreStarted: tasks that were not started while many of their kind waited are started later, also when nobody waits any more.
func TestHeldTasksAreStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int64
		tasks := scheduled("slow", 4*inFlight, func(ctx context.Context) {
			if begun.Add(1) > inFlight {
				return // the service answers at once by now
			}
			defer reconcile.Yield(ctx)()
			time.Sleep(time.Hour)
		})
		runAll(tasks)
		for i, task := range tasks {
			if task.state != finished {
				t.Fatalf("task %d of %d was never started", i, len(tasks))
			}
		}
	})
}

// TestOneOfSeveralWaits: a task whose calls wait at the same time has one place, which it leaves once and takes once.
func TestOneOfSeveralWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runAll(scheduled("kind", 3, func(ctx context.Context) {
			first, second := reconcile.Yield(ctx), reconcile.Yield(ctx)
			first()
			time.Sleep(time.Second)
			second()
		}))
	})
}

// TestResultDoesNotWaitForATurn: a result that waits for the intents which it sets free does not wait for those whose tasks wait for
// their service.
func TestResultDoesNotWaitForATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		since, durable := time.Now(), time.Duration(0)
		up, down := orderedNode("up"), orderedNode("down")
		down.Plan = &plan.Planned{Action: plan.Create}
		first := &task{n: up, do: func(t *task) (bool, error) {
			c := newCompany()
			t.sched.signals <- signal{t: t, settled: c}
			<-c.alone
			durable = time.Since(since)
			return false, nil
		}}
		second := &task{n: down, do: func(t *task) (bool, error) {
			over := reconcile.Yield(t.yields(context.Background()))
			time.Sleep(time.Minute)
			over()
			<-t.with.reported
			return false, nil
		}}
		first.before(second, false)
		runAll([]*task{first, second})
		if durable > 0 || second.state != finished {
			t.Errorf("durable after %s, state %d", durable, second.state)
		}
	})
}
