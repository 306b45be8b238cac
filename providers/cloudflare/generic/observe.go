package generic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	"github.com/athanor-dev/athanor/reconcile"
	contract "github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// identity joins the parts of an object's path that are not the account's.
func (k *kind) identity(attrs object) string {
	var parts []string
	for _, name := range k.PathAttrs() {
		part := textAt(attrs, name)
		switch {
		case part != "":
			parts = append(parts, url.PathEscape(part))
		case name == schema.ZoneID && k.ZoneOptional():
		default:
			return ""
		}
	}
	if len(parts) == 0 { // a setting of the account
		return k.noun()
	}
	return strings.Join(parts, "/")
}

// noun is the path of a type below the account or the zone.
func (k *kind) noun() string {
	_, noun, _ := strings.Cut(k.Path, "}/")
	return noun
}

// parts are those of an identity, by the names of attributes. One that is short of some is read from its end: the parents
// are then those that are declared.
func (k *kind) parts(identity string) object {
	out := object{}
	names := k.PathAttrs()
	given := strings.Split(identity, "/")
	if k.Shape == schema.Setting && (len(names) == 0 || k.ZoneOptional() && identity == k.noun()) {
		return out
	}
	for len(given) > 0 && len(names) > 0 {
		part, err := url.PathUnescape(given[len(given)-1])
		if err != nil {
			part = given[len(given)-1]
		}
		out[names[len(names)-1]] = part
		given, names = given[:len(given)-1], names[:len(names)-1]
	}
	return out
}

// errLater says that the path of an object is known only after something else is.
var errLater = fmt.Errorf("%w: what it belongs to is known only later", reconcile.ErrAbsent)

// where is the address of an object, with its id where that is known, and its zone.
func (k *kind) where(ctx context.Context, s site) (at address, zone cloudflare.Zone, err error) {
	at = address{s.Location.Account, object{}}
	for _, parent := range k.Parents() {
		v := textAt(s.Want, parent)
		if parent == schema.Zone {
			parent = schema.ZoneID
		}
		if v != "" {
			at.parts[parent] = v
		}
	}
	switch {
	case s.Last != nil:
		for _, name := range k.PathAttrs() {
			at.parts[name] = textAt(*s.Last, name)
		}
	case s.ID != "":
		maps.Copy(at.parts, k.parts(s.ID))
	case k.ID != "" && k.ID == k.NameShown:
		at.parts[k.ID] = s.Name
	case k.Shape == schema.Named:
		at.parts[k.ID] = textAt(s.Want, k.ID)
	}
	for _, v := range at.parts {
		if text, _ := v.(string); token.Has(text) {
			return at, zone, errLater
		}
	}
	if id := textAt(at.parts, schema.ZoneID); id != "" {
		if zone, err = cloudflare.ZoneOf(ctx, s.Cloud, id); err != nil {
			return at, zone, err
		}
		at.parts[schema.ZoneID] = zone.ID
	}
	return at, zone, k.complete(at)
}

// complete reports what is missing of the parents' ids.
func (k *kind) complete(at address) error {
	for _, name := range k.PathAttrs() {
		if name == k.ID || name == schema.ZoneID && k.ZoneOptional() || textAt(at.parts, name) != "" {
			continue
		}
		return reconcile.WithHint(fmt.Errorf("%s: the %s is not known", k.Name, name), "write %s", strings.Join(k.PathAttrs(), "/"))
	}
	return nil
}

// observe reads an object. Of one that is taken over by its identity, what only its creation has shown is what is declared.
func (k *kind) observe(ctx context.Context, s site) (live, error) {
	l, err := k.look(ctx, s)
	for _, name := range k.Known {
		if v := textAt(s.Want, name); err == nil && v != "" && !token.Has(v) && s.ID != "" && s.Last == nil {
			l.props[name] = v
		}
	}
	return l, err
}

