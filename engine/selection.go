package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/reconcile"
)

// choose selects the addresses that the options leave, of those declared and undeclared. Without an option that is all.
func (x *index) choose(o PlanOptions, undeclared []*node) (*chosen, error) {
	switch {
	case o.Take != nil:
		n, err := x.taker(o.Take.Address)
		return &chosen{only: map[*node]bool{n: true}}, err
	case len(o.Target)+len(o.Exclude) > 0:
		only, err := selection(slices.Concat(x.sorted, undeclared), x.nodes, o.Target, o.Exclude)
		return &chosen{only: only}, err
	default:
		return &chosen{}, nil
	}
}

// selection returns the nodes that globs of targets and exclusions leave. Targets come with what they need; an exclusion takes
// along what needs it.
func selection(all []*node, at map[string]*node, targets, excludes []string) (map[*node]bool, error) {
	for _, glob := range slices.Concat(targets, excludes) {
		hit := slices.ContainsFunc(all, func(n *node) bool { return graph.Match(glob, n.addr) })
		if !hit && !strings.Contains(glob, "*") {
			return nil, reconcile.WithHint(fmt.Errorf("%q is neither declared nor in state", glob), "`athanor graph` lists what is declared")
		}
	}
	selected := make(map[*node]bool, len(all))
	var include func(*node)
	include = func(n *node) {
		if selected[n] {
			return
		}
		selected[n] = true
		for _, a := range n.needs {
			if up := at[a]; up != nil && up.decl != nil && n.decl != nil {
				include(up)
			}
		}
	}
	for _, n := range all {
		if len(targets) == 0 || matches(targets, n.addr) || n.read != nil {
			include(n)
		}
	}
	var exclude func(*node)
	exclude = func(n *node) {
		if !selected[n] {
			return
		}
		delete(selected, n)
		for _, user := range n.users {
			exclude(user)
		}
	}
	for _, n := range all {
		if matches(excludes, n.addr) {
			exclude(n)
		}
	}
	return selected, nil
}

// chosen says which addresses a plan is about.
type chosen struct {
	only map[*node]bool // nil: all
	but  map[*node]bool // left out of them
}

func (c *chosen) isSelected(n *node) bool { return (c.only == nil || c.only[n]) && !c.but[n] }

// deselect takes one node off what the plan is about.
func (c *chosen) deselect(n *node) {
	if c.but == nil {
		c.but = map[*node]bool{}
	}
	c.but[n] = true
}

// pass leaves a node that is not selected as the record has it.
func pass(n *node) {
	n.plan = &Planned{Address: n.addr, Kind: n.spec.Type, Action: Unchanged, Needs: n.needs, Notes: []string{"not selected"}}
	if g := n.rec.Live(); g != nil {
		n.attrs, n.plan.Identity, n.plan.Generation = g.Attributes, g.Identity, g.Number
		return
	}
	n.unknown = true
}

// surviving refuses to delete what something that stays still needs.
func (l *leftovers) surviving(n *node, all []*node) {
	if l.only == nil && l.but == nil || n.plan == nil || n.plan.Action != Delete {
		return
	}
	for _, other := range all {
		if !l.isSelected(other) && other.rec != nil && slices.Contains(other.rec.Needs, n.addr) {
			l.refuse(n, reconcile.WithHint(fmt.Errorf("%s still needs it and is not selected", other.addr), "--target %s as well", other.addr))
			return
		}
	}
}
