package simtest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/reconciletest"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Props are what a program says of an object.
type Props struct {
	Name   string            // given
	Color  string            // changes in place
	Size   string            // fixed
	Peer   string            // changes in place, may come late
	After  string            // a reference that changes in place
	Base   string            // a reference that is fixed, and that the cloud enforces on deletion
	Parent string            // what a child belongs to: fixed
	Secret token.Secret      // changes in place
	Code   string            // the source of what kinds made from files are built of
	Labels map[string]string // change in place, all at once
}

// Attrs are what others may refer to.
type Attrs struct {
	ID, Name, Color string
	Revision        int
	Key             token.Secret
}

// Trait is one kind of object: what is difficult about it.
type Trait struct {
	Type string
	// Assigned: the cloud chooses the identity. Untagged: it carries no tags. Child: it has neither name nor tags and is
	// found in the list of its parent.
	Assigned, Untagged, Child bool
	// Token: a creation that comes again with its client token within TokenLife gives the same object.
	Token bool
	// Slow is how long it is busy after each change. Birth: its identity can be used before it is ready.
	Slow  time.Duration
	Birth bool
	// Stale is for how long reads may not show a write.
	Stale time.Duration
	// Reuse is how long a name stays taken after its object is deleted.
	Reuse time.Duration
	// Most is how many there can be.
	Most int
	// Revises: an attribute changes with each update.
	Revises bool
	// Keyed: an attribute is told only in the answer to the call that made it.
	Keyed bool
	// Pages: a listing comes in pages of two.
	Pages bool
	// Same: equal content proves whose it is.
	Same bool
	// Waits: somebody must act before it works.
	Waits bool
	// Coupled: its size changes in place, and setting it resets the color.
	Coupled bool
	// Built: it is made from files, which a build reads.
	Built bool
	// Box: what belongs to it is data that it holds, and refuses to lose.
	Box bool
	// Attached: it belongs to a parent, and is deleted with it.
	Attached bool
	// Under is the kind by which it is listed, since the listing of all tags does not show it.
	Under string
}

// TokenLife is how long the cloud remembers a client token.
const TokenLife = 5 * time.Minute

// Traits are the kinds that the scenarios use.
func Traits() []Trait {
	return []Trait{
		{Type: "sim.Named"},
		{Type: "sim.Plain", Untagged: true},
		{Type: "sim.Assigned", Assigned: true},
		{Type: "sim.Token", Assigned: true, Token: true, Stale: 4 * time.Second},
		{Type: "sim.Child", Assigned: true, Untagged: true, Child: true},
		{Type: "sim.Slow", Slow: 3 * time.Second, Birth: true},
		{Type: "sim.Stale", Stale: 10 * time.Second},
		{Type: "sim.StaleAssigned", Assigned: true, Stale: 10 * time.Second},
		{Type: "sim.Reuse", Reuse: time.Minute},
		{Type: "sim.Quota", Most: 1},
		{Type: "sim.Revises", Revises: true},
		{Type: "sim.Keyed", Assigned: true, Keyed: true},
		{Type: "sim.Paged", Assigned: true, Pages: true},
		{Type: "sim.Same", Untagged: true, Same: true},
		{Type: "sim.Waits", Waits: true},
		{Type: "sim.Coupled", Coupled: true},
		{Type: "sim.Built", Built: true},
		{Type: "sim.Box", Box: true},
		{Type: "sim.Attached", Attached: true},
		{Type: "sim.Under", Assigned: true, Under: "sim.Box"},
	}
}

type (
	site = reconciletest.Site[Props, Attrs]
	kind = reconciletest.Kind[Props, Object, Attrs]
)

// region is the way into one region of the cloud.
type region struct {
	c    *Cloud
	name string
}

// Place is where these credentials lead.
func (r *region) Place(context.Context) (reconcile.Place, error) {
	return reconcile.Place{Provider: "sim", Account: r.c.Account, Region: r.name}, nil
}

// Classify tells the classes of errors.
func (*region) Classify(err error) reconcile.Class { return classOf(err) }

// Settings choose a region.
type Settings struct{ Region string }

// Provider is the cloud as the engine sees it.
func (c *Cloud) Provider() reconcile.Provider {
	p := reconcile.Provider{
		Name: "sim", Settings: &Settings{},
		Open: func(_ context.Context, s any) (reconcile.Cloud, error) {
			if s, ok := s.(*Settings); ok {
				return &region{c, s.Region}, nil
			}
			return &region{c, ""}, nil
		},
		Kinds:    []reconcile.Any{reconciletest.Erase(noteKind()), reconciletest.Erase(c.commandKind())},
		Discover: c.discover,
	}
	for _, name := range slices.Sorted(maps.Keys(c.traits)) {
		p.Kinds = append(p.Kinds, reconciletest.Erase(c.kind(c.traits[name])))
	}
	return p
}

