package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// listing is one kind's listing of one location, made once per plan.
type listing struct {
	once  once
	found []reconcile.Found
	err   error
}

// listed makes a listing once.
func (r *Reader) listed(id string, list func() ([]reconcile.Found, error)) ([]reconcile.Found, error) {
	r.mu.Lock()
	l, ok := r.listings[id]
	if !ok {
		l = &listing{once: newOnce()}
		r.listings[id] = l
	}
	r.mu.Unlock()
	l.once.do(!ok, func() { l.found, l.err = list() })
	return l.found, l.err
}

// scope is what is listed of the stage by one way.
func (r *Reader) scope(a *Way) reconcile.Scope {
	return reconcile.Scope{
		Cloud: a.Cloud, Place: a.Place, Dir: r.dir, Mark: reconcile.Mark{Stack: r.stage.Stack, Stage: r.stage.Name}, Kinds: r.kinds,
	}
}

// List lists one kind in a scope.
func List(ctx context.Context, kind reconcile.Any, scope reconcile.Scope) ([]reconcile.Found, error) {
	return Patiently(ctx, scope.Cloud, kind.Spec().Timeouts.Create, func(ctx context.Context) ([]reconcile.Found, error) { return kind.List(ctx, scope) })
}

// ListNamed lists the objects of a kind that bear generated names of the stage.
func (r *Reader) ListNamed(ctx context.Context, kind reconcile.Any, a *Way) ([]reconcile.Found, error) {
	return r.listed(kind.Spec().Type+"\x00"+a.Place.String(), func() ([]reconcile.Found, error) {
		scope := r.scope(a)
		scope.Prefix = r.stage.Stack + "-" + r.stage.Name + "-"
		return List(ctx, kind, scope)
	})
}

// ListAll lists every object of a kind in a location, of all owners.
func (r *Reader) ListAll(ctx context.Context, kind reconcile.Any, a *Way) ([]reconcile.Found, error) {
	return r.listed("all\x00"+kind.Spec().Type+"\x00"+a.Place.String(), func() ([]reconcile.Found, error) {
		return List(ctx, kind, reconcile.Scope{Cloud: a.Cloud, Place: a.Place, Dir: r.dir})
	})
}

// ListTagged lists what carries the stage's owner tag: by kind where it lists, else tag-wide where the provider can.
func (r *Reader) ListTagged(ctx context.Context, kind reconcile.Any, a *Way) ([]reconcile.Found, error) {
	spec, scope := kind.Spec(), r.scope(a)
	switch {
	case spec.Lists:
		return r.listed("mark\x00"+spec.Type+"\x00"+scope.Place.String(), func() ([]reconcile.Found, error) { return List(ctx, kind, scope) })
	case a.Provider.Discover != nil:
		scope.Place = a.Reached().Place
		return r.listed("mark\x00\x00"+scope.Place.String(), func() ([]reconcile.Found, error) { return discoverBy(ctx, a.Provider, scope) })
	}
	return nil, nil
}

// discoverBy asks a provider for everything that carries the owner tag.
func discoverBy(ctx context.Context, p reconcile.Provider, scope reconcile.Scope) ([]reconcile.Found, error) {
	return Patiently(ctx, scope.Cloud, 0, func(ctx context.Context) ([]reconcile.Found, error) { return p.Discover(ctx, scope) })
}

// Tagged is an object that carries the stage's owner tag.
type Tagged struct {
	reconcile.Found
	Way *Way
	// under is the address in the owner tag of the parent by which it was listed, "" for what was found otherwise.
	Under string
}

// Object names it.
func (t *Tagged) Object() state.Object {
	return state.Object{Kind: t.Kind, Location: t.Way.Place, Identity: t.Identity}
}

// Discover finds the objects of the stage in several locations by their owner tags, each once, sorted: tag-wide where the
// provider can, else kind by kind. What a location that failed would have shown is missing.
func (r *Reader) Discover(ctx context.Context, accesses []*Way) ([]Tagged, error) {
	var all []Tagged
	var errs []error
	seen := map[state.Object]bool{}
	for _, a := range accesses {
		found, err := r.discoverIn(ctx, a)
		if err != nil {
			errs = append(errs, fmt.Errorf("discover in %s: %w", a.Place, err))
			continue
		}
		for _, t := range found {
			t.Way = r.Home(t.Kind, a)
			if t.Mark == nil || t.Mark.Stack != r.stage.Stack || t.Mark.Stage != r.stage.Name || seen[t.Object()] {
				continue
			}
			seen[t.Object()] = true
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b Tagged) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Identity, b.Identity))
	})
	return all, errors.Join(errs...)
}

// discoverIn finds them in one location.
func (r *Reader) discoverIn(ctx context.Context, a *Way) ([]Tagged, error) {
	scope := r.scope(a)
	if a.Provider.Discover != nil {
		found, err := discoverBy(ctx, a.Provider, scope)
		if err != nil {
			return nil, err
		}
		return r.withChildren(ctx, a, found)
	}
	var all []Tagged
	for _, k := range a.Provider.Kinds {
		if spec := k.Spec(); !spec.Lists || !spec.Marked {
			continue
		}
		found, err := List(ctx, k, scope)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.Spec().Type, err)
		}
		for _, f := range found {
			all = append(all, Tagged{Found: f})
		}
	}
	return all, nil
}

// withChildren adds to the tagged objects of a location those that belong to one of them and that no tag-wide listing shows.
// Their own tags say whose they are.
func (r *Reader) withChildren(ctx context.Context, a *Way, parents []reconcile.Found) ([]Tagged, error) {
	all, known := make([]Tagged, 0, len(parents)), map[state.Object]bool{}
	for _, f := range parents {
		known[state.Object{Kind: f.Kind, Identity: f.Identity}] = true
		all = append(all, Tagged{Found: f})
	}
	for _, k := range a.Provider.Kinds {
		under := k.Outline().Under
		for _, parent := range parents {
			if !slices.Contains(under, parent.Kind) || parent.Mark == nil {
				continue
			}
			children, err := r.children(ctx, k, a, parent)
			if err != nil {
				return nil, err
			}
			for _, f := range children {
				if id := (state.Object{Kind: f.Kind, Identity: f.Identity}); !known[id] {
					known[id] = true
					all = append(all, Tagged{Found: f, Under: parent.Mark.Address})
				}
			}
		}
	}
	return all, nil
}

// children lists the objects of a kind that belong to a parent, each with the owner tag that it carries.
func (r *Reader) children(ctx context.Context, kind reconcile.Any, a *Way, parent reconcile.Found) ([]reconcile.Found, error) {
	bound := kind.Spec().Timeouts.Create
	children, err := Patiently(ctx, a.Cloud, bound, func(ctx context.Context) ([]reconcile.Found, error) {
		return kind.ListUnder(ctx, r.scope(a), parent)
	})
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", kind.Spec().Type, parent.Identity, err)
	}
	for i := range children {
		f := &children[i]
		look, err := See(ctx, kind, &reconcile.Job{ID: f.Identity, Place: a.Place, Cloud: a.Cloud, Dir: r.dir, Digest: r.digest})
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", f.Kind, f.Identity, err)
		}
		f.Mark = &look.Owner
	}
	return children, nil
}
