package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// world is a small cloud: named objects with tags, which refer to each other.
type world struct {
	rules   []string // documents that were set, in order
	mu      sync.Mutex
	things  map[string]*thing
	log     []string // mutating calls that took effect
	reads   int
	made    map[string]int // creations by kind, address and generation
	gone    map[string]int // deletions
	next    int
	account string
	// unreachable is a region that no credentials lead to; moved is where the settings lead that name no region.
	unreachable, moved string
	// fail gives an error for a call before ("create x") or after its effect ("after create x").
	fail map[string]error
	// cut is asked before and after each mutating call; an error there ends the process, as far as it can tell.
	cut func(point string) error
	// hang makes a call wait for the end of its context.
	hang map[string]bool
	// opened counts the handles of places by region.
	opened map[string]int
	// looked is told of each read, with the place's region.
	looked func(region, name string)
	// stale is how long a new object stays invisible.
	stale time.Duration
	// steps is how many reads a slow object is busy.
	steps int
	// inFlight and most count calls at once.
	inFlight, most int
	during         func(op, name string)
	// gate is that of the service; nil: it has none.
	gate reconcile.Gate
	// said are logs, by the text of what wrote them.
	said map[string]said
}

type thing struct {
	Kind   string
	Region string
	Name   string
	Color  string // changes in place
	Shape  string // fixed
	Peer   string // changes in place, late
	Link   string // as a part of a prop that is late, and is nothing without it
	Rules  any    // a document, late; nil without one
	After  string
	Secret string
	Data   int // what users put in
	Tags   map[string]string
	Born   time.Time
	Busy   int
	Wait   string
}

func newWorld() *world {
	return &world{
		things: map[string]*thing{}, fail: map[string]error{}, made: map[string]int{}, gone: map[string]int{}, hang: map[string]bool{}, opened: map[string]int{},
		account: "1",
	}
}

