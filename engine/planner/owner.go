package planner

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// otherStages are the owners of objects in the other stages of the store, as stage:address; read once, when asked for.
type otherStages struct {
	store statestore.Store
	but   statestore.Stage // this one is left out
	once  sync.Once
	all   map[state.Object]string
	err   error
}

// owners returns the owners of objects in the other stages of this store, as stack/stage:address. Owner tags say so by
// themselves; this is for objects that have none.
func (o *otherStages) owners(ctx context.Context) (map[state.Object]string, error) {
	o.once.Do(func() { o.all, o.err = o.read(ctx) })
	return o.all, o.err
}

func (o *otherStages) read(ctx context.Context) (map[state.Object]string, error) {
	stages, err := o.store.Stages(ctx)
	if err != nil {
		return nil, err
	}
	all := map[state.Object]string{}
	for _, stage := range stages {
		if stage == o.but {
			continue
		}
		snap, err := o.store.Load(ctx, stage)
		if err != nil {
			return nil, err
		}
		for _, row := range snap.Rows {
			addAbroad(all, stage, row)
		}
	}
	return all, nil
}

func addAbroad(all map[state.Object]string, stage statestore.Stage, row statestore.Row) {
	for _, g := range row.Generations {
		if g.Identity != "" {
			all[state.Object{Kind: g.Kind, Location: reconcile.Place(g.Place), Identity: g.Identity}] = fmt.Sprintf("%s:%s", stage, row.Address)
		}
	}
}

// BetweenStages refuses to plan a stage while one of its objects is in the state of another stage too, because a move there was
// interrupted. A move that was interrupted before the other stage had the object, or after this one gave it up, needs nothing.
func BetweenStages(ctx context.Context, w *Draft) error {
	refused := &plan.RefusedError{}
	var moving []string
	for addr, rec := range w.Records {
		if rec.MovingFrom != "" || rec.MovingTo != "" {
			moving = append(moving, addr)
		}
	}
	slices.Sort(moving)
	for _, addr := range moving {
		rec := w.Records[addr]
		other, there, arrives := plan.SplitAbroad(rec.MovingFrom)
		if !arrives {
			var leaves bool
			if other, there, leaves = plan.SplitAbroad(rec.MovingTo); !leaves {
				continue
			}
		}
		snap, err := w.Planner.Store.Load(ctx, other)
		if err != nil {
			return err
		}
		row, known := snap.Rows[there]
		if !known || !state.Shares(w.Snap.Rows[addr], row) {
			w.Records[addr] = rec.Clone()
			w.Records[addr].MovingTo, w.Records[addr].MovingFrom = "", ""
			continue
		}
		source, from, target, to := w.Stage, addr, other, there
		if arrives {
			source, from, target, to = other, there, w.Stage, addr
		}
		refused.Problems = append(refused.Problems, plan.Problem{Address: addr, Err: reconcile.WithHint(
			fmt.Errorf("its move from %s to %s was interrupted: both stages have it", plan.AbroadName(source, from), plan.AbroadName(target, to)),
			"athanor state mv %s %s --stack %s --stage %s finishes it", from, plan.AbroadName(target, to), source.Stack, source.Name)})
	}
	if len(refused.Problems) > 0 {
		return refused
	}
	return nil
}
