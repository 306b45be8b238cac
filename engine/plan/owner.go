package plan

import (
	"context"
	"fmt"
	"sync"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// otherStages are the owners of objects in the other stages of the store, as stage:address; read once, when asked for.
type otherStages struct {
	store  statestore.Store
	but    statestore.Stage // this one is left out
	once   sync.Once
	owners map[state.Object]string
	err    error
}

// owner returns the owner of an object in another stage of this store, as stack/stage:address. Owner tags say so by
// themselves; this is for objects that have none.
func (o *otherStages) owner(ctx context.Context, p state.Object) (string, error) {
	o.once.Do(func() { o.owners, o.err = o.read(ctx) })
	return o.owners[p], o.err
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