// look reads the object of state, of a given identity, or of a chosen name, and searches for it without these.
func (k *kind) look(ctx context.Context, s site) (live, error) {
	at, zone, err := k.where(ctx, s)
	if err != nil {
		return live{}, err
	}
	if k.Shape == schema.Setting {
		return k.observeSetting(ctx, s, at, zone)
	}
	if textAt(at.parts, k.ID) == "" {
		return k.find(ctx, s, at, zone)
	}
	have, err := k.get(ctx, s.Cloud, at)
	if err != nil && s.Last == nil && s.ID != "" && k.List != nil && k.NameProp != "" && isRefused(s.Cloud, err) {
		name := textAt(at.parts, k.ID)
		return k.findNamed(ctx, s, at, zone, name)
	}
	if err != nil {
		return live{}, err
	}
	if k.Token != nil && have[schema.TokenAttr] == nil && s.Last != nil {
		have[schema.TokenAttr] = (*s.Last)[schema.TokenAttr]
	}
	return k.seen(have, zone), nil
}

// isRefused reports that the API has no object of an id, or says that it is no id.
func isRefused(cloud contract.Cloud, err error) bool {
	if errors.Is(err, reconcile.ErrAbsent) {
		return true
	}
	switch cloud.Classify(err) {
	case reconcile.Invalid, reconcile.Absent:
		return true
	}
	return false
}

// seen is an object as it was read.
func (k *kind) seen(have object, zone cloudflare.Zone) live {
	l := live{props: have, zone: zone}
	if k.Tag != "" {
		_, l.line = untagged(textAt(have, k.Tag))
		l.owner = adopt.LineMark(l.line)
	}
	return l
}

var errNothing = fmt.Errorf("%w: nothing is known to find it by", reconcile.ErrAbsent)

// errCannotTell says that nobody knows whether a creation has happened: to create once more could make a second object.
var errCannotTell = errors.New("a creation was not answered, and the API lists none of these objects: nobody can tell whether it was created")

// find searches for an object whose id the API assigned: by its owner tag, by its name, or by all that is declared.
func (k *kind) find(ctx context.Context, s site, at address, zone cloudflare.Zone) (live, error) {
	switch {
	case k.List == nil && s.Begun:
		return live{}, reconcile.WithHint(fmt.Errorf("%s: %w", k.Name, errCannotTell),
			"look for it in the dashboard, then `athanor state rm %s` and deploy again: with `options: {adopt: ID}` if it was created", s.Address)
	case k.List == nil:
		return live{}, errNothing
	case k.Tag != "" && !s.Owner.IsZero():
		l, err := k.findOwned(ctx, s, at, zone)
		if err == nil || !errors.Is(err, reconcile.ErrAbsent) || k.NameProp == "" {
			return l, err
		}
		return k.findNamed(ctx, s, at, zone, s.Name)
	case k.NameProp != "":
		return k.findNamed(ctx, s, at, zone, s.Name)
	}
	return k.findEqual(ctx, s, at, zone)
}

// findOwned searches for the object that carries the owner tag. While one generation is being created, only that one
// counts: the other is what it replaces.
func (k *kind) findOwned(ctx context.Context, s site, at address, zone cloudflare.Zone) (live, error) {
	var all []live
	for have, err := range k.list(ctx, s.Cloud, at) {
		if err != nil {
			return live{}, absent(err)
		}
		all = append(all, k.seen(have, zone))
	}
	ours, _, err := adopt.Find(s.Facts, all, func(l live) (live, error) { return l, nil },
		func(l live) (contract.OwnerTag, string) { return l.owner, k.identity(l.props) })
	switch {
	case err != nil:
		return live{}, fmt.Errorf("%s: %w", k.Name, err)
	case ours == nil:
		return live{}, fmt.Errorf("%w: nothing matches", reconcile.ErrAbsent)
	}
	return k.read(ctx, s, at, *ours, zone)
}

// read is a listed object as it is read alone: listings leave out some of its properties.
func (k *kind) read(ctx context.Context, s site, at address, l live, zone cloudflare.Zone) (live, error) {
	at.parts = maps.Clone(at.parts)
	at.parts[k.ID] = textAt(l.props, k.ID)
	have, err := k.get(ctx, s.Cloud, at)
	if err != nil {
		return live{}, err
	}
	return k.seen(have, zone), nil
}

