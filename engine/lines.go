package engine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine/causes"
	"github.com/athanor-dev/athanor/engine/redact"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// lines writes the lines of a plan document.
type lines struct {
	announcer
	*jobs
	devRules
	*chosen
	// none: what was replaced before is not deleted, and has no line.
	none bool
}

// all are the lines of nodes, in the order of their addresses, each with what it announces.
func (l *lines) all(nodes []*node) []Planned {
	slices.SortStableFunc(nodes, func(a, b *node) int { return compareStrings(a.addr, b.addr) })
	all := make([]Planned, 0, len(nodes))
	for _, n := range nodes {
		all = append(all, l.untied(n)...)
		if n.plan != nil {
			mask(n.plan, l.redact)
			n.plan.From = cmp.Or(n.plan.From, n.begunAt(n.rec.Candidate()))
			n.plan.Steps = l.announce(n)
			all = append(all, *n.plan)
		}
		all = append(all, l.condemned(n)...)
	}
	return all
}

// causesOf returns the problems that several lines have in common, and lets each of these lines name its own.
func causesOf(lines []Planned, nodes map[string]*node, masks *redact.Redactor) []causes.Cause {
	var errs []causes.Error
	var blocked []*Planned
	for i := range lines {
		a := &lines[i]
		if a.Action != Blocked {
			continue
		}
		e := causes.Error{Address: a.Address, Text: a.Problem, Hint: a.Hint, Own: []string{a.Address, a.Identity}, Follows: a.BlockedBy}
		if n := nodes[a.Address]; n != nil {
			e.Own = append(e.Own, n.ownNames()...)
			e.Common, e.CommonHint = commonOf(masks, n.err)
		}
		blocked, errs = append(blocked, a), append(errs, e)
	}
	shared := sharedCauses(errs)
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
func (l *lines) untied(n *node) []Planned {
	if n.decl != nil || n.plan == nil || n.plan.Action != Delete {
		return nil
	}
	var lines []Planned
	cut := l.cutBetween(n)
	for _, addr := range slices.Sorted(maps.Keys(cut)) {
		line := Planned{Address: n.addr, Kind: n.plan.Kind, Action: Update, Identity: n.plan.Identity, Generation: n.plan.Generation, Place: n.plan.Place}
		for _, p := range cut[addr] {
			p = n.emptyAt(n.rec.Props, p)
			had, _ := tree.Get(n.rec.Props, p)
			line.Reasons = append(line.Reasons, Reason{Path: p, Have: had, Source: ByProgram})
		}
		line.Notes = []string{"emptied first, since " + addr + " goes as well"}
		line.Steps = untieStep(n, line.Reasons)
		lines = append(lines, line)
	}
	return lines
}

// condemned are the lines of generations that wait for deletion. Nothing is deleted of an undeclared resource that is blocked.
func (l *lines) condemned(n *node) []Planned {
	if !l.isSelected(n) || l.none || n.decl == nil && n.plan != nil && n.plan.Action == Blocked {
		return nil
	}
	var lines []Planned
	for _, g := range l.collectable(n.rec) {
		line := deletionOf(n, g, "replaced before")
		if n.beside {
			line.Notes = []string{"the row of this address knows another"}
		}
		if g.Retain {
			line.Action, line.Notes = Forget, append(line.Notes, "retained")
		}
		if user := n.heldUser(); user != nil {
			line.Action, line.Notes = Wait, append(line.Notes, user.addr+" still uses it, and waits")
		}
		if with := l.deletedWith(n, g.Number); with != nil {
			line.Notes = []string{"deleted with " + with.addr}
		}
		line.Steps = l.condemnedStep(n, &line)
		lines = append(lines, line)
	}
	if c := n.rec.Candidate(); c != nil && !l.keeps(c) && n.decl != nil && n.rec.Live() != nil && n.plan != nil && !slices.Contains([]Action{Replace, Create, Blocked}, n.plan.Action) {
		line := deletionOf(n, c, "half made, and no longer wanted")
		line.Steps = l.condemnedStep(n, &line)
		lines = append(lines, line)
	}
	if l.session != nil && !l.findsOwn() {
		return lines // older finds are recorded, and left
	}
	for _, f := range n.others {
		line := Planned{
			Address: n.addr, Kind: f.Kind, Action: Delete, Identity: f.look.Identity,
			Generation: f.look.Owner.Generation, Place: f.access.Place, Notes: []string{"an older one of this address"},
		}
		if n.decl != nil && n.decl.Options.Retain {
			line.Action, line.Notes = Forget, append(line.Notes, "retained")
		}
		line.Steps = l.condemnedStep(n, &line)
		lines = append(lines, line)
	}
	return lines
}

// deletionOf is the line of the deletion of one generation.
func deletionOf(n *node, g *state.Generation, note string) Planned {
	line := Planned{Address: n.addr, From: cmp.Or(n.from, n.begunAt(g)), Action: Delete, Notes: []string{note}}
	nameObject(&line, g)
	return line
}
