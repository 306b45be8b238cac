package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// overlaps finds declared resources that decide the same thing, so that each would undo at every deploy what the other did.
type overlaps struct {
	*jobs
	problems []Problem
	// holders are the resources by what they alone may declare, named those that others may be a part of by kind and name.
	holders, named map[located]*node
}

// located is a text in a location.
type located struct {
	place reconcile.Place
	what  string
}

// find returns a GraphError that names both resources of each pair.
func (o *overlaps) find(ctx context.Context) error {
	o.holders, o.named = map[located]*node{}, map[located]*node{}
	var parts []*node
	wholes := map[string]bool{}
	for _, n := range o.declared {
		if len(n.spec.Parts) > 0 && n.err == nil && n.was == nil {
			parts = append(parts, n)
			for _, p := range n.spec.Parts {
				wholes[p.Kind] = true
			}
		}
	}
	for _, n := range o.declared {
		if n.err != nil || n.was != nil || !n.spec.Unique && !wholes[n.spec.Type] {
			continue
		}
		job, err := o.declaredJob(ctx, n, target{number: 1})
		if err != nil {
			continue // what is wrong with it is said where it is looked at
		}
		if known(job.Name) {
			o.named[located{n.access.Place, n.spec.Type + " " + job.Name}] = n
		}
		o.unique(n, job.Unique)
	}
	for _, n := range parts {
		for _, p := range n.spec.Parts {
			o.part(ctx, n, p)
		}
	}
	if len(o.problems) > 0 {
		return &GraphError{o.problems}
	}
	return nil
}

// unique refuses what another resource declares already.
func (o *overlaps) unique(n *node, all []string) {
	for _, what := range all {
		at := located{n.access.Place, what}
		if other := o.holders[at]; other != nil && other != n {
			o.refuse(n, fmt.Errorf("%s declares %s too", other.addr, token.Show(what)))
			continue
		}
		o.holders[at] = n
	}
}

// part refuses a part of an object whose own resource states all parts. One that ignores differences there states none.
func (o *overlaps) part(ctx context.Context, n *node, p reconcile.Part) {
	whole := o.whole(ctx, n, p)
	if whole == nil || whole.decl == nil {
		return
	}
	_, declared := tree.Get(whole.decl.Props, p.States)
	ignored := slices.ContainsFunc(whole.decl.Options.IgnoreChanges, func(q tree.Path) bool { return p.States.Within(q) })
	if ignored || !declared && !p.Always {
		return
	}
	o.refuse(n, reconcile.WithHint(
		fmt.Errorf("%s states all of its %s, and would take this one away", whole.addr, p.States),
		"declare it in %s of %s, or let that leave them alone: options: {ignoreChanges: [%s]}", p.States, whole.addr, p.States))
}

// whole is the declared resource that another one becomes a part of: by a reference, or by the name.
func (o *overlaps) whole(ctx context.Context, n *node, p reconcile.Part) *node {
	for _, u := range n.uses {
		if other := o.nodes[u.Ref.Address]; u.At == p.Prop && other != nil && other.spec.Type == p.Kind {
			return other
		}
	}
	job, err := o.declaredJob(ctx, n, target{number: 1})
	if err != nil {
		return nil
	}
	value, _ := tree.Get(job.Props, p.Prop)
	name, _ := value.(string)
	return o.named[located{n.access.Place, p.Kind + " " + name}]
}

func (o *overlaps) refuse(n *node, err error) {
	o.problems = append(o.problems, Problem{Address: n.addr, Source: n.source(), Err: err})
}