// findNamed searches for the object of a name. What carries our own owner tag of another generation or address is none.
func (k *kind) findNamed(ctx context.Context, s site, at address, zone cloudflare.Zone, name string) (live, error) {
	if name == "" {
		return live{}, errNothing
	}
	var found []live
	for have, err := range k.list(ctx, s.Cloud, at) {
		if err != nil {
			return live{}, absent(err)
		}
		l := k.seen(have, zone)
		if textAt(have, k.NameShown) == name && (s.Nonce == "" || l.owner.IsZero() || !l.owner.SameResource(s.Owner)) {
			found = append(found, l)
		}
	}
	switch len(found) {
	case 0:
		return live{}, fmt.Errorf("%w: no %s is called %s", reconcile.ErrAbsent, k.Group(), name)
	case 1:
		return k.read(ctx, s, at, found[0], zone)
	}
	return live{}, reconcile.WithHint(fmt.Errorf("%s: %w: %d are called %s", k.Name, reconcile.ErrAmbiguous, len(found), name),
		"`athanor adopt ADDRESS ID` takes over one of them")
}

// findEqual searches for the one object that is as declared, in all that can be read. What it replaces is none: that may
// have all that is declared now, and more. What was created a moment ago may not have yet what a creation does not take.
func (k *kind) findEqual(ctx context.Context, s site, at address, zone cloudflare.Zone) (live, error) {
	var found []live
	want := s.Want
	if s.Begun {
		want = maps.Clone(want)
		for _, later := range k.LaterOnly {
			delete(want, string(later))
		}
	}
	for have, err := range k.list(ctx, s.Cloud, at) {
		if err != nil {
			return live{}, absent(err)
		}
		if !k.agrees(want, have, true) || slices.Contains(s.Others, k.identity(have)) {
			continue
		}
		l, err := k.read(ctx, s, at, live{props: have}, zone)
		switch {
		case errors.Is(err, reconcile.ErrAbsent):
		case err != nil:
			return live{}, err
		case k.agrees(want, l.props, false):
			found = append(found, l)
		}
	}
	switch len(found) {
	case 0:
		return live{}, fmt.Errorf("%w: nothing matches", reconcile.ErrAbsent)
	case 1:
		return found[0], nil
	}
	return live{}, fmt.Errorf("%s: %w: %d are as declared", k.Name, reconcile.ErrAmbiguous, len(found))
}

// agrees reports whether an object has all that is declared and can be read. A listing may leave out properties.
func (k *kind) agrees(want, have object, listed bool) bool {
	for name, w := range want {
		p := tree.Path("").Key(name)
		h, shown := have[name]
		switch {
		case k.IsBeside(name), k.WriteOnlyAt(p), listed && !shown:
		case !k.covers(k.Root.Below(name), p, w, h, nil):
			return false
		}
	}
	return true
}

// listOwned lists the objects of a stage by their owner tags, in the account and in all zones.
func (k *kind) listOwned(ctx context.Context, scope contract.ListScope) ([]contract.Found, error) {
	var all []contract.Found
	add := func(parts object, zone cloudflare.Zone) error {
		for have, err := range k.list(ctx, scope.Cloud, address{scope.Place.Account, parts}) {
			if err != nil {
				return err
			}
			l := k.seen(have, zone)
			if scope.Mark.Stack != "" && (l.owner.Stack != scope.Mark.Stack || l.owner.Stage != scope.Mark.Stage) {
				continue
			}
			all = append(all, contract.Found{
				Kind: k.Name, Place: scope.Place, Identity: k.identity(have), Name: textAt(have, k.NameShown), Mark: &l.owner,
			})
		}
		return nil
	}
	inZones := len(k.Parents()) > 0
	if !inZones || k.ZoneOptional() {
		if err := add(object{}, cloudflare.Zone{}); err != nil {
			return nil, err
		}
	}
	if !inZones {
		return all, nil
	}
	for zone, err := range cloudflare.Zones(ctx, scope.Cloud) {
		if err == nil {
			err = add(object{schema.ZoneID: zone.ID}, zone)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
