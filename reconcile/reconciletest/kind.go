// Package reconciletest has a kind whose every answer a test states: a double for tests of what works with kinds.
//
// It has none of the rules of [github.com/athanor-dev/athanor/reconcile/kind], which authors write kinds with: a test may give
// a double any combination of answers, and nothing is called that the test does not expect (a deletion is not observed).
package reconciletest

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Kind is a double of a kind with props P, live objects L and attributes A. Fields that are functions are those of
// [reconcile.Definition], the others those of [reconcile.Spec] and [reconcile.Tags].
type Kind[P, L, A any] struct {
	Type, Doc string

	Observe  func(context.Context, Site[P, A]) (L, error)
	Create   func(context.Context, Site[P, A]) (A, error)
	Compare  func(d *reconcile.Diff[L], want P, live L)
	Attrs    func(L) A
	Delete   func(context.Context, Site[P, A]) error
	Identity func(A) string

	Home     func(reached reconcile.Place) reconcile.Place
	Naming   func(want P, place reconcile.Place) reconcile.Naming
	Given    func(want P) string
	Defaults func(want P) P
	Check    func(want P) error
	Prepare  func(ctx context.Context, work reconcile.Workspace, want P) (map[string]reconcile.Asset, error)
	Files    []tree.Path

	Moves, Once, AtBirth []string
	MovedBy              map[string][]tree.Path
	Late, MaskLive       []tree.Path

	Owner                                  func(L) reconcile.Mark
	Same, ByParent, Recorded, Rerun, InDev bool
	Tidies                                 bool
	Stands                                 string
	Holds                                  func(L) bool
	Held                                   func(ctx context.Context, s Site[P, A], most int) ([]reconcile.Found, error)
	MayDelete                              func(want P) bool
	Busy, Waiting                          func(L) string
	ObserveMany                            func(context.Context, []Site[P, A]) ([]reconcile.Observed[L], error)
	List                                   func(context.Context, reconcile.Scope) ([]reconcile.Found, error)
	Under                                  []string
	ListUnder                              func(ctx context.Context, scope reconcile.Scope, parent reconcile.Found) ([]reconcile.Found, error)
	Logs                                   func(ctx context.Context, site Site[P, A], query reconcile.LogQuery) iter.Seq2[reconcile.LogLine, error]
	Visibility                             time.Duration
	Timeouts                               reconcile.Timeouts
	Schema                                 *reconcile.Schema
	Source                                 fs.FS
	Calls                                  []string
	Permissions                            reconcile.Permissions
}

// Site is a [reconcile.Site] with its types.
type Site[P, A any] struct {
	reconcile.Facts
	Want      P
	ID        string
	Last      *A
	Had       *P
	MayDelete bool
	// Store is that of the creation, set for Create alone.
	Store func(context.Context, A) error
}

// TypeOf is the name of the kind.
func (k *Kind[P, L, A]) TypeOf(P, A) string { return k.Type }

// Erase hides the types of a double.
func Erase[P, L, A any](k *Kind[P, L, A]) reconcile.Any {
	d := &reconcile.Definition{
		Spec: k.spec, Validate: k.validate, Schema: k.Schema, Source: k.Source, List: k.List, ListUnder: k.ListUnder,
		Tags: func() (reconcile.Tags, error) {
			return reconcile.Tags{Moves: k.Moves, Once: k.Once, AtBirth: k.AtBirth, MovedBy: k.MovedBy, Late: k.Late, MaskLive: k.MaskLive}, nil
		},
		Observe: func(ctx context.Context, s *reconcile.Site) (any, error) { return k.Observe(ctx, site[P, A](s)) },
		Create: func(ctx context.Context, s *reconcile.Site, made *reconcile.Creation) (any, error) {
			at := site[P, A](s)
			at.Store = func(ctx context.Context, a A) error { return made.Store(ctx, a) }
			return k.Create(ctx, at)
		},
		Compare: func(d *reconcile.Differences, p, live any) {
			l, _ := live.(L)
			k.Compare(&reconcile.Diff[L]{Differences: d}, *p.(*P), l)
		},
		Attributes: func(live any) any { return k.Attrs(live.(L)) },
		Identity:   func(a any) string { return k.Identity(a.(A)) },
		Delete:     func(ctx context.Context, s *reconcile.Site) error { return k.Delete(ctx, site[P, A](s)) },
		Status: func(live any) (busy, waiting string) {
			if k.Busy != nil {
				busy = k.Busy(live.(L))
			}
			if k.Waiting != nil {
				waiting = k.Waiting(live.(L))
			}
			return busy, waiting
		},
	}
	k.capabilities(d)
	return reconcile.Run(d)
}

