package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// found is a thing that reading showed and the record does not know.
type found struct {
	reconcile.Found
	access *access
	look   reconcile.Look
	job    *reconcile.Job
	slot   int
	// unsought: there was nothing yet to look for it by.
	unsought bool
	// under is the address in the owner tag of the parent by which it was listed, "" for what was found otherwise.
	under string
}

// listing is one kind's listing of one place, made once per plan.
type listing struct {
	once   once
	things []reconcile.Found
	err    error
}

// list lists a kind in a place, once.
func (w *work) list(ctx context.Context, n *node, a *access) ([]reconcile.Found, error) {
	return w.listed(n.spec.Type+"\x00"+a.place.String(), func() ([]reconcile.Found, error) {
		return listOf(ctx, n.kind, reconcile.Scope{
			Cloud: a.cloud, Place: a.place, Dir: w.graph.Dir,
			Prefix: w.stage.Stack + "-" + w.stage.Name + "-",
			Mark:   reconcile.Mark{Stack: w.stage.Stack, Stage: w.stage.Name},
		})
	})
}

// discover finds all marked things of a stage that has no rows, in every place that the program names: tag-wide
// where the provider can, else kind by kind.
func (w *work) discover(ctx context.Context) error {
	var accesses []*access
	for _, n := range w.declared {
		if a := n.access.reached(); a.err == nil && !slices.Contains(accesses, a) {
			accesses = append(accesses, a)
		}
	}
	var err error
	w.discovered, err = w.marks(ctx, accesses)
	w.byAddress, w.byIdentity = map[string][]*found{}, map[string]*found{}
	for i := range w.discovered {
		d := &w.discovered[i]
		w.byAddress[d.Mark.Address] = append(w.byAddress[d.Mark.Address], d)
		w.byIdentity[d.Identity] = d
	}
	w.lost = w.lost || len(w.discovered) > 0
	return err
}

// marks finds the marked things of a stage in several places, each once, sorted.
func (w *work) marks(ctx context.Context, accesses []*access) ([]found, error) {
	var all []found
	var errs []error
	seen := map[string]bool{}
	for _, a := range accesses {
		things, err := w.discoverIn(ctx, a)
		if err != nil {
			errs = append(errs, fmt.Errorf("discover in %s: %w", a.place, err))
			continue
		}
		for _, f := range things {
			home := w.home(f.Kind, a)
			id := f.Kind + "\x00" + home.place.String() + "\x00" + f.Identity
			if f.Mark == nil || f.Mark.Stack != w.stage.Stack || f.Mark.Stage != w.stage.Name || seen[id] {
				continue
			}
			seen[id] = true
			f.access = home
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Identity, b.Identity))
	})
	return all, errors.Join(errs...)
}

// discoverIn finds the marked things of one place.
func (w *work) discoverIn(ctx context.Context, a *access) ([]found, error) {
	scope := reconcile.Scope{
		Cloud: a.cloud, Place: a.place, Dir: w.graph.Dir, Mark: reconcile.Mark{Stack: w.stage.Stack, Stage: w.stage.Name},
	}
	if a.provider.Discover != nil {
		all, err := discoverBy(ctx, a.provider, scope)
		if err != nil {
			return nil, err
		}
		return w.withUnder(ctx, a, scope, all)
	}
	var all []found
	for _, k := range a.provider.Kinds {
		if spec := k.Spec(); !spec.Lists || !spec.Marked {
			continue
		}
		things, err := listOf(ctx, k, scope)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.Spec().Type, err)
		}
		for _, f := range things {
			all = append(all, found{Found: f})
		}
	}
	return all, nil
}

// withUnder adds to the tagged objects of a place those that belong to one of them and that no tag-wide listing shows. Their
// own tags say whose they are.
func (w *work) withUnder(ctx context.Context, a *access, scope reconcile.Scope, tagged []reconcile.Found) ([]found, error) {
	all, known := make([]found, 0, len(tagged)), map[state.Object]bool{}
	for _, f := range tagged {
		known[state.Object{Kind: f.Kind, Identity: f.Identity}] = true
		all = append(all, found{Found: f})
	}
	for _, k := range a.provider.Kinds {
		spec := k.Spec()
		for _, parent := range tagged {
			if !slices.Contains(spec.Under, parent.Kind) || parent.Mark == nil {
				continue
			}
			children, err := listUnder(ctx, k, scope, parent)
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", spec.Type, parent.Identity, err)
			}
			for _, f := range children {
				if id := (state.Object{Kind: f.Kind, Identity: f.Identity}); !known[id] {
					known[id] = true
					look, err := w.see(ctx, k, &reconcile.Job{ID: f.Identity, Place: a.place, Cloud: a.cloud, Dir: w.graph.Dir, Digest: w.e.Key.Digest})
					if err != nil {
						return nil, fmt.Errorf("%s %s: %w", f.Kind, f.Identity, err)
					}
					f.Mark = &look.Owner
					all = append(all, found{Found: f, under: parent.Mark.Address})
				}
			}
		}
	}
	return all, nil
}