func (w *world) call(ctx context.Context, op, name string, mutates bool, do func() error) error {
	if w.gate != nil {
		ctx = reconcile.WithGate(ctx, w.gate)
	}
	return reconcile.Through(ctx, reconcile.Call{Service: "world", Operation: op, Mutates: mutates}, func(ctx context.Context) error {
		w.mu.Lock()
		w.inFlight++
		w.most = max(w.most, w.inFlight)
		hang, during := w.hang[op+" "+name], w.during
		w.mu.Unlock()
		defer func() { w.mu.Lock(); w.inFlight--; w.mu.Unlock() }()
		if during != nil {
			during(op, name)
		}
		if hang {
			<-ctx.Done()
			return ctx.Err()
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if err := w.fail[op+" "+name]; err != nil {
			return err
		}
		if !mutates {
			w.reads++
			return do()
		}
		if w.cut != nil {
			if err := w.cut("before " + op + " " + name); err != nil {
				return err
			}
		}
		if err := do(); err != nil {
			return err
		}
		w.log = append(w.log, op+" "+name)
		if w.cut != nil {
			if err := w.cut("after " + op + " " + name); err != nil {
				return err
			}
		}
		return w.fail["after "+op+" "+name]
	})
}

// noted notes a document that is set.
func (w *world) noted(rules any) any {
	if rules != nil {
		w.rules = append(w.rules, string(tree.Canonical(rules)))
	}
	return rules
}

func (w *world) names() []string { return slices.Sorted(maps.Keys(w.things)) }

func (w *world) takeLog() []string {
	l := w.log
	w.log = nil
	return l
}

var (
	errTransient = errors.New("transient")
	errThrottled = errors.New("slow down")
	errDenied    = errors.New("denied")
	errTaken     = errors.New("taken")
	errCut       = errors.New("the process is gone")
)

// settings choose the place.
type settings struct{ Region string }

// region is the way into one place of the world.
type region struct {
	w    *world
	name string
	here bool // it is this machine
}

// Place and Classify make a region the world's way in.
func (r *region) Place(context.Context) (reconcile.Place, error) {
	if r.here {
		return reconcile.Place{Provider: "here"}, nil
	}
	if r.name != "" && r.name == r.w.unreachable {
		return reconcile.Place{}, errDenied
	}
	name := r.name
	if name == "" && r.w.moved != "" {
		name = r.w.moved
	}
	return reconcile.Place{Provider: "world", Account: r.w.account, Region: name}, nil
}

func (*region) Classify(err error) reconcile.Class {
	switch {
	case errors.Is(err, errTransient):
		return reconcile.Transient
	case errors.Is(err, errThrottled):
		return reconcile.Throttled
	case errors.Is(err, errDenied):
		return reconcile.Denied
	case errors.Is(err, errTaken):
		return reconcile.Exists
	}
	return reconcile.Unknown
}

// linkProps are of no use without a target.
type linkProps struct {
	To string `prop:"required"`
}

func (l *linkProps) to() string {
	if l == nil {
		return ""
	}
	return l.To
}

type thingProps struct {
	Name   string
	Color  string
	Shape  string
	Peer   string
	Link   *linkProps
	Rules  any
	After  string // a reference, compared
	Base   string // a reference that nothing can change in place
	Tokens reconcileSecret
	Forget bool // the service's own leave to delete data
}

// reconcileSecret is a prop that is secret by its type.
type reconcileSecret = token.Secret

type thingAttrs struct {
	Name  string
	ID    string
	Color string
}

// sort says what a kind can do.
type sort struct {
	name                           string
	unmarked, assigned, slow, bulk bool
	same, birth, waits, unlisted   bool
	dataless                       bool // users put nothing in
	blind                          bool // its tokens are never shown, and can be given once
	global                         bool // one for all regions
	exact                          bool // its color moves with the prop of that name alone
	child                          bool // found by what it comes after, which a service is asked by its real name
	visibility                     time.Duration
	timeouts                       reconcile.Timeouts
	prepare                        func(want thingProps) (string, error)
}

// key is where an object lies in the world.
func key(r, name string) string {
	if r == "" {
		return name
	}
	return r + "/" + name
}

// visible finds an object that reads show already.
func (w *world) visible(r, name string) (*thing, bool) {
	t, ok := w.things[key(r, name)]
	if !ok || w.stale > 0 && time.Since(t.Born) < w.stale {
		return nil, false
	}
	return t, true
}

func regionOf(c reconcile.Cloud) string {
	r, _ := c.(*region)
	return r.name
}

func (w *world) observe(o sort) func(context.Context, reconciletest.Site[thingProps, thingAttrs]) (thing, error) {
	return func(ctx context.Context, s reconciletest.Site[thingProps, thingAttrs]) (live thing, err error) {
		name, in := s.Name, regionOf(s.Cloud)
		switch {
		case s.ID != "":
			name = strings.TrimPrefix(s.ID, "thing:")
		case s.Last != nil:
			name = s.Last.Name
		}
		return live, w.call(ctx, "observe", name, false, func() error {
			if w.looked != nil {
				w.looked(in, name)
			}
			if name == "" && o.assigned && !o.child {
				for _, k := range w.names() {
					t := w.things[k]
					m := adopt.MarkOf(t.Tags)
					if _, seen := w.visible(t.Region, t.Name); seen && t.Kind == "world."+o.name && t.Region == in && m.Stack == s.Owner.Stack && m.Stage == s.Owner.Stage &&
						m.Address == s.Owner.Address && m.Generation == s.Owner.Generation && !m.Retained {
						name = t.Name
					}
				}
			}
			if name == "" && o.child {
				if token.Has(s.Want.After) {
					return fmt.Errorf("asked for the things after %q", s.Want.After)
				}
				for _, k := range w.names() {
					if t := w.things[k]; t.Kind == "world."+o.name && t.After == s.Want.After {
						name = t.Name
					}
				}
			}
			t, ok := w.visible(in, name)
			if !ok || t.Kind != "" && t.Kind != "world."+o.name {
				return reconcile.ErrAbsent
			}
			if t.Busy > 0 {
				t.Busy--
			}
			live = *t
			live.Tags = maps.Clone(t.Tags)
			return nil
		})
	}
}

func (w *world) create(o sort) func(context.Context, reconciletest.Site[thingProps, thingAttrs]) (thingAttrs, error) {
	return func(ctx context.Context, s reconciletest.Site[thingProps, thingAttrs]) (attrs thingAttrs, err error) {
		t := thing{
			Kind: "world." + o.name, Region: regionOf(s.Cloud), Name: s.Name, Color: s.Want.Color, Shape: s.Want.Shape + s.Want.Base,
			Peer: s.Want.Peer, Link: s.Want.Link.to(), Rules: s.Want.Rules, After: s.Want.After, Secret: string(s.Want.Tokens), Tags: adopt.Tags(s.Owner), Born: time.Now(),
		}
		if o.unmarked {
			t.Tags = map[string]string{}
		}
		if o.slow {
			t.Busy = w.steps
		}
		err = w.call(ctx, "create", s.Name, true, func() error {
			if o.assigned {
				w.next++
				t.Name = fmt.Sprintf("%s-%d", o.name, w.next)
			}
			attrs = attrsOf(t) // under the lock: once it is in the world, others change it
			if _, ok := w.things[key(t.Region, t.Name)]; ok {
				return errTaken
			}
			w.things[key(t.Region, t.Name)] = &t
			w.noted(t.Rules)
			w.made[fmt.Sprintf("%s %s %d", t.Kind, s.Owner.Address, s.Owner.Generation)]++
			return nil
		})
		return attrs, err
	}
}

func attrsOf(t thing) thingAttrs {
	return thingAttrs{Name: t.Name, ID: "thing:" + t.Name, Color: t.Color}
}

func (w *world) compare(o sort) func(*reconcile.Diff[thing], thingProps, thing) {
	return func(d *reconcile.Diff[thing], want thingProps, live thing) {
		set := func(f func(*thing)) *reconcile.Operation[thing] {
			return &reconcile.Operation[thing]{Name: "set", Do: func(ctx context.Context, on reconcile.Update[thing]) error {
				return w.call(ctx, "set", on.Live.Name, true, func() error { f(w.things[key(on.Live.Region, on.Live.Name)]); return nil })
			}}
		}
		if name, given := d.Name(); given {
			reconcile.Fixed(d, "name", name, live.Name)
		}
		if want.Base == "" {
			reconcile.Fixed(d, "shape", want.Shape, live.Shape)
		} else {
			reconcile.Fixed(d, "base", want.Base, strings.TrimPrefix(live.Shape, want.Shape))
		}
		reconcile.Value(d, "color", want.Color, live.Color, set(func(t *thing) { t.Color = want.Color }))
		reconcile.Value(d, "peer", want.Peer, live.Peer, set(func(t *thing) { t.Peer = want.Peer }))
		reconcile.Value(d, "link.to", want.Link.to(), live.Link, set(func(t *thing) { t.Link = want.Link.to() }))
		reconcile.Value(d, "rules", string(tree.Canonical(want.Rules)), string(tree.Canonical(live.Rules)), set(func(t *thing) { t.Rules = w.noted(want.Rules) }))
		reconcile.Value(d, "after", want.After, live.After, set(func(t *thing) { t.After = want.After }))
		if o.blind {
			reconcile.Written(d, "tokens", want.Tokens, nil)
		} else {
			reconcile.Value(d, "tokens", want.Tokens, reconcileSecret(live.Secret), set(func(t *thing) { t.Secret = string(want.Tokens) }))
		}
		if o.unmarked {
			return
		}
		reconcile.Map(d, "tags", adopt.Tags(d.Mark()), live.Tags, "tag",
			func(ctx context.Context, on reconcile.Update[thing], put map[string]string, drop []string) error {
				return w.call(ctx, "tag", on.Live.Name, true, func() error {
					tags := w.things[key(on.Live.Region, on.Live.Name)].Tags
					maps.Copy(tags, put)
					for _, k := range drop {
						delete(tags, k)
					}
					return nil
				})
			})
	}
}

func (w *world) delete(ctx context.Context, s reconciletest.Site[thingProps, thingAttrs]) error {
	return w.call(ctx, "delete", s.Last.Name, true, func() error {
		at := key(regionOf(s.Cloud), s.Last.Name)
		if _, ok := w.things[at]; !ok {
			return reconcile.ErrAbsent
		}
		mark := adopt.MarkOf(w.things[at].Tags)
		w.gone[fmt.Sprintf("%s %s %d", w.things[at].Kind, mark.Address, mark.Generation)]++
		delete(w.things, at)
		return nil
	})
}

func (w *world) kindOf(o sort) *reconciletest.Kind[thingProps, thing, thingAttrs] {
	k := &reconciletest.Kind[thingProps, thing, thingAttrs]{
		Type:       "world." + o.name,
		Observe:    w.observe(o),
		Create:     w.create(o),
		Compare:    w.compare(o),
		Attrs:      attrsOf,
		Delete:     w.delete,
		Identity:   func(a thingAttrs) string { return a.ID },
		Given:      func(p thingProps) string { return p.Name },
		Holds:      func(t thing) bool { return t.Data > 0 },
		MayDelete:  func(p thingProps) bool { return p.Forget },
		Moves:      []string{"color"},
		Late:       []tree.Path{"peer", "link", "rules"},
		Same:       o.same,
		ByParent:   o.child,
		Visibility: o.visibility,
		Timeouts:   o.timeouts,
	}
	if !o.assigned {
		k.Naming = func(thingProps, reconcile.Place) reconcile.Naming { return reconcile.Naming{Max: 60} }
	}
	if !o.unmarked {
		k.Owner = func(t thing) reconcile.Mark { return adopt.MarkOf(t.Tags) }
	}
	if o.slow {
		k.Busy = func(t thing) string {
			if t.Busy > 0 {
				return "starting"
			}
			return ""
		}
	}
	if o.waits {
		k.Waiting = func(t thing) string { return t.Wait }
	}
	if o.dataless {
		k.Holds = nil
	}
	if o.birth {
		k.AtBirth = []string{"id", "name"}
	}
	if !o.unlisted {
		k.List = w.list("world." + o.name)
	}
	if o.bulk {
		k.ObserveMany = w.observeMany(k.Observe)
	}
	k.Permissions = reconcile.Permissions{
		Observe: []string{"look"}, List: []string{"list"}, Create: []string{"create"}, Update: []string{"set"}, Delete: []string{"delete"},
		Resource: func(p reconcile.Place, name string) []string { return []string{p.Region + ":" + name} },
		Anywhere: []string{"list"}, Depends: []reconcile.Dependence{{Actions: []string{"pass"}, Props: []tree.Path{"peer"}}},
	}
	if o.exact {
		k.MovedBy = map[string][]tree.Path{"color": {"color"}}
	}
	if o.child {
		k.Permissions.Of = "after"
	}
	if o.global {
		w.everywhere(k)
	}
	if o.prepare != nil {
		k.Files = []tree.Path{"shape"}
		k.Prepare = func(_ context.Context, _ reconcile.Workspace, want thingProps) (map[string]reconcile.Asset, error) {
			digest, err := o.prepare(want)
			return map[string]reconcile.Asset{"code": {Digest: digest}}, err
		}
	}
	return k
}

// everywhere makes a kind one for all regions: its objects lie in no region, and count as being in the capital.
func (w *world) everywhere(k *reconciletest.Kind[thingProps, thing, thingAttrs]) {
	observe, create, remove := k.Observe, k.Create, k.Delete
	in := func(s reconciletest.Site[thingProps, thingAttrs]) reconciletest.Site[thingProps, thingAttrs] {
		s.Cloud = &region{w: w, name: ""}
		return s
	}
	k.Home = func(p reconcile.Place) reconcile.Place { p.Region = "capital"; return p }
	k.Observe = func(ctx context.Context, s reconciletest.Site[thingProps, thingAttrs]) (thing, error) {
		return observe(ctx, in(s))
	}
	k.Create = func(ctx context.Context, s reconciletest.Site[thingProps, thingAttrs]) (thingAttrs, error) {
		return create(ctx, in(s))
	}
	k.Delete = func(ctx context.Context, s reconciletest.Site[thingProps, thingAttrs]) error {
		return remove(ctx, in(s))
	}
}

func (w *world) observeMany(one func(context.Context, reconciletest.Site[thingProps, thingAttrs]) (thing, error)) func(context.Context, []reconciletest.Site[thingProps, thingAttrs]) ([]reconcile.Observed[thing], error) {
	return func(ctx context.Context, sites []reconciletest.Site[thingProps, thingAttrs]) ([]reconcile.Observed[thing], error) {
		var out []reconcile.Observed[thing]
		return out, w.call(ctx, "many", "", false, func() error {
			w.mu.Unlock()
			defer w.mu.Lock()
			for _, s := range sites {
				live, err := one(ctx, s)
				out = append(out, reconcile.Observed[thing]{Live: live, Err: err})
			}
			return nil
		})
	}
}

func (w *world) list(kind string) func(context.Context, reconcile.Scope) ([]reconcile.Found, error) {
	return func(ctx context.Context, s reconcile.Scope) (found []reconcile.Found, err error) {
		return found, w.call(ctx, "list", "", false, func() error {
			for _, t := range w.things {
				if _, seen := w.visible(t.Region, t.Name); !seen || t.Region != regionOf(s.Cloud) || t.Kind != kind && kind != "" {
					continue
				}
				mark := adopt.MarkOf(t.Tags)
				found = append(found, reconcile.Found{Kind: t.Kind, Identity: "thing:" + t.Name, Name: t.Name, Mark: &mark})
			}
			return nil
		})
	}
}

// sorts are the kinds of the world.
func (w *world) sorts() []sort {
	return []sort{
		{name: "Dataless", dataless: true},
		{name: "Thing"},
		{name: "Blind", blind: true},
		{name: "Bare", unmarked: true},
		{name: "Assigned", assigned: true},
		{name: "Child", assigned: true, unmarked: true, child: true},
		{name: "Slow", slow: true, birth: true},
		{name: "Bulk", bulk: true},
		{name: "Late", assigned: true, visibility: 10 * time.Second},
		{name: "Waits", waits: true},
		{name: "Same", unmarked: true, same: true},
		{name: "Global", global: true},
		{name: "Exact", exact: true},
		{name: "Hosted"},
		{name: "Hasty", timeouts: reconcile.Timeouts{Create: time.Minute}},
	}
}

func (w *world) provider() reconcile.Provider {
	p := reconcile.Provider{
		Name:     "world",
		Settings: &settings{},
		Open: func(_ context.Context, s any) (reconcile.Cloud, error) {
			name := ""
			if s, ok := s.(*settings); ok {
				name = s.Region
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.opened[name]++
			return &region{w: w, name: name}, nil
		},
		Kinds:       []reconcile.Any{reconciletest.Erase(noteKind()), reconciletest.Erase(runKind(w)), reconciletest.Erase(chatty(w, devKind(w))), reconciletest.Erase(appKind(w))},
		Permissions: reconcile.Permissions{Observe: []string{"whoami"}, List: []string{"discover"}},
		Discover: func(ctx context.Context, s reconcile.Scope) ([]reconcile.Found, error) {
			all, err := w.list("")(ctx, s)
			return slices.DeleteFunc(all, func(f reconcile.Found) bool {
				return f.Mark.Stack != s.Mark.Stack || f.Mark.Stage != s.Mark.Stage
			}), err
		},
	}
	for _, o := range w.sorts() {
		p.Kinds = append(p.Kinds, reconciletest.Erase(w.kindOf(o)))
	}
	return p
}

// noteKind is kept in the record alone.
func noteKind() *reconciletest.Kind[noteProps, noteAttrs, noteAttrs] {
	return &reconciletest.Kind[noteProps, noteAttrs, noteAttrs]{
		Type: "world.Note", Recorded: true,
		Observe: func(_ context.Context, s reconciletest.Site[noteProps, noteAttrs]) (noteAttrs, error) {
			if s.Last == nil {
				return noteAttrs{}, reconcile.ErrAbsent
			}
			return *s.Last, nil
		},
		Create: func(_ context.Context, s reconciletest.Site[noteProps, noteAttrs]) (noteAttrs, error) {
			return note(s.Want.Text), nil
		},
		Compare: func(d *reconcile.Diff[noteAttrs], want noteProps, live noteAttrs) {
			reconcile.Value(d, "text", want.Text, live.Text, &reconcile.Operation[noteAttrs]{Name: "write", Do: func(_ context.Context, on reconcile.Update[noteAttrs]) error {
				on.Store(note(want.Text))
				return nil
			}})
		},
		Attrs:    func(l noteAttrs) noteAttrs { return l },
		Delete:   func(context.Context, reconciletest.Site[noteProps, noteAttrs]) error { return nil },
		Identity: func(noteAttrs) string { return "" },
		Moves:    []string{"text", "short"},
	}
}

func note(text string) noteAttrs { return noteAttrs{Text: text, Short: text[:min(8, len(text))]} }

type (
	noteProps struct{ Text string }
	noteAttrs struct{ Text, Short string }
)

// runKind acts on the world when it is made, like a command, and undoes with the props that it was made with.
func runKind(w *world) *reconciletest.Kind[noteProps, runLive, noteAttrs] {
	act := func(ctx context.Context, op, text string) error {
		return w.call(ctx, op, text, true, func() error { return nil })
	}
	return &reconciletest.Kind[noteProps, runLive, noteAttrs]{
		Type: "world.Run", Recorded: true, Rerun: true, Tidies: true,
		Observe: func(_ context.Context, s reconciletest.Site[noteProps, noteAttrs]) (runLive, error) {
			if s.Last == nil {
				return runLive{}, reconcile.ErrAbsent
			}
			return runLive{*s.Last, s.Had}, nil
		},
		Create: func(ctx context.Context, s reconciletest.Site[noteProps, noteAttrs]) (noteAttrs, error) {
			return noteAttrs{Text: s.Want.Text}, act(ctx, "run", s.Want.Text)
		},
		Compare: func(d *reconcile.Diff[runLive], want noteProps, live runLive) {
			had := noteProps{}
			if live.had != nil {
				had = *live.had
			}
			reconcile.Fixed(d, "text", want.Text, had.Text)
		},
		Attrs: func(l runLive) noteAttrs { return l.attrs },
		Delete: func(ctx context.Context, s reconciletest.Site[noteProps, noteAttrs]) error {
			if s.Had == nil {
				return nil
			}
			return act(ctx, "undo", s.Had.Text)
		},
		Identity: func(noteAttrs) string { return "" },
	}
}

type runLive struct {
	attrs noteAttrs
	had   *noteProps
}
