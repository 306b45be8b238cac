package generic

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	"github.com/athanor-dev/athanor/reconcile"
	contract "github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// create makes the object with all that a creation takes. What can only be given later, the comparison that follows sets.
func (k *kind) create(ctx context.Context, s site) (object, error) {
	at, zone, err := k.where(ctx, contract.Site[object, object]{Facts: s.Facts, Want: s.Want})
	if err != nil {
		return nil, err
	}
	if k.Shape == schema.Setting {
		return k.createSetting(ctx, s, at)
	}
	body := k.desired(s.Want, s.Name, s.Owner)
	for _, later := range k.LaterOnly {
		delete(body, string(later))
	}
	if k.Shape == schema.Named {
		maps.DeleteFunc(body, func(name string, _ any) bool { return !slices.Contains(k.Create.Takes, name) })
	} else {
		delete(at.parts, k.ID)
	}
	answer, err := send(ctx, s.Cloud, k.Create, k.path(at), wrapped(k.Create, body))
	if err != nil {
		return nil, k.taken(s.Cloud, err)
	}
	made, err := one(k.Create, answer)
	if err != nil {
		return nil, err
	}
	if made == nil {
		made = object{}
	}
	if k.ID == k.NameShown && textAt(made, k.ID) == "" {
		made[k.ID] = s.Name
	}
	made = k.within(at, made)
	if k.identity(made) == "" {
		return k.unnamed(ctx, s, at, zone)
	}
	return made, nil
}

// unnamed finds what was created a moment ago, where the answer does not hold its id.
func (k *kind) unnamed(ctx context.Context, s site, at address, zone cloudflare.Zone) (object, error) {
	found, err := k.find(ctx, s, at, zone)
	if errors.Is(err, reconcile.ErrAbsent) {
		err = errNoID
	}
	return found.props, err
}

var errNoID = errors.New("the answer does not hold the id of what was created")

// taken ends a creation that something else stands in the way of, where no search would ever find that one.
func (k *kind) taken(cloud contract.Cloud, err error) error {
	if k.NameProp != "" || cloud.Classify(err) != reconcile.Exists {
		return err
	}
	return &reconcile.StopError{Err: reconcile.WithHint(err, "another object stands where this one is to be: take it over with `athanor adopt`, or delete it")}
}

// desired is the body of what is wanted.
func (k *kind) desired(want object, name string, owner contract.OwnerTag) object {
	body := object{}
	for prop, v := range want {
		if !k.IsBeside(prop) {
			body[prop] = v
		}
	}
	if k.NameProp != "" && name != "" {
		body[k.NameProp] = name
	}
	if k.Tag != "" {
		body[k.Tag] = tagged(textAt(want, k.Tag), owner, k.TagMost)
	}
	return body
}

// wrapped is a body as an operation takes it.
func wrapped(op *schema.Operation, body object) any {
	switch {
	case op.List:
		return []any{body}
	case op.Bare:
		return body[schema.Items]
	}
	return body
}

// change sets all that differs by one call: a PATCH of it, or a PUT of the whole.
func (k *kind) change(want object) *reconcile.Operation[live] {
	op := k.Patch
	if op == nil {
		op = k.Update
	}
	return contract.Set(op.Name[strings.Index(op.Name, ".")+1:], func(ctx context.Context, u update) error {
		op, body := k.changed(want, u)
		at := address{u.Location.Account, u.Live.props}
		_, err := send(ctx, u.Cloud, op, k.path(at), wrapped(op, body))
		return cloudflare.Taken(notYet(err))
	})
}

// changed is the call that makes the changes, with its body. A PATCH takes a property away by null, where the API says that
// it takes one; else a PUT leaves it out.
func (k *kind) changed(want object, u update) (*schema.Operation, object) {
	full := k.desired(want, u.Name, u.Owner)
	if !u.NameGiven {
		delete(full, k.NameProp)
	}
	if k.Tag != "" && !slices.Contains(u.Changed, tree.Path("").Key(k.Tag)) {
		own, _ := untagged(textAt(u.Live.props, k.Tag))
		full[k.Tag] = tagged(own, u.Owner, k.TagMost)
	}
	names := k.named(u.Changed)
	if k.Patch != nil && (k.Update == nil || k.patches(names, full)) {
		return k.Patch, k.patch(names, full, u)
	}
	return k.Update, k.put(names, full, u)
}

