package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// world is a small cloud: named things with tags, which refer to each other.
type world struct {
	mu     sync.Mutex
	things map[string]*thing
	log    []string // mutating calls that took effect
	reads  int
	// fail gives an error for a call before ("create x") or after its effect ("after create x").
	fail map[string]error
}

type thing struct {
	Name  string
	Color string // changes in place
	Shape string // fixed
	Peer  string // changes in place, late
	Data  int    // what users put in
	Tags  map[string]string
}

func newWorld() *world { return &world{things: map[string]*thing{}, fail: map[string]error{}} }

func (w *world) call(ctx context.Context, op, name string, mutates bool, do func() error) error {
	return reconcile.Through(ctx, reconcile.Call{Service: "world", Operation: op, Mutates: mutates}, func(context.Context) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if err := w.fail[op+" "+name]; err != nil {
			return err
		}
		if !mutates {
			w.reads++
			return do()
		}
		if err := do(); err != nil {
			return err
		}
		w.log = append(w.log, op+" "+name)
		return w.fail["after "+op+" "+name]
	})
}

func (w *world) names() []string { return slices.Sorted(maps.Keys(w.things)) }

func (w *world) takeLog() []string {
	l := w.log
	w.log = nil
	return l
}

var (
	errTransient = errors.New("transient")
	errDenied    = errors.New("denied")
	errTaken     = errors.New("taken")
)

// Place and Classify make the world its own way in.
func (w *world) Place(context.Context) (reconcile.Place, error) {
	return reconcile.Place{Provider: "world", Account: "1"}, nil
}

func (w *world) Classify(err error) reconcile.Class {
	switch {
	case errors.Is(err, errTransient):
		return reconcile.Transient
	case errors.Is(err, errDenied):
		return reconcile.Denied
	case errors.Is(err, errTaken):
		return reconcile.Exists
	}
	return reconcile.Unknown
}

type thingProps struct {
	Name  string
	Color string
	Shape string
	Peer  string
	After string // a reference and nothing else
}

type thingAttrs struct {
	Name  string
	ID    string
	Color string
}

