package observe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/engine/calls"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// UnknownKindError says that an entry in state is of a kind that this program does not know.
type UnknownKindError struct{ Err error }

func (e *UnknownKindError) Error() string { return e.Err.Error() }

func (e *UnknownKindError) Unwrap() error { return e.Err }

// PlaceError says that the credentials at hand lead to another account than the record's.
type PlaceError struct {
	Address        string
	Recorded, Have reconcile.Place
}

func (e *PlaceError) Error() string {
	return fmt.Sprintf("it was created in %s, but these credentials lead to %s", e.Recorded, e.Have)
}

// Reader reads the cloud for one stage: it opens the way to each location once, and lists each kind of a location once.
type Reader struct {
	catalog *reconcile.Catalog
	stage   statestore.Stage
	dir     string // relative paths in props start there
	digest  func(domain string, data []byte) string
	gate    *calls.Gate
	kept    *Ways // from one plan to the next; nil keeps none
	kinds   func(reconcile.Mark) []string

	mu       sync.Mutex
	accesses map[accessKey]*Way
	listings map[string]*listing
}

// New has read nothing yet. All its calls go through the gate.
func New(catalog *reconcile.Catalog, stage statestore.Stage, dir string, digest func(string, []byte) string, g *calls.Gate, kept *Ways) *Reader {
	return &Reader{
		catalog: catalog, stage: stage, dir: dir, digest: digest, gate: g, kept: kept,
		accesses: map[accessKey]*Way{}, listings: map[string]*listing{},
	}
}

// Expect says which kinds of families the objects of the stage may be of, see [reconcile.Scope.Kinds]. It is called before anything is
// discovered.
func (r *Reader) Expect(kinds func(reconcile.Mark) []string) { r.kinds = kinds }

// Reach returns the way to a kind's location with the given settings. The provider is asked for its location once.
func (r *Reader) Reach(ctx context.Context, kind string, settings map[string]any) *Way {
	provider, ok := r.catalog.ProviderOf(kind)
	if !ok {
		_, err := r.catalog.Find(kind)
		return &Way{Err: err}
	}
	id := accessKey{provider: provider.Name}
	if len(settings) > 0 {
		id.settings = string(tree.Canonical(settings))
	}
	r.mu.Lock()
	a, ok := r.accesses[id]
	mine := false
	if !ok {
		a, mine = r.kept.take(id, func() *Way { return &Way{id: id, Settings: settings, Provider: provider, once: newOnce()} })
	}
	r.accesses[id] = a
	r.mu.Unlock()
	a.once.do(mine, func() { a.open(reconcile.WithGate(ctx, r.gate)) })
	if a.Err != nil {
		r.kept.fail(id, a)
	}
	return r.Home(kind, a)
}

// Home returns the way to the same cloud by which objects of a kind are in the location that they count as being in. All that
// is known of an object goes by that location; only listings of a whole location go by the way that leads there.
func (r *Reader) Home(kind string, a *Way) *Way {
	k, ok := r.catalog.Kind(kind)
	if a.Err != nil || !ok || k.Spec().Home == nil {
		return a
	}
	id := a.id
	if id.home = k.Spec().Home(a.Place); id.home == a.Place {
		return a
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.accesses[id] == nil {
		r.accesses[id] = &Way{id: id, via: a, Settings: a.Settings, Provider: a.Provider, Cloud: a.Cloud, Place: id.home}
	}
	return r.accesses[id]
}

// KindOf finds the kind of an entry's object. Without it the object can only be removed from state.
func (r *Reader) KindOf(addr, kind string) (reconcile.Any, error) {
	k, err := r.catalog.Find(kind)
	if err == nil {
		return k, nil
	}
	return nil, reconcile.WithHint(&UnknownKindError{err},
		"run it with a program that knows this kind; `athanor state rm %s` removes it from state and leaves the object", addr)
}

// ReachOf is Reach by the settings that a generation of an entry was made with.
func (r *Reader) ReachOf(ctx context.Context, rec *state.Entry, g *state.Generation) *Way {
	settings := g.Settings
	if settings == nil && rec != nil {
		settings = rec.Settings
	}
	return r.Reach(ctx, g.Kind, settings)
}

// At returns the way to where a generation of an entry lives: by the settings that it was made with, so that it is only
// ever looked at with credentials of its own location.
func (r *Reader) At(ctx context.Context, addr string, rec *state.Entry, g *state.Generation) (*Way, error) {
	if _, err := r.KindOf(addr, g.Kind); err != nil {
		if p, ok := r.catalog.ProviderOf(g.Kind); ok && p.Declared != nil {
			if a := r.ReachOf(ctx, rec, g); a.Err != nil {
				return a, a.Err
			}
		}
		return &Way{Err: err}, err
	}
	a := r.ReachOf(ctx, rec, g)
	if a.Err != nil {
		return a, a.Err
	}
	if g.Location.Account != a.Place.Account || g.Location.Provider != a.Place.Provider || g.Location.Region != a.Place.Region {
		return a, reconcile.WithHint(&PlaceError{Address: addr, Recorded: g.Location, Have: a.Place},
			"use the credentials that it was deployed with, or `athanor state rm %s` if it was deleted for good", addr)
	}
	return a, nil
}

// Places returns the ways to the locations of a kind's provider: those in use, else the default one.
func (r *Reader) Places(ctx context.Context, kind string) []*Way {
	provider, _ := r.catalog.ProviderOf(kind)
	var reached, places []*Way
	r.mu.Lock()
	byName := func(a, b accessKey) int {
		return cmp.Or(cmp.Compare(a.provider, b.provider), cmp.Compare(a.settings, b.settings))
	}
	for _, id := range slices.SortedFunc(maps.Keys(r.accesses), byName) {
		if a := r.accesses[id]; a.Provider.Name == provider.Name && a.via == nil {
			reached = append(reached, a)
		}
	}
	r.mu.Unlock()
	for _, a := range reached {
		if a = r.Home(kind, a); !slices.ContainsFunc(places, func(b *Way) bool { return a.Err == nil && b.Place == a.Place }) {
			places = append(places, a)
		}
	}
	if len(places) == 0 {
		places = append(places, r.Reach(ctx, kind, nil))
	}
	return places
}

// See looks at one object: as long as the kind or the resource allows, and again where the error says so.
func See(ctx context.Context, kind reconcile.Any, job *reconcile.Job) (reconcile.Look, error) {
	if kind.Spec().InStateAlone {
		return kind.Look(ctx, job) // nothing is asked that could keep it waiting, or fail for a while
	}
	bound := cmp.Or(job.Timeouts.Create, kind.Spec().Timeouts.Create)
	return Patiently(ctx, job.Cloud, bound, func(ctx context.Context) (reconcile.Look, error) { return kind.Look(ctx, job) })
}

// Patiently reads within a bound, the default one when it is 0, and again as long as the error says so. A read that never
// answers fails what needs it, and nothing else.
func Patiently[T any](ctx context.Context, cloud reconcile.Cloud, bound time.Duration, read func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(bound, reconcile.DefaultTimeout))
	defer cancel()
	return reconcile.Retry(ctx, func(err error) reconcile.Class {
		if cloud == nil {
			return reconcile.Unknown
		}
		return cloud.Classify(err)
	}, read)
}
