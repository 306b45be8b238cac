package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// Leftovers decides about what is in state, or was discovered, and is not declared.
type Leftovers struct {
	*Basis
	*Refusals
	*Chosen
	Options PlanOptions
	Guards  Guards
}

// SettingsOf are the settings by which a further object of an entry is reached: no settings are other ones than the entry's.
func SettingsOf(rec *state.Entry, way *observe.Way) map[string]any {
	if len(way.Settings) > 0 || len(rec.Settings) == 0 {
		return way.Settings
	}
	return map[string]any{}
}

// classifyUnread: it could not be observed.
func (l *Leftovers) classifyUnread(n *Node, g *state.Generation) {
	_, unread := errors.AsType[*UnreadError](n.Err)
	switch may, could := l.Guards.Unread(n, g, n.Spec); {
	case unread && may:
		n.Plan.Notes = append(n.Plan.Notes, "it cannot be read, and is deleted by its identity in state: "+l.Masks.Text(n.Err.Error()))
	case unread && could:
		l.Block(n, UnreadHint(n, n.Err))
	default:
		l.Block(n, n.Err)
	}
}

// ClassifyLeftover decides what is done to a resource that is in state, or was found, and is not declared.
func (l *Leftovers) ClassifyLeftover(n *Node) {
	n.Plan = &Planned{Address: n.Address, Action: Delete, Needs: n.Needs}
	g := n.Present()
	if g != nil {
		NameObject(n.Plan, g)
	}
	if n.Spec != nil {
		n.Plan.InDev, n.Plan.Local = n.Spec.InDev, n.Spec.Stands != ""
	}
	if from := n.Entry.MovingFrom; from != "" {
		n.Plan.Notes = append(n.Plan.Notes, "it was being moved here from "+from+": `athanor state mv "+from+" "+n.Address+"` finishes that")
	}
	taken := l.Nodes[n.Address]
	switch {
	case slices.Contains(l.Forget, n.Address):
		n.Plan.Action = Forget
		return
	case taken != nil && taken.Read != nil:
		n.Plan.Action = Forget
		n.Plan.Notes = append(n.Plan.Notes, "it is only read from now on")
		return
	case l.retained(n):
		l.classifyRetained(n)
		return
	case n.Err != nil:
		l.classifyUnread(n, g)
		return
	case g == nil:
		n.Plan = nil // condemned generations have lines of their own
		return
	case n.Look().NotYet:
		n.Plan.Notes, n.Plan.WaitUntil = append(n.Plan.Notes, notVisible), n.Look().HiddenUntil
	case n.Look().Absent:
		n.Plan.Notes = append(n.Plan.Notes, "it is already deleted")
		return
	}
	l.ClassifyDelete(n, g)
}

// retained reports that what is live is retained: its author said so, or its kind says so and nobody permitted to
// delete it.
func (l *Leftovers) retained(n *Node) bool {
	o := n.Entry.Options()
	kind := n.Spec != nil && n.Spec.Retained && !o.AllowDelete && !Matches(l.Options.AllowDelete, n.Address)
	return n.Entry.Live() != nil && (o.Retain || kind)
}

// classifyRetained: it is retained, not deleted. What only its name shows to be ours would be taken for ours again.
func (l *Leftovers) classifyRetained(n *Node) {
	g := n.Entry.Live()
	n.Plan.Action = Forget
	n.Plan.Notes = append(n.Plan.Notes, "retained")
	if n.Err == nil && n.Spec != nil && n.Spec.Named && !n.Spec.Marked && !g.NameGiven {
		l.Refuse(n, reconcile.WithHint(errors.New("it is retained, and nothing but its name can say so"), "forget: [%s] lets it go all the same", n.Address))
	}
}

// ClassifyDelete: it is there, and is to go.
func (l *Leftovers) ClassifyDelete(n *Node, g *state.Generation) {
	if n.Job == nil {
		return // nothing was looked at, or there is nothing but the record
	}
	answer := adopt.Judge(l.Evidence(n, n.Job, *n.Look(), g))
	switch {
	case RetainedHere(n.Look().Owner, l.Stage) && slices.Contains(n.Births(), n.Look().Owner.Address):
		n.Plan.Action = Forget
		n.Plan.Notes = append(n.Plan.Notes, "an interrupted run let it go")
		return
	case answer.Verdict == adopt.Foreign && !answer.Owner.IsZero():
		l.Block(n, reconcile.WithHint(OwnerError(g.Kind, *n.Look(), answer), "forget: [%s] lets it go here", n.Address))
		return
	case answer.Unproven && !l.Guards.Names(n):
		l.Block(n, Unproven(n, g.Kind, g.Identity))
	case answer.OtherStore && !l.Options.TakeOver:
		l.Refuse(n, OtherStore(g.Kind, g.Identity))
	}
}