func (w *world) kind() *reconcile.Kind[thingProps, thing, thingAttrs] {
	site := func(name string, last *thingAttrs, id string) string {
		switch {
		case last != nil:
			return last.Name
		case id != "":
			return strings.TrimPrefix(id, "thing:")
		default:
			return name
		}
	}
	attrs := func(t thing) thingAttrs { return thingAttrs{Name: t.Name, ID: "thing:" + t.Name, Color: t.Color} }
	return &reconcile.Kind[thingProps, thing, thingAttrs]{
		Type: "world.Thing",
		Observe: func(ctx context.Context, s reconcile.Site[thingProps, thingAttrs]) (live thing, err error) {
			name := site(s.Name, s.Last, s.ID)
			return live, w.call(ctx, "observe", name, false, func() error {
				t, ok := w.things[name]
				if !ok {
					return reconcile.ErrAbsent
				}
				live = *t
				live.Tags = maps.Clone(t.Tags)
				return nil
			})
		},
		Create: func(ctx context.Context, s reconcile.Site[thingProps, thingAttrs]) (thingAttrs, error) {
			t := thing{Name: s.Name, Color: s.Want.Color, Shape: s.Want.Shape, Peer: s.Want.Peer, Tags: adopt.Tags(s.Mark)}
			return attrs(t), w.call(ctx, "create", s.Name, true, func() error {
				if _, ok := w.things[s.Name]; ok {
					return errTaken
				}
				w.things[s.Name] = &t
				return nil
			})
		},
		Compare: func(d *reconcile.Diff[thing], want thingProps, live thing) {
			set := func(f func(*thing)) *reconcile.Operation[thing] {
				return &reconcile.Operation[thing]{Name: "set", Do: func(ctx context.Context, on reconcile.On[thing]) error {
					return w.call(ctx, "set", on.Live.Name, true, func() error { f(w.things[on.Live.Name]); return nil })
				}}
			}
			if name, given := d.Name(); given {
				reconcile.Fixed(d, "name", name, live.Name)
			}
			reconcile.Fixed(d, "shape", want.Shape, live.Shape)
			reconcile.Value(d, "color", want.Color, live.Color, set(func(t *thing) { t.Color = want.Color }))
			reconcile.Value(d, "peer", want.Peer, live.Peer, set(func(t *thing) { t.Peer = want.Peer }))
			reconcile.Map(d, "tags", adopt.Tags(d.Mark()), live.Tags, "tag",
				func(ctx context.Context, on reconcile.On[thing], put map[string]string, drop []string) error {
					return w.call(ctx, "tag", on.Live.Name, true, func() error {
						maps.Copy(w.things[on.Live.Name].Tags, put)
						for _, k := range drop {
							delete(w.things[on.Live.Name].Tags, k)
						}
						return nil
					})
				})
		},
		Attrs: attrs,
		Delete: func(ctx context.Context, s reconcile.Site[thingProps, thingAttrs]) error {
			return w.call(ctx, "delete", s.Last.Name, true, func() error {
				if _, ok := w.things[s.Last.Name]; !ok {
					return reconcile.ErrAbsent
				}
				delete(w.things, s.Last.Name)
				return nil
			})
		},
		Identity: func(a thingAttrs) string { return a.ID },
		Naming:   func(thingProps, reconcile.Place) reconcile.Naming { return reconcile.Naming{Max: 60} },
		Given:    func(p thingProps) string { return p.Name },
		Owner:    func(t thing) reconcile.Mark { return adopt.MarkOf(t.Tags) },
		Holds:    func(t thing) bool { return t.Data > 0 },
		Moves:    []string{"color"},
		Late:     []tree.Path{"peer"},
		List: func(ctx context.Context, s reconcile.Scope) (found []reconcile.Found, err error) {
			return found, w.call(ctx, "list", "", false, func() error {
				for name, t := range w.things {
					mark := adopt.MarkOf(t.Tags)
					found = append(found, reconcile.Found{Kind: "world.Thing", Identity: "thing:" + name, Name: name, Mark: &mark})
				}
				return nil
			})
		},
	}
}

func (w *world) provider() reconcile.Provider {
	k := w.kind()
	return reconcile.Provider{
		Name:  "world",
		Open:  func(context.Context, any) (reconcile.Cloud, error) { return w, nil },
		Kinds: []reconcile.Any{reconcile.Erase(k), reconcile.Erase(noteKind())},
		Discover: func(ctx context.Context, s reconcile.Scope) ([]reconcile.Found, error) {
			all, err := k.List(ctx, s)
			return slices.DeleteFunc(all, func(f reconcile.Found) bool {
				return f.Mark.Stack != s.Mark.Stack || f.Mark.Stage != s.Mark.Stage
			}), err
		},
	}
}

// noteKind is kept in the record alone.
func noteKind() *reconcile.Kind[noteProps, noteAttrs, noteAttrs] {
	return &reconcile.Kind[noteProps, noteAttrs, noteAttrs]{
		Type: "world.Note", Recorded: true,
		Observe: func(_ context.Context, s reconcile.Site[noteProps, noteAttrs]) (noteAttrs, error) {
			if s.Last == nil {
				return noteAttrs{}, reconcile.ErrAbsent
			}
			return *s.Last, nil
		},
		Create: func(_ context.Context, s reconcile.Site[noteProps, noteAttrs]) (noteAttrs, error) {
			return noteAttrs{Text: s.Want.Text}, nil
		},
		Compare: func(d *reconcile.Diff[noteAttrs], want noteProps, live noteAttrs) {
			reconcile.Value(d, "text", want.Text, live.Text, &reconcile.Operation[noteAttrs]{Name: "write", Do: func(_ context.Context, on reconcile.On[noteAttrs]) error {
				on.Remember(noteAttrs{Text: want.Text})
				return nil
			}})
		},
		Attrs:    func(l noteAttrs) noteAttrs { return l },
		Delete:   func(context.Context, reconcile.Site[noteProps, noteAttrs]) error { return nil },
		Identity: func(noteAttrs) string { return "" },
		Moves:    []string{"text"},
	}
}

