package planner

import (
	"context"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// overlaps finds declared resources that name or decide the same object, so that each would undo at every deploy what the other did.
type overlaps struct {
	*Jobs
	problems []plan.Problem
	// holders are the resources by what they alone may declare; by kind and name given are those whose names the author gave, and named
	// those that others may be a part of.
	holders, given, named map[located]*plan.Node
}

// located is a text in a location.
type located struct {
	place reconcile.Place
	what  string
}

// find returns a GraphError that names both resources of each pair.
func (o *overlaps) find(ctx context.Context) error {
	o.holders, o.given, o.named = map[located]*plan.Node{}, map[located]*plan.Node{}, map[located]*plan.Node{}
	var parts []*plan.Node
	wholes := map[string]bool{}
	for _, n := range o.Declared {
		if len(n.Spec.Parts) > 0 && n.Err == nil && n.Was == nil {
			parts = append(parts, n)
			for _, p := range n.Spec.Parts {
				wholes[p.Kind] = true
			}
		}
	}
	for _, n := range o.Declared {
		decides := n.Was == nil && (n.Spec.Unique || wholes[n.Spec.Type])
		if n.Err != nil || !n.Spec.Named && !decides {
			continue
		}
		job, err := o.DeclaredJob(ctx, n, Target{Number: 1})
		if err != nil {
			continue // what is wrong with it is said where it is looked at
		}
		if at := (located{n.Access.Place, n.Spec.Type + " " + job.Name}); plan.IsKnown(job.Name) {
			o.names(n, job, at)
			if decides {
				o.named[at] = n
			}
		}
		if decides {
			o.unique(n, job.Unique)
		}
	}
	for _, n := range parts {
		for _, p := range n.Spec.Parts {
			o.part(ctx, n, p)
		}
	}
	if len(o.problems) > 0 {
		return &plan.GraphError{Problems: o.problems}
	}
	return nil
}

// names refuses a name that another resource of the kind and the location was given too.
func (o *overlaps) names(n *plan.Node, job *reconcile.Job, at located) {
	switch other := o.given[at]; {
	case !n.Spec.Named || !job.Named:
	case other != nil:
		o.refuse(n, fmt.Errorf("%s names the same %s: %s", other.Address, n.Spec.Type, job.Name))
	default:
		o.given[at] = n
	}
}

// unique refuses what another resource declares already.
func (o *overlaps) unique(n *plan.Node, all []string) {
	for _, what := range all {
		at := located{n.Access.Place, what}
		if other := o.holders[at]; other != nil && other != n {
			o.refuse(n, fmt.Errorf("%s declares %s too", other.Address, token.Show(what)))
			continue
		}
		o.holders[at] = n
	}
}

// part refuses a part of an object whose own resource states all parts. One that ignores differences there states none.
func (o *overlaps) part(ctx context.Context, n *plan.Node, p reconcile.Part) {
	whole := o.whole(ctx, n, p)
	if whole == nil || whole.Decl == nil {
		return
	}
	_, declared := tree.Get(whole.Decl.Props, p.States)
	ignored := slices.ContainsFunc(whole.Decl.Options.IgnoreChanges, func(q tree.Path) bool { return p.States.Within(q) })
	if ignored || !declared && !p.Always {
		return
	}
	o.refuse(n, reconcile.WithHint(
		fmt.Errorf("%s states all of its %s, and would take this one away", whole.Address, p.States),
		"declare it in %s of %s, or let that leave them alone: options: {ignoreChanges: [%s]}", p.States, whole.Address, p.States))
}

// whole is the declared resource that another one becomes a part of: by a reference, or by the name.
func (o *overlaps) whole(ctx context.Context, n *plan.Node, p reconcile.Part) *plan.Node {
	for _, u := range n.Uses() {
		if other := o.Nodes[u.Ref.Address]; u.At == p.Prop && other != nil && other.Spec.Type == p.Kind {
			return other
		}
	}
	job, err := o.DeclaredJob(ctx, n, Target{Number: 1})
	if err != nil {
		return nil
	}
	value, _ := tree.Get(job.Props, p.Prop)
	name, _ := value.(string)
	return o.named[located{n.Access.Place, p.Kind + " " + name}]
}

func (o *overlaps) refuse(n *plan.Node, err error) {
	o.problems = append(o.problems, plan.Problem{Address: n.Address, Source: n.Source(), Err: err})
}
