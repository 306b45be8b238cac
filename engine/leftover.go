package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// classifyLeftovers decides about what is on record, or was discovered, and is not declared.
func (w *work) classifyLeftovers(ctx context.Context) {
	var extra []*node
	for i := range w.discovered {
		if d := &w.discovered[i]; !d.used && !d.Mark.Retained {
			extra = append(extra, w.foundNode(d))
		}
	}
	parallel(len(extra), lookers, func(i int) { w.lookAt(ctx, extra[i]) })
	w.leftover = append(w.leftover, extra...)
	for _, n := range w.leftover {
		if w.isSelected(n) {
			w.classifyLeftover(n)
			w.surviving(n)
		}
	}
}

// foundNode makes a record of an undeclared thing that was discovered, so that it is deleted like any other.
func (w *work) foundNode(d *found) *node {
	d.used = true
	addr := d.Mark.Address
	rec := &record{address: addr, birth: addr, settings: d.access.settings}
	g := &generation{number: d.Mark.Generation, state: statestore.Live, kind: d.Kind, place: d.access.place, identity: d.Identity}
	rec.gens = []*generation{g}
	n := w.leftNode(addr, rec)
	n.discovered = true
	n.access = d.access
	return n
}

func (w *work) classifyLeftover(n *node) {
	n.plan = &Planned{Address: n.addr, Action: Delete, Needs: n.needs}
	g := n.present()
	if g != nil {
		n.plan.Kind, n.plan.Identity, n.plan.Generation, n.plan.Place = g.kind, g.identity, g.number, g.place
	}
	forget := slices.Contains(w.graph.Forget, n.addr)
	switch {
	case forget || n.rec.options.Retain && n.present() != nil:
		n.plan.Action = Forget
		if n.rec.options.Retain {
			n.plan.Notes = append(n.plan.Notes, "retained")
		}
		return
	case n.err != nil:
		w.block(n, n.err)
		return
	case g == nil:
		n.plan = nil // condemned generations have lines of their own
		return
	case n.look.Absent:
		n.plan.Notes = append(n.plan.Notes, "it is gone already")
		return
	}
	if owner := n.look.Owner; !owner.IsZero() && (owner.Stack != w.stage.Stack || owner.Stage != w.stage.Name || !slices.Contains(n.births(), owner.Address)) {
		w.block(n, reconcile.WithHint(
			&adopt.OwnerError{Kind: g.kind, Identity: g.identity, Verdict: adopt.Foreign, Owner: owner},
			"forget: [%s] lets it go here", n.addr))
		return
	}
	if store := n.look.Owner.Store; n.discovered && store != "" && store != w.store && !w.o.TakeOver {
		w.refuse(n, reconcile.WithHint(fmt.Errorf("%s %s is marked by another store of this stage", g.kind, g.identity),
			"--take-over lets it be deleted from here"))
		return
	}
	w.guard(n)
}

// untied are the lines of cycle members whose late path is emptied before anything of the cycle goes.
func (w *work) untied(n *node) []Planned {
	if n.decl != nil || n.plan == nil || n.plan.Action != Delete {
		return nil
	}
	var lines []Planned
	for _, addr := range slices.Sorted(maps.Keys(n.rec.cut)) {
		up := w.nodes[addr]
		if up == nil || up.decl != nil || up.rec == nil {
			continue
		}
		line := Planned{Address: n.addr, Kind: n.plan.Kind, Action: Update, Identity: n.plan.Identity, Generation: n.plan.Generation, Place: n.plan.Place}
		for _, p := range n.rec.cut[addr] {
			had, _ := tree.Get(n.rec.props, p)
			line.Reasons = append(line.Reasons, Reason{Path: p, Have: had, Source: ByProgram})
		}
		line.Notes = []string{"emptied first, since " + addr + " goes as well"}
		lines = append(lines, line)
	}
	return lines
}