type (
	noteProps struct{ Text string }
	noteAttrs struct{ Text string }
)

// bench is an engine on a world and a store.
type bench struct {
	t     *testing.T
	world *world
	store statestore.Store
	e     *engine.Engine
	opts  engine.PlanOptions
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, world: newWorld(), store: mem.New()}
	b.open()
	return b
}

func (b *bench) open() {
	b.t.Helper()
	catalog, err := reconcile.NewCatalog(b.world.provider())
	if err != nil {
		b.t.Fatal(err)
	}
	key, err := seal.LoadOrMake(b.t.TempDir(), "shop", "test")
	if b.e != nil {
		key = b.e.Key
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.e = &engine.Engine{Catalog: catalog, Store: b.store, Key: key}
}

// lose makes a new, empty store, as if the file had been deleted.
func (b *bench) lose() {
	b.store = mem.New()
	b.e.Store, b.e.Known = b.store, true
}

func graph(resources ...engine.Resource) *engine.Graph {
	return &engine.Graph{Format: engine.GraphFormat, Stack: "shop", Stage: "test", Resources: resources}
}

func res(addr string, props map[string]any, change ...func(*engine.Options)) engine.Resource {
	r := engine.Resource{Address: addr, Kind: "world.Thing", Props: props}
	for _, c := range change {
		c(&r.Options)
	}
	return r
}

type m = map[string]any

func (b *bench) plan(g *engine.Graph) *engine.Plan {
	b.t.Helper()
	p, err := b.e.Plan(b.t.Context(), g, b.opts)
	if err != nil {
		b.t.Fatalf("plan: %v", err)
	}
	return p
}

func (b *bench) deploy(g *engine.Graph) *engine.Result {
	b.t.Helper()
	p := b.plan(g)
	r, err := b.e.Apply(b.t.Context(), p, engine.ApplyOptions{PlanOptions: b.opts, Command: "deploy"})
	if err != nil {
		b.t.Fatalf("deploy: %v", err)
	}
	return r
}

func (b *bench) destroy() *engine.Result {
	b.t.Helper()
	p, err := b.e.PlanDestroy(b.t.Context(), statestore.Stage{Stack: "shop", Name: "test"}, nil, b.opts)
	if err != nil {
		b.t.Fatalf("plan destroy: %v", err)
	}
	r, err := b.e.Apply(b.t.Context(), p, engine.ApplyOptions{PlanOptions: b.opts, Command: "destroy"})
	if err != nil {
		b.t.Fatalf("destroy: %v", err)
	}
	return r
}

// actions prints a plan as address:action, in order.
func actions(p *engine.Plan) string {
	var s []string
	for _, a := range p.Actions {
		text := a.Address + ":" + string(a.Action)
		if a.May {
			text += "?"
		}
		s = append(s, text)
	}
	return strings.Join(s, " ")
}

func (b *bench) settled(g *engine.Graph) {
	b.t.Helper()
	b.world.takeLog()
	if p := b.plan(g); p.Pending() {
		b.t.Errorf("still pending: %s: %s", actions(p), reasons(p))
	}
	r := b.deploy(g)
	if log := b.world.takeLog(); len(log) > 0 || r.Calls.Mutations > 0 || r.Commits > 0 || r.Run != "" {
		b.t.Errorf("a second deploy wrote %v, %d commits", log, r.Commits)
	}
}

func reasons(p *engine.Plan) string {
	var s []string
	for _, a := range p.Actions {
		for _, r := range a.Reasons {
			s = append(s, fmt.Sprintf("%s.%s: %v → %v (%s)", a.Address, r.Path, r.Have, r.Want, r.Source))
		}
		if a.Problem != "" {
			s = append(s, a.Address+": "+a.Problem)
		}
	}
	return strings.Join(s, "; ")
}