// kind is a trait as a kind.
func (c *Cloud) kind(t Trait) *kind {
	k := &kind{
		Type:       t.Type,
		Observe:    func(ctx context.Context, s site) (Object, error) { return c.observe(ctx, t, s) },
		Create:     func(ctx context.Context, s site) (Attrs, error) { return c.create(ctx, t, s) },
		Compare:    func(d *reconcile.Diff[Object], want Props, live Object) { c.compare(d, t, want, live) },
		Attrs:      attrsOf,
		Delete:     c.delete,
		Identity:   func(a Attrs) string { return a.ID },
		Holds:      func(o Object) bool { return o.Data > 0 },
		Moves:      []string{"color"},
		MovedBy:    map[string][]tree.Path{"color": {"color", "size"}},
		Late:       []tree.Path{"peer"},
		Visibility: t.Stale,
		Same:       t.Same,
		ByParent:   t.Child,
	}
	if t.Revises {
		k.Moves = append(k.Moves, "revision")
	}
	if !t.Assigned {
		k.Given = func(p Props) string { return p.Name }
		k.Naming = func(Props, reconcile.Place) reconcile.Naming { return reconcile.Naming{Max: 60} }
	}
	if !t.Untagged {
		k.Owner = func(o Object) reconcile.Mark { return adopt.MarkOf(o.Tags) }
	}
	if !t.Child {
		k.List = func(ctx context.Context, s reconcile.Scope) ([]reconcile.Found, error) { return c.list(ctx, t, s) }
	}
	if t.Slow > 0 {
		k.Busy = func(o Object) string {
			if time.Now().Before(o.ready) {
				return "changing"
			}
			return ""
		}
	}
	if t.Birth {
		k.AtBirth = []string{"id", "name"}
	}
	if t.Keyed {
		k.Once = []string{"key"}
	}
	if t.Built {
		k.Prepare, k.Files = c.build, []tree.Path{"code"}
	}
	if t.Box {
		k.Holds = func(o Object) bool { return o.Data > 0 || len(o.inside) > 0 }
		k.Held = c.held
	}
	if t.Under != "" {
		k.Under, k.List = []string{t.Under}, nil
		k.ListUnder = func(ctx context.Context, s reconcile.Scope, parent reconcile.Found) ([]reconcile.Found, error) {
			return c.listUnder(ctx, t, s, parent)
		}
	}
	if t.Waits {
		k.Waiting = func(o Object) string { return o.Waiting }
	}
	return k
}

func attrsOf(o Object) Attrs {
	return Attrs{ID: o.ID, Name: o.Name, Color: o.Fields["color"], Revision: o.Revision, Key: token.Secret(o.Key)}
}

func regionOf(c reconcile.Cloud) string {
	r, _ := c.(*region)
	return r.name
}

// compare states every managed aspect.
func (c *Cloud) compare(d *reconcile.Diff[Object], t Trait, want Props, live Object) {
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", name, live.Name)
	}
	if t.Coupled {
		reconcile.Value(d, "size", want.Size, live.Fields["size"], c.resize(live.Fields["size"], want.Size))
	} else {
		reconcile.Fixed(d, "size", want.Size, live.Fields["size"])
	}
	reconcile.Fixed(d, "base", want.Base, live.Fields["base"])
	reconcile.Fixed(d, "parent", want.Parent, live.Fields["parent"])
	if t.Built {
		c.compareCode(d, want, live)
	}
	reconcile.Value(d, "color", want.Color, live.Fields["color"], c.set("color", live.Fields["color"], want.Color))
	reconcile.Value(d, "peer", want.Peer, live.Fields["peer"], c.set("peer", live.Fields["peer"], want.Peer))
	reconcile.Value(d, "after", want.After, live.Fields["after"], c.set("after", live.Fields["after"], want.After))
	reconcile.Value(d, "secret", want.Secret, token.Secret(live.Fields["secret"]), c.set("secret", live.Fields["secret"], string(want.Secret)))
	reconcile.Map(d, "labels", want.Labels, live.Labels, "label",
		func(ctx context.Context, on reconcile.Update[Object], put map[string]string, drop []string) error {
			return c.change(ctx, on, "label", Effect{Path: "labels"}, func(o *Object) { o.Labels = edited(o.Labels, put, drop) })
		})
	if t.Untagged {
		return
	}
	reconcile.Map(d, "tags", adopt.Tags(d.Mark()), live.Tags, "tag",
		func(ctx context.Context, on reconcile.Update[Object], put map[string]string, drop []string) error {
			return c.change(ctx, on, "tag", Effect{Path: "tags"}, func(o *Object) {
				o.Tags = edited(o.Tags, put, drop)
				o.Owner = adopt.MarkOf(o.Tags)
			})
		})
}

func edited(m, put map[string]string, drop []string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	maps.Copy(m, put)
	for _, k := range drop {
		delete(m, k)
	}
	return m
}

func (c *Cloud) set(field, have, value string) *reconcile.Operation[Object] {
	return &reconcile.Operation[Object]{Name: "set " + field, Do: func(ctx context.Context, on reconcile.Update[Object]) error {
		return c.change(ctx, on, "set "+field, Effect{Path: field, Have: have, Want: value}, func(o *Object) { o.Fields[field] = value })
	}}
}

// resize sets the size of an object whose color the service resets with it.
func (c *Cloud) resize(have, size string) *reconcile.Operation[Object] {
	return &reconcile.Operation[Object]{Name: "set size", Affects: []tree.Path{"color"}, Do: func(ctx context.Context, on reconcile.Update[Object]) error {
		return c.change(ctx, on, "set size", Effect{Path: "size", Have: have, Want: size}, func(o *Object) { o.Fields["size"], o.Fields["color"] = size, "" })
	}}
}
