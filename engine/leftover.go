package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// leftovers decides about what is in state, or was discovered, and is not declared.
type leftovers struct {
	*finder
	*refusals
	*chosen
	o      policy
	guards guards
	// dev: what is found counts as made by a dev session.
	dev bool
}

// undeclared makes records of the things that were discovered and that no declared address explains, so that they are
// deleted like any other.
func (l *leftovers) undeclared() []*node {
	if len(l.discovered.byAddress) == 0 {
		return nil
	}
	explained := map[string]bool{}
	for _, n := range l.declared {
		for _, birth := range n.births() {
			explained[birth] = true
		}
	}
	var extra []*node
	for _, addr := range slices.Sorted(maps.Keys(l.discovered.byAddress)) {
		if explained[addr] {
			continue
		}
		if n := l.foundNode(addr, l.discovered.byAddress[addr], l.dev); n != nil {
			extra = append(extra, n)
		}
	}
	return extra
}

// foundNode makes one record of all discovered things of an address: the highest generation live, the others condemned.
func (s *finder) foundNode(addr string, things []*observe.Tagged, dev bool) *node {
	things = slices.DeleteFunc(slices.Clone(things), func(d *observe.Tagged) bool { return d.Mark.Retained })
	if len(things) == 0 {
		return nil
	}
	rec := foundEntry(addr, things, dev, func(parent string) bool {
		up := s.nodes[parent]
		return len(s.discovered.byAddress[parent]) > 0 || up != nil && up.rec != nil
	})
	n := s.leftNode(addr, rec)
	n.access = things[0].Way
	return n
}

// foundEntry makes an entry of the objects that were found of an address. It needs the parents by which they were listed, as
// far as those are known.
func foundEntry(addr string, things []*observe.Tagged, dev bool, known func(address string) bool) *state.Entry {
	slices.SortStableFunc(things, func(a, b *observe.Tagged) int { return cmp.Compare(b.Mark.Generation, a.Mark.Generation) })
	rec := &state.Entry{Address: addr, Birth: addr, Settings: things[0].Way.Settings, Found: true, NeedsUnknown: true}
	for i, d := range things {
		if d.Under != "" && d.Under != addr && !slices.Contains(rec.Needs, d.Under) && known(d.Under) {
			rec.Needs = append(rec.Needs, d.Under)
		}
		g := foundGeneration(rec, d, dev)
		if i == 0 {
			g.State, g.Settings = statestore.Live, nil
		}
		rec.Generations = append(rec.Generations, g)
	}
	return rec
}

// foundGeneration is an object that was found, as a further and condemned generation of an entry.
func foundGeneration(rec *state.Entry, d *observe.Tagged, dev bool) *state.Generation {
	return &state.Generation{
		Number: rec.NumberFor(d.Mark.Generation), State: statestore.Condemned, Kind: d.Kind, Location: d.Way.Place,
		Identity: d.Identity, Name: d.Name, Settings: settingsOf(rec, d.Way), Dev: dev,
	}
}

// settingsOf are the settings by which a further object of an entry is reached: no settings are other ones than the entry's.
func settingsOf(rec *state.Entry, way *observe.Way) map[string]any {
	if len(way.Settings) > 0 || len(rec.Settings) == 0 {
		return way.Settings
	}
	return map[string]any{}
}

// classifyUnread: it could not be observed.
func (l *leftovers) classifyUnread(n *node, g *state.Generation) {
	_, unread := errors.AsType[*unreadError](n.err)
	switch may, could := l.guards.unread(n, g, n.spec); {
	case unread && may:
		n.plan.Notes = append(n.plan.Notes, "it cannot be read, and is deleted by its identity in state: "+l.masks.Text(n.err.Error()))
	case unread && could:
		l.block(n, unreadHint(n, n.err))
	default:
		l.block(n, n.err)
	}
}