// condemned are the lines of generations that wait for deletion.
func (w *work) condemned(n *node) []Planned {
	if !w.isSelected(n) {
		return nil
	}
	var lines []Planned
	for _, g := range n.rec.condemned() {
		lines = append(lines, Planned{
			Address: n.addr, Kind: g.kind, Action: Delete, Identity: g.identity, Generation: g.number, Place: g.place,
			Notes: []string{"replaced before"},
		})
	}
	for _, f := range n.others {
		lines = append(lines, Planned{
			Address: n.addr, Kind: n.spec.Type, Action: Delete, Identity: f.look.Identity,
			Generation: f.look.Owner.Generation, Place: f.access.place, Notes: []string{"an older one of this address"},
		})
	}
	return lines
}

// seek finds the things of a stage that has no record, for destroy. With the program's graph it looks where that says; without it at the
// providers' defaults. It never reports a clean world that it did not see.
func (w *work) seek(ctx context.Context, g *Graph) error {
	finished := w.snap.LastRun != nil && w.snap.LastRun.Command == "destroy" && w.snap.LastRun.State == statestore.Succeeded
	if finished {
		return nil
	}
	if g == nil || len(g.Resources) == 0 {
		return reconcile.WithHint(fmt.Errorf("%w: %s", ErrNothingKnown, w.stage), "run it beside the program, which says where to look")
	}
	graph, index := w.graph, w.destroy
	w.graph, w.destroy = g, false
	ctx = reconcile.ReadOnly(reconcile.WithGate(ctx, w.gate))
	err := w.seekDeclared(ctx)
	w.graph, w.destroy = graph, index
	return err
}

// seekDeclared looks for everything that the graph declares and for whatever is marked, and records it in memory.
func (w *work) seekDeclared(ctx context.Context) error {
	if err := w.index(); err != nil {
		return err
	}
	if err := w.reachAll(ctx); err != nil {
		return err
	}
	w.prepare(ctx)
	if err := w.discover(ctx); err != nil {
		return err
	}
	w.lost = true
	w.decide(ctx)
	for _, n := range w.declared {
		if n.err != nil {
			return &ResourceError{Address: n.addr, Kind: n.spec.Type, Err: n.err}
		}
		if n.plan.Action == Recover && !n.look.Absent {
			w.records[n.addr] = w.recovered(n)
		}
	}
	for _, n := range w.leftover {
		w.records[n.addr] = n.rec
	}
	w.nodes, w.declared, w.reads, w.sorted, w.leftover, w.discovered, w.refusals = nil, nil, nil, nil, nil, nil, nil
	return nil
}

// recovered is the record of a thing that reading found again.
func (w *work) recovered(n *node) *record {
	rec := &record{address: n.addr, birth: n.birth(), settings: n.decl.Settings, options: n.decl.Options, cut: n.cut}
	for _, a := range n.needs {
		if up := w.nodes[a]; up != nil && up.decl != nil && up.plan.Action == Recover && !up.look.Absent {
			rec.needs = append(rec.needs, a)
		}
	}
	add := func(job *reconcile.Job, look reconcile.Look, state statestore.State, slot int) {
		rec.gens = append(rec.gens, &generation{
			number: max(look.Owner.Generation, 1), state: state, slot: slot, kind: n.spec.Type, place: n.access.place,
			identity: look.Identity, name: job.Name, named: job.Named, attrs: look.Attrs,
		})
	}
	add(n.job, n.look, statestore.Live, n.slot)
	for _, f := range n.others {
		add(f.job, f.look, statestore.Condemned, f.slot)
	}
	return rec
}

func (w *work) damagedIdentity(addr string) string {
	for _, g := range w.snap.Rows[addr].Generations {
		if g.Identity != "" {
			return g.Identity
		}
	}
	if d := w.snap.Damaged[addr]; d != nil && len(d.Identities) > 0 {
		return d.Identities[0].Identity
	}
	return ""
}

func compareStrings(a, b string) int { return cmp.Compare(a, b) }

func sameProps(a, b map[string]any) bool { return tree.Equal(anyMap(a), anyMap(b)) }
