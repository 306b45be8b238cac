package storetest

import (
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

func cancel(f *fixture) {
	w := f.begin(f.store, "r1")
	remote := f.process(2)
	ask := func(order statestore.Order, want bool) {
		f.Helper()
		if ok, err := remote.Interrupt(f.Context(), f.stage, order); ok != want || err != nil {
			f.Errorf("%+v: %v, %v", order, ok, err)
		}
	}
	ask(statestore.Order{Run: "another"}, false)
	w.commit(statestore.Batch{Renew: true})
	if w.lease.Cancelled {
		f.Error("an order for another run was obeyed")
	}
	for range 2 {
		ask(statestore.Order{Run: "r1", Who: "eve", Why: "wrong stage"}, true)
	}
	w.commit(statestore.Batch{Renew: true})
	if !w.lease.Cancelled {
		f.Error("the holder is not told")
	}
	w.put(row("a", 0)) // asked, not fenced
	w.commit(statestore.Batch{Finish: statestore.Cancelled})
	ask(statestore.Order{}, false)
	runs, _ := f.store.Runs(f.Context(), f.stage, 0)
	if runs[0].State != statestore.Cancelled || runs[0].Note != "asked to stop by eve: wrong stage" {
		f.Errorf("run %+v", runs[0])
	}
	if next := f.begin(f.store, "r2"); next.lease.Cancelled {
		f.Error("the next run inherits the order")
	}
}

func unlock(f *fixture) {
	w := f.begin(f.store, "r1")
	remote := f.process(2)
	for i, step := range []struct {
		order statestore.Order
		want  bool
	}{
		{statestore.Order{Unlock: true, Run: "another"}, false},
		{statestore.Order{Unlock: true, Run: "r1", Who: "eve"}, true},
		{statestore.Order{Unlock: true, Run: "r1", Who: "eve"}, false},
		{statestore.Order{Unlock: true}, false},
		{statestore.Order{}, false},
	} {
		if ok, err := remote.Interrupt(f.Context(), f.stage, step.order); ok != step.want || err != nil {
			f.Errorf("step %d: %v, %v", i, ok, err)
		}
	}
	second := f.begin(remote, "r2")
	if second.lease.Epoch < w.lease.Epoch+2 {
		f.Errorf("epochs %d then %d: the unlock did not raise it", w.lease.Epoch, second.lease.Epoch)
	}
	runs, _ := f.store.Runs(f.Context(), f.stage, 0)
	if len(runs) != 2 || runs[1].State != statestore.Lost || runs[1].Note != "unlocked by eve" {
		f.Errorf("runs %+v", runs)
	}
	f.machine.pass(time.Hour) // an expired lease can be unlocked: its holder may only be asleep
	if ok, err := remote.Interrupt(f.Context(), f.stage, statestore.Order{Unlock: true}); !ok || err != nil {
		f.Errorf("unlocking an expired lease: %v, %v", ok, err)
	}
	everyMutation(second)
}

func interruptNothing(f *fixture) {
	for _, order := range []statestore.Order{{}, {Unlock: true}, {Run: "r"}} {
		if ok, err := f.store.Interrupt(f.Context(), f.stage, order); ok || err != nil {
			f.Errorf("%+v: %v, %v", order, ok, err)
		}
	}
	if stages, _ := f.store.Stages(f.Context()); len(stages) != 0 {
		f.Errorf("an interrupt made %v", stages)
	}
}