func (l *leftovers) classifyLeftover(n *node) {
	n.plan = &Planned{Address: n.addr, Action: Delete, Needs: n.needs}
	g := n.present()
	if g != nil {
		nameObject(n.plan, g)
	}
	if n.spec != nil {
		n.plan.InDev, n.plan.Local = n.spec.InDev, n.spec.Stands != ""
	}
	if from := n.rec.MovingFrom; from != "" {
		n.plan.Notes = append(n.plan.Notes, "it was being moved here from "+from+": `athanor state mv "+from+" "+n.addr+"` finishes that")
	}
	taken := l.nodes[n.addr]
	switch {
	case slices.Contains(l.graph.Forget, n.addr):
		n.plan.Action = Forget
		return
	case taken != nil && taken.read != nil:
		n.plan.Action = Forget
		n.plan.Notes = append(n.plan.Notes, "it is only read from now on")
		return
	case l.retained(n):
		l.classifyRetained(n)
		return
	case n.err != nil:
		l.classifyUnread(n, g)
		return
	case g == nil:
		n.plan = nil // condemned generations have lines of their own
		return
	case n.look.NotYet:
		n.plan.Notes, n.plan.WaitUntil = append(n.plan.Notes, notVisible), n.look.HiddenUntil
	case n.look.Absent:
		n.plan.Notes = append(n.plan.Notes, "it is already deleted")
		return
	}
	l.classifyDelete(n, g)
}

// retained reports that what is live is let go: its author said so, or its kind says so and nobody gave leave to delete it.
func (l *leftovers) retained(n *node) bool {
	o := n.rec.Options
	kind := n.spec != nil && n.spec.Retained && !o.AllowDelete && !matches(l.o.AllowDelete, n.addr)
	return n.rec.Live() != nil && (o.Retain || kind)
}

// classifyRetained: it is let go, not deleted. What only its name marks as ours would be taken for ours again.
func (l *leftovers) classifyRetained(n *node) {
	g := n.rec.Live()
	n.plan.Action = Forget
	n.plan.Notes = append(n.plan.Notes, "retained")
	if n.err == nil && n.spec != nil && n.spec.Named && !n.spec.Marked && !g.NameGiven {
		l.refuse(n, reconcile.WithHint(errors.New("it is retained, and nothing but its name can say so"), "forget: [%s] lets it go all the same", n.addr))
	}
}

// classifyDelete: it is there, and is to go.
func (l *leftovers) classifyDelete(n *node, g *state.Generation) {
	if n.job == nil {
		return // nothing was looked at, or there is nothing but the record
	}
	answer := adopt.Judge(l.evidence(n, n.job, n.look, g))
	switch {
	case retainedHere(n.look.Owner, l.stage) && slices.Contains(n.births(), n.look.Owner.Address):
		n.plan.Action = Forget
		n.plan.Notes = append(n.plan.Notes, "an interrupted run let it go")
		return
	case answer.Verdict == adopt.Foreign && !answer.Owner.IsZero():
		l.block(n, reconcile.WithHint(ownerError(g.Kind, n.look, answer), "forget: [%s] lets it go here", n.addr))
		return
	case answer.Unproven && !l.guards.names(n):
		l.block(n, unproven(n, g.Kind, g.Identity))
	case answer.OtherStore && !l.o.TakeOver:
		l.refuse(n, otherStore(g.Kind, g.Identity))
	}
}

// goWith decides about what is deleted with another resource which this plan deletes: it has no deletion of its own, and stays
// where that one stays.
func (l *leftovers) goWith(nodes []*node) {
	for more := true; more; {
		more = false
		for _, n := range nodes {
			if up := l.parentLeft(n); up != nil && up.plan.Action == Blocked && l.isSelected(n) {
				l.block(n, fmt.Errorf("it is deleted with %s, which stays", up.addr))
				more = true
			}
		}
	}
	for _, n := range nodes {
		if n.plan == nil {
			continue
		}
		if up := l.goesWith(n, n.plan.Generation); up != nil {
			n.plan.Notes = append(n.plan.Notes, "deleted with "+up.addr)
		}
	}
}

// parentLeft returns the undeclared resource that a node which is to be deleted is deleted with, nil when there is none or
// nothing was decided about it. A node of which only condemned generations are left is to be deleted too.
func (x *index) parentLeft(n *node) *node {
	if n.rec == nil || n.decl != nil || n.plan != nil && !isDeleted(n) {
		return nil
	}
	if up := x.nodes[n.rec.Options.DeletedWith]; up != nil && up != n && up.decl == nil && up.plan != nil {
		return up
	}
	return nil
}

