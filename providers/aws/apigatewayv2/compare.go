package apigatewayv2

import (
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type object = map[string]any

// compareAPI states the aspects in the order in which they are settled: authorizers come before the routes that name them, and
// routes before the stages that have settings for them, and stages before the mappings that lead to them; what goes does so in
// the other order.
func compareAPI(d *apiDiff, want HTTPAPIProps, live liveAPI) {
	update := updateAPI(want)
	reconcile.Value(d, "name", nameOf(want, d.Mark()), live.name, update)
	reconcile.Value(d, "description", want.Description, live.description, update)
	reconcile.Value(d, "version", want.Version, live.version, update)
	reconcile.Value(d, "disableExecuteApiEndpoint", want.DisableExecuteAPIEndpoint, live.disabled, update)
	reconcile.Value(d, "ipAddressType", *want.IPAddressType, live.addresses, update)
	switch {
	case want.CORS == nil:
		reconcile.Value(d, "cors", nil, live.cors, deleteCORS())
	case len(want.CORS.AllowOrigins) > 0: // else whom it is for is left out for now
		leaves(d, "cors", treeOf(want.CORS), treeOf(live.cors), update)
	}
	c := compared(want, live)
	c.authorizers.stand(d)
	c.routes.stand(d)
	c.stages.stand(d)
	c.mappings.stand(d)
	c.mappings.gone(d)
	c.stages.gone(d)
	c.routes.gone(d)
	c.strays(d)
	c.authorizers.gone(d)
	aws.CompareTags(d, want.Tags, live.tags, "TagResource", putTags, dropTags)
}

// children are things of one kind that belong to an API, by their key: as declared, and as they are there.
type children struct {
	at         tree.Path
	elsewhere  map[string]tree.Path // of those that are declared under another prop
	want, have object
	// noneIsSaid: without any declared there is one, and none is declared by an empty map. Where there is none, that is one
	// difference.
	noneIsSaid bool
	// hidden are the parts whose values are masked where nobody declares them.
	hidden                 []string
	create, update, remove *apiCall
}

// path is where a child is declared.
func (c *children) path(key string) tree.Path {
	if p, ok := c.elsewhere[key]; ok {
		return p
	}
	return c.at.Key(key)
}

// stand states what is declared: what is missing as a whole, then the rest leaf by leaf. What is nil is left for later.
func (c *children) stand(d *apiDiff) {
	if len(c.have) == 0 && c.noneIsSaid {
		reconcile.Value(d, c.at, any(c.want), any(c.have), c.create)
		return
	}
	keys := slices.Sorted(maps.Keys(c.want))
	for _, key := range keys {
		if c.want[key] != nil && c.have[key] == nil {
			reconcile.Value(d, c.path(key), c.want[key], nil, c.create)
		}
	}
	for _, key := range keys {
		if c.want[key] != nil && c.have[key] != nil {
			leaves(d, c.path(key), c.want[key], c.have[key], c.update)
		}
	}
}

// gone states what is there and not declared.
func (c *children) gone(d *apiDiff) {
	for _, key := range slices.Sorted(maps.Keys(c.have)) {
		have, _ := c.have[key].(object)
		if _, declared := c.want[key]; declared || have == nil {
			continue
		}
		shown := maps.Clone(have)
		for _, part := range c.hidden {
			delete(shown, part)
		}
		reconcile.Value(d, c.path(key), nil, any(shown), c.remove)
		for _, part := range c.hidden {
			if have[part] != nil {
				reconcile.Value(d, c.path(key).Key(part), nil, have[part], c.remove)
			}
		}
	}
}

// leaves states a tree leaf by leaf. Lists are leaves, and what is on one side alone is one as a whole.
func leaves[L any](d *reconcile.Diff[L], path tree.Path, want, have any, call *reconcile.Operation[L]) {
	w, wanted := want.(object)
	h, there := have.(object)
	if !wanted || !there {
		reconcile.Value(d, path, want, have, call)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(union(w, h))) {
		leaves(d, path.Key(key), w[key], h[key], call)
	}
}

func union(a, b object) object {
	all := object{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// settled is what a call is to write: what is there, with the values of the paths that it changes. What is ignored, or left
// for later, stays.
func settled[T any](path tree.Path, want, have any, changed []tree.Path) (T, error) {
	full, wanted := tree.With(object{}, path, tree.Clone(have)), tree.With(object{}, path, want)
	for _, p := range changed {
		switch {
		case path.Within(p):
			return decoded[T](want)
		case !p.Within(path):
			continue
		}
		if v, ok := tree.Get(wanted, p); ok && v != nil {
			full = tree.With(full, p, v)
		} else {
			full = tree.Without(full, p)
		}
	}
	at, _ := tree.Get(full, path)
	return decoded[T](at)
}

// decoded is the struct of a tree.
func decoded[T any](from any) (T, error) {
	var out T
	m, _ := from.(object)
	err := props.Load(m, &out)
	return out, err
}

// touches reports whether a call is to change anything at a path.
func touches(changed []tree.Path, path tree.Path) bool {
	return slices.ContainsFunc(changed, func(p tree.Path) bool { return p.Within(path) || path.Within(p) })
}

// encoded is a struct as the tree of a declaration.
func encoded(v any) (object, error) { return props.Encode(v) }

// treeOf is that of props, which always have one; nil for a nil pointer.
func treeOf[T any](v *T) any {
	if v == nil {
		return nil
	}
	m, err := encoded(*v)
	if err != nil {
		panic("apigatewayv2: " + err.Error()) // a type that no prop can have
	}
	return m
}
