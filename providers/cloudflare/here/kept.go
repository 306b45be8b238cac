package here

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Kept is the local variant of a kind whose objects are but names to Workers, until something is put in: what is declared is
// what exists. attributes are those of what is declared, given an id, and a name for when the author gave none; of reads both
// back. A change of the fixed props replaces the object.
func Kept[P, A any](k kind.StateKind[P, A], attributes func(id, name string, want P) A, of func(A) (id, name string), fixed ...string) reconcile.Any {
	k.Type = Type(k.LocalVariantOf)
	k.Create = func(_ context.Context, s kind.Site[P, A]) (A, error) {
		return attributes(ID(s.Owner), Name(s.Owner), s.Want), nil
	}
	k.Compare = func(d *kind.Diff[kind.Kept[P, A]], want P, live kind.Kept[P, A]) {
		Compare(d, want, live.Props, fixed, kind.Set("Keep", func(_ context.Context, u kind.Update[kind.Kept[P, A]]) error {
			id, name := of(live.Attributes)
			u.Store(attributes(id, name, want))
			return nil
		}))
	}
	return k.Erase()
}

// Lax is a check that lets pass what is wrong below some props: ids of objects on this machine are not spelt as
// Cloudflare's are.
func Lax[P any](check func(P) error, below ...tree.Path) func(P) error {
	return func(want P) error {
		all, ok := errors.AsType[props.Errors](check(want))
		if !ok {
			return nil
		}
		return slices.DeleteFunc(all, func(e *props.FieldError) bool {
			return slices.ContainsFunc(below, func(p tree.Path) bool { return e.Path.Within(p) })
		}).OrNil()
	}
}

// Compare states every prop, and of a map every entry, but those that are stated elsewhere. A change of a fixed one
// replaces the object.
func Compare[L, P any](d *reconcile.Diff[L], want, had P, fixed []string, op *reconcile.Operation[L], but ...string) {
	wants, has := props.Dump(want), props.Dump(had)
	for _, name := range names(wants, has) {
		if slices.Contains(but, name) {
			continue
		}
		at := tree.Path("").Key(name)
		if slices.Contains(fixed, name) {
			reconcile.Fixed(d, at, wants[name], has[name])
			continue
		}
		w, many := wants[name].(map[string]any)
		h, were := has[name].(map[string]any)
		if (many || wants[name] == nil) && (were || has[name] == nil) {
			for _, key := range names(w, h) {
				reconcile.Value(d, at.Key(key), w[key], h[key], op)
			}
			continue
		}
		reconcile.Value(d, at, wants[name], has[name], op)
	}
}

func names(a, b map[string]any) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
