package plan

import (
	"cmp"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine/causes"
	"github.com/athanor-dev/athanor/engine/redact"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// lines writes the lines of a plan document.
type lines struct {
	announcer
	*Jobs
	DevRules
	*Chosen
	// none: what was replaced before is not deleted, and has no line.
	none bool
}

// all are the lines of nodes, in the order of their addresses, each with what it announces. The line of a node itself becomes
// its plan: there can be very many, and none is held twice.
func (l *lines) all(nodes []*Node) []Planned {
	slices.SortStableFunc(nodes, func(a, b *Node) int { return CompareStrings(a.Address, b.Address) })
	all, own := make([]Planned, 0, len(nodes)), make([]int, len(nodes))
	for i, n := range nodes {
		all = append(all, l.untied(n)...)
		if own[i] = len(all); n.Plan != nil {
			mask(n.Plan, l.Redact)
			n.Plan.From = cmp.Or(n.Plan.From, n.begunAt(n.Entry.Candidate()))
			n.Plan.Steps = l.announce(n)
			all = append(all, *n.Plan)
		}
		all = append(all, l.condemned(n)...)
	}
	for i, n := range nodes {
		if n.Plan != nil {
			n.Plan = &all[own[i]]
		}
	}
	return all
}

// causesOf returns the problems that several lines have in common, and lets each of these lines name its own.
func causesOf(lines []Planned, nodes map[string]*Node, masks *redact.Redactor) []causes.Cause {
	var errs []causes.Error
	var blocked []*Planned
	for i := range lines {
		a := &lines[i]
		if a.Action != Blocked {
			continue
		}
		e := causes.Error{Address: a.Address, Text: a.Problem, Hint: a.Hint, Own: []string{a.Address, a.Identity}, Follows: a.BlockedBy}
		if n := nodes[a.Address]; n != nil {
			e.Own = append(e.Own, n.OwnNames()...)
			e.Common, e.CommonHint = CommonOf(masks, n.err)
		}
		blocked, errs = append(blocked, a), append(errs, e)
	}
	shared := SharedCauses(errs)
	ids := map[string]string{}
	for _, c := range shared {
		for _, addr := range c.Addresses {
			ids[addr] = c.ID
		}
	}
	for _, a := range blocked {
		a.Cause = ids[a.Address]
	}
	return shared
}

// untied are the lines of cycle members whose late path is emptied before anything of the cycle goes.
func (l *lines) untied(n *Node) []Planned {
	if n.Decl != nil || n.Plan == nil || n.Plan.Action != Delete {
		return nil
	}
	var lines []Planned
	cut := l.CutBetween(n)
	for _, addr := range slices.Sorted(maps.Keys(cut)) {
		line := Planned{Address: n.Address, Kind: n.Plan.Kind, Action: Update, Identity: n.Plan.Identity, Generation: n.Plan.Generation, Place: n.Plan.Place}
		for _, p := range cut[addr] {
			p = n.EmptyAt(n.Entry.Props, p)
			had, _ := tree.Get(n.Entry.Props, p)
			line.Reasons = append(line.Reasons, Reason{Path: p, Have: had, Source: ByProgram})
		}
		line.Notes = []string{"emptied first, since " + addr + " goes as well"}
		line.Steps = untieStep(n, line.Reasons)
		lines = append(lines, line)
	}
	return lines
}

// condemned are the lines of generations that wait for deletion. Nothing is deleted of an undeclared resource that is blocked.
func (l *lines) condemned(n *Node) []Planned {
	if !l.IsSelected(n) || l.none || n.Decl == nil && n.Plan != nil && n.Plan.Action == Blocked {
		return nil
	}
	var lines []Planned
	for _, g := range l.Collectable(n.Entry) {
		line := deletionOf(n, g, "replaced before")
		if n.Beside {
			line.Notes = []string{"the row of this address knows another"}
		}
		if g.Retain {
			line.Action, line.Notes = Forget, append(line.Notes, "retained")
		}
		if user := n.heldUser(); user != nil {
			line.Action, line.Notes = Wait, append(line.Notes, user.Address+" still uses it, and waits")
		}
		if with := l.deletedWith(n, g.Number); with != nil {
			line.Notes = []string{"deleted with " + with.Address}
		}
		line.Steps = l.condemnedStep(n, &line)
		lines = append(lines, line)
	}
	if c := n.Entry.Candidate(); c != nil && !l.Keeps(c) && n.Decl != nil && n.Entry.Live() != nil && n.Plan != nil && !slices.Contains([]Action{Replace, Create, Blocked}, n.Plan.Action) {
		line := deletionOf(n, c, "half made, and no longer wanted")
		line.Steps = l.condemnedStep(n, &line)
		lines = append(lines, line)
	}
	if l.session != nil && !l.FindsOwn() {
		return lines // older finds are recorded, and left
	}
	for _, f := range n.Others {
		line := Planned{
			Address: n.Address, Kind: f.Kind, Action: Delete, Identity: f.look.Identity,
			Generation: f.look.Owner.Generation, Place: f.access.Place, Notes: []string{"an older one of this address"},
		}
		if n.Decl != nil && n.Decl.Options.Retain {
			line.Action, line.Notes = Forget, append(line.Notes, "retained")
		}
		line.Steps = l.condemnedStep(n, &line)
		lines = append(lines, line)
	}
	return lines
}

// deletionOf is the line of the deletion of one generation.
func deletionOf(n *Node, g *state.Generation, note string) Planned {
	line := Planned{Address: n.Address, From: cmp.Or(n.From, n.begunAt(g)), Action: Delete, Notes: []string{note}}
	NameObject(&line, g)
	return line
}

// EmptyAt is what is left out to empty a late path: the path itself, or as much around it as is nothing without it.
func (n *Declaration) EmptyAt(props map[string]any, p tree.Path) tree.Path {
	for at := p; ; at = at.Parent() {
		left, _ := tree.Without(props, at).(map[string]any)
		if n.Kind == nil || at.Parent() == "" || n.Kind.Decode(&reconcile.Job{Address: n.Address, Props: left}) == nil {
			return at
		}
	}
}
