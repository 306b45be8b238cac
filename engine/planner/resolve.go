package planner

import (
	"context"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Resolve puts values in the place of a resource's references, as far as they are known.
func (x *Program) Resolve(ctx context.Context, t *token.Template) (token.Resolved, error) {
	return x.resolveWas(ctx, t, nil)
}

// declares returns the declared props of a node with references resolved, as far as they are known now.
func (x *Program) declares(ctx context.Context) func(*plan.Node) map[string]any {
	return func(n *plan.Node) map[string]any {
		resolved, err := x.Resolve(ctx, n.Props)
		if err != nil {
			return nil
		}
		props, _ := resolved.Tree.(map[string]any)
		return props
	}
}

// resolveWas resolves references to the nodes of was by the attributes of older objects of theirs: an object without a state
// entry may belong to those.
func (x *Program) resolveWas(ctx context.Context, t *token.Template, was map[*plan.Node]map[string]any) (token.Resolved, error) {
	return t.Resolve(func(e token.Expr) (token.Value, error) { return x.lookup(ctx, e, was) })
}

// lookup returns the value of one expression, as far as it is known now; was is as in resolveWas.
func (x *Program) lookup(ctx context.Context, e token.Expr, was map[*plan.Node]map[string]any) (token.Value, error) {
	switch e.Op {
	case token.OpSecret, token.OpStack, token.OpThen:
		return x.values.Lookup(ctx, e)
	default:
		if was != nil && e.Ref.Path != "" {
			if v, ok := tree.Get(was[x.Nodes[e.Ref.Address]], e.Ref.Path); ok {
				return token.Value{Any: v}, nil
			}
		}
		return x.value(e.Ref)
	}
}

// value returns an attribute of another resource, as far as it is known now.
func (x *Program) value(ref token.Ref) (token.Value, error) {
	n, ok := x.Nodes[ref.Address]
	if !ok {
		return token.Value{}, fmt.Errorf("nothing is declared as %q", ref.Address)
	}
	n.Mu.Lock()
	defer n.Mu.Unlock()
	first, below := ref.Path.First()
	if n.Attrs == nil || n.Unknown || below && slices.Contains(n.Moving, first.Key) {
		return token.Value{Unknown: true}, nil
	}
	var v any = n.Attrs
	if below {
		if v, ok = tree.Get(n.Attrs, ref.Path); !ok {
			return token.Value{}, fmt.Errorf("%s has no value at %s", ref.Address, ref.Path)
		}
	}
	secret := x.Redact.Holds(v)
	for _, p := range n.Spec.SecretAttrs {
		if ref.Path.Overlaps(p) {
			secret = true
			x.Redact.Learn(v)
		}
	}
	return token.Value{Any: v, Secret: secret}, nil
}
