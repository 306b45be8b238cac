package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// physical is one thing of the world.
type physical struct {
	kind     string
	place    reconcile.Place
	identity string
}

// owners knows for which address each physical thing is on record: no two may claim one.
type owners struct {
	mu sync.Mutex
	of map[physical]string

	// abroad are the things on record for other stages of the store, as stage:address; read once, when asked for.
	abroad     map[physical]string
	abroadErr  error
	readAbroad sync.Once
}

// hold notes what the records hold.
func (o *owners) hold(records map[string]*record) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of = make(map[physical]string, len(records))
	for _, rec := range records {
		o.add(rec)
	}
}

// change takes over what became of a record.
func (o *owners) change(old, now *record) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		o.of = map[physical]string{}
	}
	if old != nil {
		for _, g := range old.gens {
			if o.of[g.physical()] == old.address {
				delete(o.of, g.physical())
			}
		}
	}
	o.add(now)
}

func (o *owners) add(rec *record) {
	for _, g := range rec.gens {
		if g.identity != "" && !g.virtual {
			o.of[g.physical()] = rec.address
		}
	}
}

func (g *generation) physical() physical { return physical{g.kind, g.place, g.identity} }

// by is the address that has a thing on record, "" when none but addr has.
func (o *owners) by(p physical, addr string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if holder := o.of[p]; holder != addr {
		return holder
	}
	return ""
}

// elsewhere is the owner of a thing in another stage of this store, as stack/stage:address. Marks say so by
// themselves; this is for what carries none.
func (w *work) elsewhere(ctx context.Context, p physical) (string, error) {
	o := &w.owners
	o.readAbroad.Do(func() { o.abroad, o.abroadErr = w.readAbroad(ctx) })
	return o.abroad[p], o.abroadErr
}

func (w *work) readAbroad(ctx context.Context) (map[physical]string, error) {
	stages, err := w.e.Store.Stages(ctx)
	if err != nil {
		return nil, err
	}
	all := map[physical]string{}
	for _, stage := range stages {
		if stage == w.stage {
			continue
		}
		snap, err := w.e.Store.Load(ctx, stage)
		if err != nil {
			return nil, err
		}
		for _, row := range snap.Rows {
			addAbroad(all, stage, row)
		}
	}
	return all, nil
}

func addAbroad(all map[physical]string, stage statestore.Stage, row statestore.Row) {
	for _, g := range row.Generations {
		if g.Identity != "" {
			all[physical{g.Kind, reconcile.Place(g.Place), g.Identity}] = fmt.Sprintf("%s:%s", stage, row.Address)
		}
	}
}

// claim takes a thing for an address, or gives the address that has it.
func (o *owners) claim(p physical, addr string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if holder := o.of[p]; holder != "" && holder != addr {
		return holder
	}
	if o.of == nil {
		o.of = map[physical]string{}
	}
	o.of[p] = addr
	return ""
}
