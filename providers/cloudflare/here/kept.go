package here

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Live is a thing as it is here: what it was declared as, and its attributes.
type Live[P, A any] struct {
	Attrs A
	Had   P
}

// Kept describes the variant of a kind whose things are but names to Workers, until something is put in.
type Kept[P, A any] struct {
	// Stands is the kind, and Doc its documentation.
	Stands, Doc string
	// Make tells the attributes of what is declared, given an id, and a name for when the author gave none. Of reads both
	// back.
	Make func(id, name string, want P) A
	Of   func(A) (id, name string)
	// Forget deletes what a thing holds, given its attributes. Nil: nothing.
	Forget func(dev *reconcile.Dev, dir string, m reconcile.Mark, attrs A) error
	// Fixed are the props whose change replaces the thing. The others below are those of the kind.
	Fixed    []string
	Moves    []string
	Check    func(P) error
	Defaults func(P) P
	Source   fs.FS
}

// Kind is the variant. It is in the record alone: what is declared is what there is.
func (k Kept[P, A]) Kind() *reconcile.Kind[P, Live[P, A], A] {
	return &reconcile.Kind[P, Live[P, A], A]{
		Type: Type(k.Stands), Stands: k.Stands, Doc: k.Doc, Recorded: true, Check: k.Check, Defaults: k.Defaults, Source: k.Source,
		// What the tags of the props say of calls and readiness is about the kind in the cloud.
		Tags: func() (reconcile.Tags, error) { return reconcile.Tags{Moves: k.Moves}, nil },
		Observe: func(_ context.Context, site reconcile.Site[P, A]) (Live[P, A], error) {
			return Recorded(site, k.Defaults)
		},
		Create: func(_ context.Context, site reconcile.Site[P, A]) (A, error) {
			return k.Make(ID(site.Mark), Name(site.Mark), site.Want), nil
		},
		Compare: func(d *reconcile.Diff[Live[P, A]], want P, live Live[P, A]) {
			Compare(d, want, live.Had, k.Fixed, &reconcile.Operation[Live[P, A]]{Name: "Keep", Do: func(_ context.Context, on reconcile.On[Live[P, A]]) error {
				id, name := k.Of(live.Attrs)
				on.Remember(k.Make(id, name, want))
				return nil
			}})
		},
		Attrs: func(live Live[P, A]) A { return live.Attrs },
		Delete: func(_ context.Context, site reconcile.Site[P, A]) error {
			if site.Last == nil || k.Forget == nil {
				return nil
			}
			return k.Forget(site.Dev, site.Dir, site.Mark, *site.Last)
		},
		Identity: func(A) string { return "" },
	}
}

// Lax is a check that lets pass what is wrong below some props: ids of things on this machine are not spelt as
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

// Recorded is a thing as the record has it; defaults fill what was not declared, nil for none.
func Recorded[P, A any](site reconcile.Site[P, A], defaults func(P) P) (live Live[P, A], err error) {
	if site.Last == nil {
		return live, reconcile.ErrAbsent
	}
	live.Attrs = *site.Last
	if site.Had != nil {
		live.Had = *site.Had
	}
	if defaults != nil {
		live.Had = defaults(live.Had)
	}
	return live, nil
}

// Compare states every prop, and of a map every entry, but those that are stated elsewhere. A change of a fixed one
// replaces the thing.
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

// NoTags is for a local variant that states nothing of single props: what the tags of the props say of calls and readiness is
// about the kind in the cloud.
func NoTags() (reconcile.Tags, error) { return reconcile.Tags{}, nil }
