package simtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
)

// observe finds an object by identity, by name, by its parent or by its owner tag.
func (c *Cloud) observe(ctx context.Context, t Trait, s site) (live Object, err error) {
	if !t.Assigned && s.ID == "" && s.Last == nil && s.Name == "" {
		return live, errNoName
	}
	err = c.read(ctx, s.Address, func() error {
		o := c.sought(t, s)
		if o == nil || o.Kind != t.Type {
			return reconcile.ErrAbsent
		}
		live = o.copy()
		if t.Box {
			live.inside = c.inside(o)
		}
		if t.Keyed {
			live.Key = ""
		}
		return nil
	})
	return live, err
}

// sought is what a read shows of the object that a site describes, nil when nothing.
func (c *Cloud) sought(t Trait, s site) *Object {
	in, id := regionOf(s.Cloud), s.ID
	switch {
	case id != "":
	case s.Last != nil:
		id = s.Last.ID
	case s.Name != "":
		id = identity(s.Name)
	default:
		return c.search(t, in, s)
	}
	if o, ok := c.objects[at(in, id)]; ok {
		return c.shown(o)
	}
	return nil
}

// search goes through what a listing would show. Two that look alike are not told apart: the later one is taken, as
// clouds list in no order.
func (c *Cloud) search(t Trait, in string, s site) *Object {
	var last *Object
	for _, k := range slices.Sorted(maps.Keys(c.objects)) {
		if c.objects[k].Kind != t.Type || c.objects[k].Region != in {
			continue
		}
		o := c.shown(c.objects[k])
		if o == nil {
			continue
		}
		listed := t.Child || t.Under != "" // by its parent, and by nothing else
		if m := adopt.MarkOf(o.Tags); !listed && !m.IsZero() && m.Address == s.Owner.Address && m.Generation == s.Owner.Generation {
			last = o
		}
		if listed && o.Fields["parent"] == s.Want.Parent && o.Fields["size"] == s.Want.Size {
			last = o
		}
	}
	return last
}

func identity(name string) string { return "sim:" + name }

// create makes an object, tags and all in one call.
func (c *Cloud) create(ctx context.Context, t Trait, s site) (Attrs, error) {
	var made Object
	err := c.write(ctx, fmt.Sprintf("create %s/%d", s.Address, s.Owner.Generation), func() (Effect, error) {
		if known, ok := c.tokens[s.Nonce]; t.Token && ok && time.Now().Before(known.until) {
			if o, there := c.find(regionOf(s.Cloud), known.id); there {
				made = o.copy()
				return Effect{}, nil
			}
		}
		o, err := c.born(t, s)
		if err != nil {
			return Effect{}, err
		}
		if made = o.copy(); made.Owner != s.Owner {
			return Effect{}, nil // it was there: the cloud answers with what is
		}
		return Effect{Op: "create", Kind: t.Type, ID: o.ID, Owner: s.Owner}, nil
	})
	return attrsOf(made), err
}

// born enters a new object, if the cloud takes it.
func (c *Cloud) born(t Trait, s site) (*Object, error) {
	o := &Object{
		Kind: t.Type, Region: regionOf(s.Cloud), Name: s.Name, Labels: maps.Clone(s.Want.Labels), Tags: adopt.Tags(s.Owner), Owner: s.Owner, Created: true,
		Fields: map[string]string{
			"color": s.Want.Color, "size": s.Want.Size, "peer": s.Want.Peer, "after": s.Want.After, "base": s.Want.Base,
			"parent": s.Want.Parent, "secret": string(s.Want.Secret),
		},
		ID: identity(s.Name),
	}
	if t.Untagged {
		o.Tags = nil
	}
	if t.Built {
		if s.Assets[codeAsset].Digest == "" {
			return nil, errNoCode
		}
		o.Fields["code"] = s.Assets[codeAsset].Digest
	}
	if t.Child {
		for _, other := range c.objects {
			if other.Kind == t.Type && other.Region == o.Region && !other.gone && other.Fields["parent"] == o.Fields["parent"] && other.Fields["size"] == o.Fields["size"] {
				return other, nil
			}
		}
	}
	if t.Assigned {
		c.serial++
		o.ID = fmt.Sprintf("id-%03d", c.serial)
		o.Name = o.ID
	}
	if _, taken := c.find(o.Region, o.ID); taken {
		return nil, errTaken
	}
	if time.Now().Before(c.reserved[at(o.Region, o.ID)]) {
		return nil, errReserved
	}
	if t.Most > 0 && c.count(t.Type) >= t.Most {
		return nil, errQuota
	}
	if t.Token {
		c.tokens[s.Nonce] = remembered{o.ID, time.Now().Add(TokenLife)}
	}
	if t.Keyed {
		o.Key = "key of " + o.ID
	}
	if t.Waits {
		o.Waiting = "somebody confirms it"
	}
	o.ready = time.Now().Add(t.Slow)
	c.touch(o, false)
	c.objects[at(o.Region, o.ID)] = o
	return o, nil
}

func (c *Cloud) count(kind string) int {
	n := 0
	for _, o := range c.objects {
		if o.Kind == kind && !o.gone {
			n++
		}
	}
	return n
}

// change is a call that changes one object in place: what is at a path, from have to want.
func (c *Cloud) change(ctx context.Context, on reconcile.Update[Object], op string, e Effect, do func(*Object)) error {
	live := on.Live
	return c.write(ctx, fmt.Sprintf("%s %s/%d", op, on.Address, on.Owner.Generation), func() (Effect, error) {
		o, ok := c.find(live.Region, live.ID)
		if !ok {
			return Effect{}, reconcile.ErrAbsent
		}
		if time.Now().Before(o.ready) {
			return Effect{}, errBusy
		}
		e.Foreign = !o.Created && o.Owner.Address == ""
		c.touch(o, true)
		do(o)
		t := c.traits[o.Kind]
		if t.Revises {
			o.Revision++
		}
		o.ready = time.Now().Add(t.Slow)
		e.Op, e.Kind, e.ID, e.Owner = op, o.Kind, o.ID, o.Owner
		return e, nil
	})
}

