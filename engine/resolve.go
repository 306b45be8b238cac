package engine

import (
	"context"
	"fmt"

	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// resolve puts values in the place of a resource's references, as far as they are known.
func (x *index) resolve(ctx context.Context, t *token.Template) (token.Resolved, error) {
	return x.resolveWas(ctx, t, nil)
}

// resolveWas resolves references to the nodes of was by the attributes of older objects of theirs: an object without a state
// entry may belong to those.
func (x *index) resolveWas(ctx context.Context, t *token.Template, was map[*node]map[string]any) (token.Resolved, error) {
	return t.Resolve(func(e token.Expr) (token.Value, error) { return x.lookup(ctx, e, was) })
}

// lookup returns the value of one expression, as far as it is known now; was is as in resolveWas.
func (x *index) lookup(ctx context.Context, e token.Expr, was map[*node]map[string]any) (token.Value, error) {
	switch e.Op {
	case token.OpSecret, token.OpStack, token.OpThen:
		return x.values.Lookup(ctx, e)
	default:
		if was != nil && e.Ref.Path != "" {
			if v, ok := tree.Get(was[x.nodes[e.Ref.Address]], e.Ref.Path); ok {
				return token.Value{Any: v}, nil
			}
		}
		return x.value(e.Ref)
	}
}

// value returns an attribute of another resource, as far as it is known now.
func (x *index) value(ref token.Ref) (token.Value, error) {
	n, ok := x.nodes[ref.Address]
	if !ok {
		return token.Value{}, fmt.Errorf("nothing is declared as %q", ref.Address)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	first, below := ref.Path.First()
	if n.attrs == nil || n.unknown || below && n.moving[first.Key] {
		return token.Value{Unknown: true}, nil
	}
	var v any = n.attrs
	if below {
		if v, ok = tree.Get(n.attrs, ref.Path); !ok {
			return token.Value{}, fmt.Errorf("%s has no value at %s", ref.Address, ref.Path)
		}
	}
	secret := x.redact.Holds(v)
	for _, p := range n.spec.SecretAttrs {
		if ref.Path.Overlaps(p) {
			secret = true
			x.redact.Learn(v)
		}
	}
	return token.Value{Any: v, Secret: secret}, nil
}