func (k *Kind[P, L, A]) capabilities(d *reconcile.Definition) {
	if k.Defaults != nil {
		d.Default = func(p any) { *p.(*P) = k.Defaults(*p.(*P)) }
	}
	if k.Check != nil {
		d.Check = func(p any) error { return k.Check(*p.(*P)) }
	}
	if k.Given != nil {
		d.Given = func(p any) string { return k.Given(*p.(*P)) }
	}
	if k.Naming != nil {
		d.Naming = func(p any, place reconcile.Place) reconcile.Naming { return k.Naming(*p.(*P), place) }
	}
	if k.MayDelete != nil {
		d.MayDelete = func(p any) bool { return k.MayDelete(*p.(*P)) }
	}
	if k.Prepare != nil {
		d.Prepare = func(ctx context.Context, work reconcile.Workspace, p any) (map[string]reconcile.Asset, error) {
			return k.Prepare(ctx, work, *p.(*P))
		}
	}
	if k.Owner != nil {
		d.Owner = func(live any) reconcile.Mark { return k.Owner(live.(L)) }
	}
	if k.Holds != nil {
		d.Holds = func(live any) bool { return k.Holds(live.(L)) }
	}
	if k.Held != nil {
		d.Contents = func(ctx context.Context, s *reconcile.Site, most int) ([]reconcile.Found, error) {
			return k.Held(ctx, site[P, A](s), most)
		}
	}
	if k.Logs != nil {
		d.Logs = func(ctx context.Context, s *reconcile.Site, q reconcile.LogQuery) iter.Seq2[reconcile.LogLine, error] {
			return k.Logs(ctx, site[P, A](s), q)
		}
	}
	if k.ObserveMany != nil {
		d.ObserveMany = func(ctx context.Context, sites []*reconcile.Site) ([]reconcile.Observed[any], error) {
			var all []Site[P, A]
			for _, s := range sites {
				all = append(all, site[P, A](s))
			}
			answers, err := k.ObserveMany(ctx, all)
			var out []reconcile.Observed[any]
			for _, a := range answers {
				out = append(out, reconcile.Observed[any]{Live: a.Live, Err: a.Err})
			}
			return out, err
		}
	}
}

func (k *Kind[P, L, A]) spec() reconcile.Spec {
	return reconcile.Spec{
		Type: k.Type, Doc: k.Doc, Recorded: k.Recorded, Rerun: k.Rerun, InDev: k.InDev, Stands: k.Stands, Same: k.Same, ByParent: k.ByParent, Tidies: k.Tidies,
		Files: k.Files, Under: k.Under, Visibility: k.Visibility, Timeouts: k.Timeouts, Home: k.Home, Calls: k.Calls, Permissions: k.Permissions,
		NewProps: func() any { return new(P) }, NewAttrs: func() any { return new(A) },
	}
}

// validate finds a function that is missing.
func (k *Kind[P, L, A]) validate() error {
	for _, f := range []struct {
		name    string
		missing bool
	}{
		{"Observe", k.Observe == nil},
		{"Create", k.Create == nil},
		{"Compare", k.Compare == nil},
		{"Attrs", k.Attrs == nil},
		{"Delete", k.Delete == nil},
		{"Identity", k.Identity == nil},
	} {
		if f.missing {
			return fmt.Errorf("%s is missing", f.name)
		}
	}
	return nil
}

func site[P, A any](s *reconcile.Site) Site[P, A] {
	at := Site[P, A]{Facts: s.Facts, Want: *s.Want.(*P), ID: s.ID, MayDelete: s.MayDelete}
	at.Last, _ = s.Last.(*A)
	at.Had, _ = s.Had.(*P)
	return at
}