// named are the top-level properties of changed paths.
func (k *kind) named(changed []tree.Path) []string {
	var names []string
	for _, p := range changed {
		name := p.Steps()[0].Key
		if p == "mark" {
			name = k.Tag
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// patches reports whether a PATCH can make all changes.
func (k *kind) patches(names []string, full object) bool {
	for _, name := range names {
		if !slices.Contains(k.Patch.Takes, name) || full[name] == nil && !k.Root.Below(name).Null {
			return false
		}
	}
	return true
}

// patch is the body of a PATCH. Objects inside are sent whole: what is not declared in them stays as it is.
func (k *kind) patch(names []string, full object, u update) object {
	body := object{}
	for _, name := range names {
		n := k.Root.Below(name)
		if v, wanted := full[name]; wanted {
			body[name] = over(n, v, u.Live.props[name], tree.Path("").Key(name), u.Changed)
		} else {
			body[name] = nil
		}
	}
	for _, name := range k.always(full) {
		body[name] = full[name]
	}
	for _, name := range k.Patch.Needs {
		if _, there := body[name]; there {
			continue
		}
		if v, wanted := full[name]; wanted {
			body[name] = v
		} else if have := u.Live.props[name]; have != nil {
			body[name] = settable(k.Root.Below(name), have)
		}
	}
	return body
}

// always are the declared properties that every change must repeat: a service may take away what can only be written.
func (k *kind) always(full object) []string {
	var all []string
	for name := range full {
		p := tree.Path("").Key(name)
		if k.WriteOnlyAt(p) && !k.FixedAt(p) && (k.Patch == nil || slices.Contains(k.Patch.Takes, name)) {
			all = append(all, name)
		}
	}
	return all
}

// put is the body of a PUT: all that is declared, and else what is there.
func (k *kind) put(names []string, full object, u update) object {
	body := object{}
	for _, name := range k.Update.Takes {
		n, p := k.Root.Below(name), tree.Path("").Key(name)
		v, wanted := full[name]
		have := u.Live.props[name]
		switch {
		case wanted:
			body[name] = over(n, v, have, p, u.Changed)
		case have == nil, slices.Contains(names, name), masked(have):
		default:
			body[name] = settable(n, have)
		}
		if empty := n.Empty(); body[name] == nil && empty != nil && slices.Contains(k.Update.Needs, name) {
			body[name] = empty
		}
	}
	return body
}

// emptied reports a value that stands for none: a PUT that must have the property gives it so.
func (k *kind) emptied(path tree.Path, have any) bool {
	return k.Update != nil && slices.ContainsFunc(k.Update.Needs, func(name string) bool {
		return path == tree.Path("").Key(name) && tree.Equal(have, k.Root.Below(name).Empty())
	})
}

// masked reports what stands for a secret that the API does not show.
func masked(v any) bool {
	text, ok := v.(string)
	return ok && text != "" && strings.Trim(text, "*") == ""
}

// over is what is wanted with what else is there. What was declared before and is no longer is left out.
func over(n *schema.Node, want, have any, at tree.Path, changed []tree.Path) any {
	w, isObject := want.(object)
	h, there := have.(object)
	if !isObject || !there || n.Free() {
		return want
	}
	out := object{}
	for key, v := range settable(n, h).(object) {
		if _, wanted := w[key]; !wanted && n.Properties[key] != nil && v != nil && !slices.Contains(changed, at.Key(key)) && !masked(v) {
			out[key] = v
		}
	}
	for key, v := range w {
		out[key] = over(n.Below(key), v, h[key], at.Key(key), changed)
	}
	return out
}

// delete asks for the deletion of an object.
func (k *kind) delete(ctx context.Context, s site) error {
	at, _, err := k.where(ctx, s)
	if err != nil {
		return err
	}
	if k.Shape == schema.Setting {
		return k.deleteSetting(ctx, s, at)
	}
	if _, err = send(ctx, s.Cloud, k.Type.Delete, k.path(at), nil); isMissing(err) {
		return nil
	}
	return err
}

// beforeKey holds, among the attributes of a setting, what was there before, as JSON text. No property has such a name.
const beforeKey = "athanor:before"

// observeSetting reads a setting. Without state it is ours when it says what is declared; with state it is missing when it
// says again what it said before.
func (k *kind) observeSetting(ctx context.Context, s site, at address, zone cloudflare.Zone) (live, error) {
	have, err := k.get(ctx, s.Cloud, at)
	if err != nil {
		return live{}, err
	}
	l := k.seen(have, zone)
	if s.Last != nil && textAt(*s.Last, beforeKey) != "" {
		have[beforeKey] = textAt(*s.Last, beforeKey)
	}
	if len(s.Want) == 0 || s.ID != "" && s.Last == nil {
		return l, nil
	}
	switch before := textAt(have, beforeKey); {
	case k.agrees(s.Want, have, false):
	case s.Last == nil:
		return live{}, reconcile.WithClass(reconcile.ErrAbsent, reconcile.Absent)
	case before != "" && string(tree.Canonical(k.part(s.Want, have))) == before:
		return live{}, reconcile.ErrAbsent
	}
	return l, nil
}

// part is what an object has of the properties that are declared.
func (k *kind) part(want, have object) object {
	out := object{}
	for name := range want {
		if h := have[name]; h != nil && !k.IsParent(name) {
			out[name] = settable(k.Root.Below(name), h)
		}
	}
	return out
}

// createSetting keeps what is there in state before it is changed, so that it can be put back whatever happens in between.
func (k *kind) createSetting(ctx context.Context, s site, at address) (object, error) {
	have, err := k.get(ctx, s.Cloud, at)
	if err != nil && !errors.Is(err, reconcile.ErrAbsent) {
		return nil, err
	}
	made := maps.Clone(at.parts)
	if k.Type.Delete == nil && have != nil {
		made[beforeKey] = string(tree.Canonical(k.part(s.Want, have)))
	}
	if err := s.New.Store(ctx, made); err != nil {
		return nil, err
	}
	if have == nil && k.Create != nil {
		body := k.desired(s.Want, "", s.Owner)
		for _, later := range k.LaterOnly {
			delete(body, string(later))
		}
		_, err := send(ctx, s.Cloud, k.Create, k.path(at), wrapped(k.Create, body))
		return made, err
	}
	return made, k.set(ctx, s, at, k.desired(s.Want, "", s.Owner), have)
}

// set writes a setting: a PUT of the whole, or a PATCH of what is declared.
func (k *kind) set(ctx context.Context, s site, at address, body, have object) error {
	op := k.Update
	u := update{Facts: s.Facts, Live: live{props: have}}
	if k.Patch != nil {
		op = k.Patch
		body = k.patch(slices.Collect(maps.Keys(body)), body, u)
	} else {
		body = k.put(nil, body, u)
	}
	_, err := send(ctx, s.Cloud, op, k.path(at), wrapped(op, body))
	return err
}

// deleteSetting resets a setting, or puts back what was there before. Where nobody knows that, nothing is done.
func (k *kind) deleteSetting(ctx context.Context, s site, at address) error {
	if k.Type.Delete != nil {
		_, err := send(ctx, s.Cloud, k.Type.Delete, k.path(at), nil)
		if isMissing(err) {
			return nil
		}
		return err
	}
	if s.Last == nil || textAt(*s.Last, beforeKey) == "" {
		return nil
	}
	v, err := tree.Decode([]byte(textAt(*s.Last, beforeKey)))
	if err != nil {
		return err
	}
	before, _ := v.(object)
	have, err := k.get(ctx, s.Cloud, at)
	if err != nil {
		return err
	}
	if k.agrees(before, have, false) {
		return nil
	}
	return k.set(ctx, s, at, before, have)
}

// notYet wraps the error of a call on an object that a read has just shown. The service's parts do not agree about it
// yet.
func notYet(err error) error {
	if isMissing(err) {
		return reconcile.WithClass(err, reconcile.Transient)
	}
	return err
}
