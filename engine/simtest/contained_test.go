package simtest_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
	"github.com/athanor-dev/athanor/reconcile"
)

// contained are objects that hold others: as their data, and as the only place where the others are listed.
func contained() []scenario {
	box, larger := res("Box", "b", m{"size": "s"}), res("Box", "b", m{"size": "l"})
	inside := func(kind, size string) engine.Resource {
		return res(kind, "u", m{"parent": "⟦b.id⟧", "size": size})
	}
	child, under, other := inside("Child", "one"), inside("Under", "one"), inside("Under", "two")
	destroy := func(program ...engine.Resource) simtest.Command {
		return simtest.Command{Destroy: true, Program: graph(program...)}
	}
	return []scenario{
		{name: "destroy a box with what is in it", setup: was(box, child), do: destroy(box, child)},
		{name: "destroy a box with what is in it, without a program", setup: was(box, under), do: simtest.Command{Destroy: true}, notLost: limitNowhere},
		{name: "delete a box with what is in it", setup: was(res("Named", "a", m{}), box, child), do: deploy(res("Named", "a", m{})), notLost: limitUnnamed},
		{name: "replace a box with what is in it", setup: was(box, under), do: deploy(larger, under)},
		{name: "create under a box", do: deploy(box, under)},
		{name: "replace under a box", setup: was(box, under), do: deploy(box, other)},
		{name: "replace under a box, state lost", setup: append(was(box, under), lost), do: deploy(box, other)},
		{name: "delete under a box, state lost", setup: append(was(box, under), lost), do: deploy(box)},
		{name: "destroy under a box, state lost", setup: append(was(box, under), lost), do: destroy(box)},
		{name: "destroy under a box that changed, state lost", setup: append(was(box, under), lost), do: destroy(box, other)},
	}
}

// TestOnlyWhatThePlanDeletesIsNoData: an object that holds what the plan does not delete is refused, and nothing of the plan
// is done; when it comes in between plan and run, it stays.
func TestOnlyWhatThePlanDeletesIsNoData(t *testing.T) {
	program := graph(res("Box", "b", m{}), res("Child", "u", m{"parent": "⟦b.id⟧", "size": "one"}))
	for name, data := range map[string]func(*simtest.Sim){
		"data": func(s *simtest.Sim) {
			s.Cloud.Edit(func(o *simtest.Object) bool { return o.Kind == "sim.Box" }, func(o *simtest.Object) { o.Data = 1 })
		},
		"an object of somebody else": func(s *simtest.Sim) {
			var id string
			s.Cloud.Edit(func(o *simtest.Object) bool { return o.Kind == "sim.Box" }, func(o *simtest.Object) { id = o.ID })
			s.Cloud.Put(simtest.Object{Kind: "sim.Child", ID: "theirs", Name: "theirs", Fields: map[string]string{"parent": id, "size": "two"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSim(t)
				ctx := t.Context()
				if r := s.Run(ctx, simtest.Command{Graph: program}, nil); r.Err != nil {
					t.Fatal(r.Err)
				}
				data(s)
				before := len(s.Cloud.Effects())
				r := s.Run(ctx, simtest.Command{Destroy: true, Program: program}, nil)
				if !errors.Is(r.Err, reconcile.ErrHoldsData) || len(s.Cloud.Effects()) != before {
					t.Errorf("%v, %v", r.Err, s.Cloud.Effects()[before:])
				}
			})
		})
	}
}