// goesWith returns the resource whose deletion takes a generation of a node along, nil when it is deleted by itself: so is a
// generation that was replaced before, and what is left of a resource that is missing already.
func (x *index) goesWith(n *node, number uint64) *node {
	up := x.parentLeft(n)
	if up == nil || !isDeleted(up) || up.plan.Generation == 0 || up.look.Absent && !up.look.NotYet || leaving(n) != number {
		return nil
	}
	return up
}

// leaving is the number of the generation that is deleted because its resource is no longer declared: the planned one, or the
// newest where an earlier run has condemned them all.
func leaving(n *node) uint64 {
	if n.plan != nil && n.plan.Generation != 0 {
		return n.plan.Generation
	}
	return n.rec.NextNumber() - 1
}

// cutBetween are the late paths of what is deleted that lead to others that are not declared either. One that leads to what
// stays is in nobody's way.
func (x *index) cutBetween(n *node) map[string][]tree.Path {
	cut := maps.Clone(n.rec.Cut)
	maps.DeleteFunc(cut, func(addr string, _ []tree.Path) bool {
		up := x.nodes[addr]
		return up == nil || up.decl != nil || up.rec == nil
	})
	return cut
}

// heldUser is a node that would let go of a thing of this one, and cannot yet.
func (n *declaration) heldUser() *node {
	for _, user := range n.users {
		if user.held {
			return user
		}
	}
	return nil
}

// isFound reports a declared node whose thing was found without a record, and is ours.
func isFound(n *node) bool {
	return n.plan != nil && n.present() == nil && !n.look.Absent && !n.spec.Recorded &&
		(n.plan.Action == Recover || n.plan.Action == Replace)
}

// recovered is the record of a thing that reading found again.
func recovered(n *node, nodes map[string]*node, dev bool) *state.Entry {
	rec := &state.Entry{Address: n.addr, Birth: n.birth(), Found: true, NeedsUnknown: true}
	if n.rec != nil {
		rec = n.rec.Clone()
	}
	rec.Settings, rec.Options, rec.Cut, rec.Needs = n.decl.Settings, n.decl.Options, n.cut, nil
	rec.MayDeleteData = n.job != nil && n.job.Leave
	rec.Former = state.StillNamed(n.decl.Options.RenamedFrom, n.decl.Options.RenamedFrom) // it was found here: renames are done
	for _, a := range n.needs {
		if up := nodes[a]; up != nil && up.decl != nil && up.plan != nil && (up.rec != nil || isFound(up)) && a != n.addr {
			rec.Needs = append(rec.Needs, a)
		}
	}
	rec.Generations = append(rec.Generations, &state.Generation{
		Number: rec.NumberFor(n.look.Owner.Generation), State: statestore.Live, Slot: n.slot, Kind: n.spec.Type, Location: n.access.Place,
		Identity: n.look.Identity, Name: n.job.Name, NameGiven: n.job.Named, Attributes: n.look.Attrs,
		Written: time.Now(), // it was seen: absent soon after is not gone
		Dev:     dev,
	})
	for i := range n.others {
		condemnFound(rec, &n.others[i], dev)
	}
	return rec
}

func compareStrings(a, b string) int { return cmp.Compare(a, b) }

func (x *index) leftNode(addr string, rec *state.Entry) *node {
	n := &node{declaration: declaration{addr: addr, needs: rec.Needs}, tracked: tracked{rec: rec}}
	if len(rec.Generations) > 0 {
		if g := n.present(); g != nil {
			n.kind, _ = x.catalog.Kind(g.Kind)
		} else {
			n.kind, _ = x.catalog.Kind(rec.Generations[0].Kind)
		}
	}
	if n.kind != nil {
		n.spec = n.kind.Spec()
	}
	if _, taken := x.nodes[addr]; !taken {
		x.nodes[addr] = n
	}
	return n
}