// delete deletes an object, unless something refers to it. One that could not be read is named by its identity in state.
func (c *Cloud) delete(ctx context.Context, s site) error {
	id := s.ID
	if s.Last != nil {
		id = s.Last.ID
	}
	return c.write(ctx, "delete "+s.Address+" "+id, func() (Effect, error) {
		o, ok := c.find(regionOf(s.Cloud), id)
		switch {
		case !ok:
			return Effect{}, reconcile.ErrAbsent
		case o.Refuse:
			return Effect{}, errRefused
		case (o.Data > 0 || c.traits[o.Kind].Box && len(c.inside(o)) > 0) && !s.MayDelete:
			return Effect{}, reconcile.ErrHoldsData
		case c.used(o):
			return Effect{}, errInUse
		case time.Now().Before(o.ready):
			return Effect{}, errBusy
		}
		t := c.traits[o.Kind]
		if t.Reuse > 0 {
			c.reserved[at(o.Region, o.ID)] = time.Now().Add(t.Reuse)
		}
		c.touch(o, true)
		o.gone = true
		for _, part := range c.objects {
			if _, elsewhere := c.find(part.Region, o.ID); c.traits[part.Kind].Attached && part.Fields["parent"] == o.ID && !part.gone && !elsewhere {
				c.touch(part, true)
				part.gone = true
			}
		}
		foreign := !o.Created && o.Owner.Address == ""
		return Effect{Op: "delete", Kind: o.Kind, ID: o.ID, Owner: o.Owner, Foreign: foreign, Data: o.Data}, nil
	})
}

// list lists one kind in a region, in pages where the kind has them: each page is a call of its own.
func (c *Cloud) list(ctx context.Context, t Trait, s reconcile.Scope) ([]reconcile.Found, error) {
	size := 1000
	if t.Pages {
		size = 2
	}
	var all []reconcile.Found
	for page := 0; ; page++ {
		more := false
		err := c.read(ctx, fmt.Sprintf("list %s page %d", t.Type, page), func() error {
			found := c.found(func(o *Object) bool { return o.Kind == t.Type }, regionOf(s.Cloud))
			end := min(len(found), (page+1)*size)
			if page*size < end {
				all = append(all, found[page*size:end]...)
			}
			more = end < len(found)
			return nil
		})
		if err != nil || !more {
			return all, err
		}
	}
}

// found is what a listing shows, in order.
func (c *Cloud) found(which func(*Object) bool, in string) []reconcile.Found {
	var all []reconcile.Found
	for _, k := range slices.Sorted(maps.Keys(c.objects)) {
		if !which(c.objects[k]) || c.objects[k].Region != in {
			continue
		}
		o := c.shown(c.objects[k])
		if o == nil {
			continue
		}
		f := reconcile.Found{Kind: o.Kind, Identity: o.ID, Name: o.Name}
		if !c.traits[o.Kind].Untagged {
			m := adopt.MarkOf(o.Tags)
			f.Mark = &m
		}
		all = append(all, f)
	}
	return all
}

// discover is the tag-wide listing of everything of a stage.
func (c *Cloud) discover(ctx context.Context, s reconcile.Scope) (all []reconcile.Found, err error) {
	err = c.read(ctx, "discover "+regionOf(s.Cloud), func() error {
		all = c.found(func(o *Object) bool {
			m := adopt.MarkOf(o.Tags)
			return m.Stack == s.Mark.Stack && m.Stage == s.Mark.Stage
		}, regionOf(s.Cloud))
		return nil
	})
	return slices.DeleteFunc(all, func(f reconcile.Found) bool {
		return strings.HasSuffix(f.Kind, "Plain") || c.traits[f.Kind].Under != ""
	}), err
}

// inside are the objects that belong to one.
func (c *Cloud) inside(o *Object) []*Object {
	var inside []*Object
	for _, k := range slices.Sorted(maps.Keys(c.objects)) {
		if other := c.objects[k]; !other.gone && other.Fields["parent"] == o.ID && other.Region == o.Region {
			inside = append(inside, other)
		}
	}
	return inside
}

// held lists what an object holds: what belongs to it, and its data.
func (c *Cloud) held(ctx context.Context, s site, most int) (all []reconcile.Found, err error) {
	err = c.read(ctx, "held by "+s.Address, func() error {
		o, ok := c.find(regionOf(s.Cloud), s.Last.ID)
		if !ok {
			return nil
		}
		for _, other := range c.inside(o) {
			all = append(all, reconcile.Found{Kind: other.Kind, Identity: other.ID})
		}
		for range o.Data {
			all = append(all, reconcile.Found{})
		}
		all = all[:min(len(all), most)]
		return nil
	})
	return all, err
}

// listUnder lists what belongs to a parent. It shows no tags.
func (c *Cloud) listUnder(ctx context.Context, t Trait, s reconcile.Scope, parent reconcile.Found) (all []reconcile.Found, err error) {
	err = c.read(ctx, fmt.Sprintf("list %s under %s", t.Type, parent.Identity), func() error {
		all = c.found(func(o *Object) bool { return o.Kind == t.Type && o.Fields["parent"] == parent.Identity }, regionOf(s.Cloud))
		for i := range all {
			all[i].Mark = nil
		}
		return nil
	})
	return all, err
}
