package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/causes"
	"github.com/athanor-dev/athanor/engine/redact"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Lines writes the lines of a plan document.
type Lines struct {
	Announcer
	*Basis
	DevRules
	*Chosen
	// KeepsReplaced: what was replaced before is not deleted, and has no line.
	KeepsReplaced bool
}

// All are the lines of nodes, in the order of their addresses, each with what it announces. The line of a node itself becomes
// its plan: there can be very many, and none is held twice. Those that were made in their room stay there as long as no other
// line comes between.
func (l *Lines) All(nodes []*Node) []Planned {
	slices.SortStableFunc(nodes, func(a, b *Node) int { return strings.Compare(a.Address, b.Address) })
	all, own, stay := l.room[:0], make([]int, len(nodes)), true
	add := func(lines ...Planned) {
		if stay && len(lines) > 0 {
			all, stay = slices.Grow(slices.Clip(all), len(nodes)-len(all)), false
		}
		all = append(all, lines...)
	}
	for i, n := range nodes {
		add(l.untied(n)...)
		if own[i] = len(all); n.Plan != nil {
			mask(n.Plan, l.Redact)
			n.Plan.From = cmp.Or(n.Plan.From, n.begunAt(n.Entry.Candidate()))
			n.Plan.Steps = l.announce(n)
			if stay && own[i] < len(l.room) && n.Plan == &l.room[own[i]] {
				all = l.room[:own[i]+1]
			} else {
				add(*n.Plan)
			}
		}
		add(l.condemned(n)...)
	}
	for i, n := range nodes {
		if n.room = nil; n.Plan != nil {
			n.Plan = &all[own[i]]
		}
	}
	return all
}

// CausesOf returns the problems that several lines have in common, and lets each of these lines name its own.
func CausesOf(lines []Planned, nodes map[string]*Node, masks *redact.Redactor) []causes.Cause {
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
			e.Common, e.CommonHint = CommonOf(masks, n.Err)
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
func (l *Lines) untied(n *Node) []Planned {
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
func (l *Lines) condemned(n *Node) []Planned {
	if !l.IsSelected(n) || l.KeepsReplaced || n.Decl == nil && n.Plan != nil && n.Plan.Action == Blocked {
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
		if with := l.DeletedWith(n, g.Number); with != nil {
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
	if l.Session != nil && !l.FindsOwn() {
		return lines // older finds are in state, and left
	}
	for _, f := range n.Others {
		line := Planned{
			Address: n.Address, Kind: f.Kind, Action: Delete, Identity: f.Look.Identity,
			Generation: f.Look.Owner.Generation, Place: f.Access.Place, Notes: []string{"an older one of this address"},
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

// mask redacts what reasons and notes could show of a secret that reached a path by another way.
func mask(a *Planned, redact *redact.Redactor) {
	for i := range a.Reasons {
		if r := &a.Reasons[i]; !r.Secret && (redact.Holds(r.Have) || redact.Holds(r.Want)) {
			r.Secret, r.Have, r.Want = true, MaskOf(r.Have), MaskOf(r.Want)
		}
	}
}

// MaskOf masks a value; nil stays nil.
func MaskOf(v any) any {
	if v == nil {
		return nil
	}
	return reconcile.Mask
}

// RenameHints notice what looks like a rename: one row to be deleted, one new resource of the kind, equal props. It is never
// acted on. Where several are alike, nothing tells which became which. Props returns those that a node declares, as far as they are known.
func RenameHints(leftover, declared []*Node, props func(*Node) map[string]any) []string {
	if len(leftover) == 0 {
		return nil
	}
	type pair struct{ gone, come []*Node }
	pairs := map[string]*pair{}
	of := func(kind string, values map[string]any) *pair {
		id := kind + string(tree.Canonical(AnyMap(values)))
		if pairs[id] == nil {
			pairs[id] = &pair{}
		}
		return pairs[id]
	}
	for _, n := range leftover {
		if n.Plan != nil && n.Plan.Action == Delete && n.Spec != nil {
			p := of(n.Spec.Type, n.Entry.Props)
			p.gone = append(p.gone, n)
		}
	}
	for _, n := range declared {
		if n.Plan.Action == Create && n.Entry == nil && n.Object() != nil {
			p := of(n.Spec.Type, props(n))
			p.come = append(p.come, n)
		}
	}
	var hints []string
	for _, p := range pairs {
		if len(p.gone) == 1 && len(p.come) == 1 {
			gone, come := p.gone[0].Address, p.come[0].Address
			hints = append(hints, fmt.Sprintf("%s looks like %s under a new name: renamedFrom: [%s] would keep it", come, gone, gone))
		}
	}
	slices.Sort(hints)
	return hints
}

// Shown replaces the tokens in a value by what people read.
func Shown(v any) any {
	if s, ok := v.(string); ok {
		return token.Show(s)
	}
	return v
}