// GoWith decides about what is deleted with another resource which this plan deletes: it has no deletion of its own, and stays
// where that one stays.
func (l *Leftovers) GoWith(nodes []*Node) {
	for more := true; more; {
		more = false
		for _, n := range nodes {
			if up := l.parentLeft(n); up != nil && up.Plan.Action == Blocked && l.IsSelected(n) {
				l.Block(n, fmt.Errorf("it is deleted with %s, which stays", up.Address))
				more = true
			}
		}
	}
	for _, n := range nodes {
		if n.Plan == nil {
			continue
		}
		if up := l.GoesWith(n, n.Plan.Generation); up != nil {
			n.Plan.Notes = append(n.Plan.Notes, "deleted with "+up.Address)
		}
	}
}

// parentLeft returns the undeclared resource that a node which is to be deleted is deleted with, nil when there is none or
// nothing was decided about it. A node of which only condemned generations are left is to be deleted too.
func (x *Index) parentLeft(n *Node) *Node {
	if n.Entry == nil || n.Decl != nil || n.Plan != nil && !IsDeleted(n) {
		return nil
	}
	if up := x.Nodes[n.Entry.Options().DeletedWith]; up != nil && up != n && up.Decl == nil && up.Plan != nil {
		return up
	}
	return nil
}

// GoesWith returns the resource whose deletion takes a generation of a node along, nil when it is deleted by itself: so is a
// generation that was replaced before, and what is left of a resource that is missing already.
func (x *Index) GoesWith(n *Node, number uint64) *Node {
	up := x.parentLeft(n)
	if up == nil || !IsDeleted(up) || up.Plan.Generation == 0 || up.Look().Absent && !up.Look().NotYet || leaving(n) != number {
		return nil
	}
	return up
}

// leaving is the number of the generation that is deleted because its resource is no longer declared: the planned one, or the
// newest where an earlier run has condemned them all.
func leaving(n *Node) uint64 {
	if n.Plan != nil && n.Plan.Generation != 0 {
		return n.Plan.Generation
	}
	return n.Entry.NextNumber() - 1
}

// CutBetween are the late paths of what is deleted that lead to others that are not declared either. One that leads to what
// stays is in nobody's way.
func (x *Index) CutBetween(n *Node) map[string][]tree.Path {
	cut := maps.Clone(n.Entry.Cut)
	maps.DeleteFunc(cut, func(addr string, _ []tree.Path) bool {
		up := x.Nodes[addr]
		return up == nil || up.Decl != nil || up.Entry == nil
	})
	return cut
}

// heldUser returns a node that would stop using an object of this one, and cannot yet.
func (n *Declaration) heldUser() *Node {
	for _, user := range n.users {
		if user.Held {
			return user
		}
	}
	return nil
}

// IsFound reports a declared node whose object was found without state, and is ours.
func IsFound(n *Node) bool {
	return n.Plan != nil && n.Present() == nil && !n.Look().Absent && !n.Spec.Recorded &&
		(n.Plan.Action == Recover || n.Plan.Action == Replace)
}

// LeftNode is the node of an entry that is not declared.
func (x *Index) LeftNode(addr string, rec *state.Entry) *Node {
	n := &Node{Declaration: Declaration{Address: addr, Needs: rec.Needs}, Tracked: Tracked{Entry: rec}}
	if len(rec.Generations) > 0 {
		if g := n.Present(); g != nil {
			n.Kind, _ = x.Catalog.Kind(g.Kind)
		} else {
			n.Kind, _ = x.Catalog.Kind(rec.Generations[0].Kind)
		}
	}
	if n.Kind != nil {
		n.Spec = n.Kind.Spec()
	}
	if _, taken := x.Nodes[addr]; !taken {
		x.Nodes[addr] = n
	}
	return n
}

// CondemnOthers records what else was found of a node, to be deleted.
func (n *Node) CondemnOthers(rec *state.Entry, dev bool) {
	for i := range n.Others {
		CondemnFound(rec, &n.Others[i], dev)
	}
	n.Others = nil
}

// CondemnFound adds a further find to a state entry, as condemned.
func CondemnFound(rec *state.Entry, f *Find, dev bool) {
	if rec.ByObject(f.Kind, f.Access.Place, f.Look.Identity) != nil {
		return
	}
	g := &state.Generation{
		Number: rec.NumberFor(f.Look.Owner.Generation), State: statestore.Condemned, Slot: f.Slot, Kind: f.Kind, Location: f.Access.Place,
		Identity: f.Look.Identity, Attributes: f.Look.Attrs, Settings: SettingsOf(rec, f.Access), Retain: rec.Options().Retain,
		Dev: dev,
	}
	if f.Job != nil {
		g.Name, g.NameGiven = f.Job.Name, f.Job.Named
	}
	rec.Generations = append(rec.Generations, g)
}
