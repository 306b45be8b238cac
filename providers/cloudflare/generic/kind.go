package generic

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	contract "github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// object is properties by the API's names.
type object = map[string]any

// live is an observed object. The parts of its path are among its properties.
type live struct {
	props object
	zone  cloudflare.Zone
	// line is the part of the text that has the owner tag.
	line  string
	owner contract.OwnerTag
}

type (
	site   = contract.Site[object, object]
	diff   = contract.Diff[live]
	update = contract.Update[live]
)

// visibility is how long a listing may not show a write. Cloudflare promises nothing; KV's listings, the slowest that are
// documented, follow writes by up to a minute.
const visibility = time.Minute

// kind is one type of the API.
type kind struct {
	*schema.Type
	calls
}

func newKind(t *schema.Type) *kind { return &kind{t, calls{t}} }

// whole is the kind as an author would write it.
func (k *kind) whole() *contract.Kind[object, live, object] {
	t := k.Type
	fields, attrs := t.Props(), t.Attrs()
	whole := &contract.Kind[object, live, object]{
		Type: t.Name,
		Doc:  k.doc(),

		Observe: k.observe, Create: k.create, Compare: k.compare, Delete: k.delete,
		Attributes: func(l live) object { return l.props },
		Identity:   k.identity,
		Check:      k.check,
		Status:     k.status,

		EventuallyVisible: visibility,
		Dynamic: &contract.Dynamic{
			Schema: contract.Schema{
				Props: func() []props.Field { return fields }, Attrs: func() []props.Field { return attrs },
				SecretProps: schema.Secrets(fields), SecretAttrs: schema.Secrets(attrs),
				Declare: k.declared,
			},
			Tags: contract.Tags{Moves: k.mutable(), Late: k.deferrable(), Once: slices.Clone(t.OnceShown)},
		},
		API: contract.API{Calls: k.names(), Permissions: permissions(t)},
	}
	switch {
	case t.Tag != "":
		whole.Owner = contract.Tagged[object, live]{Tag: func(l live) contract.OwnerTag { return l.owner }}
		if parents := k.Parents(); len(parents) == 0 || len(parents) == 1 && parents[0] == schema.Zone {
			whole.List = k.listOwned // else it is in what nobody lists
		}
	case t.Shape == schema.Setting:
		whole.Owner, whole.Deletion = contract.OwnedByContent[object, live]{}, contract.AtOnce[live]{}
		whole.Unique = k.unique
	case t.NameProp == "":
		whole.Owner = contract.OwnedByParent[object, live]{}
	}
	if t.NameProp != "" {
		whole.Named = k.naming()
	}
	if t.Data != "" {
		whole.HoldsData = &contract.HoldsData[object, live]{
			Now: func(live) bool { return true }, What: func(live) string { return t.Data },
		}
	}
	return whole
}

// generated is how generated names are shaped: what the strictest of the API's names may be.
func generated(contract.NameRule, contract.Location) contract.NameRule {
	return contract.NameRule{Max: 63, Marks: "-", Lower: true}
}

func (k *kind) naming() *contract.Named[object, live] {
	name := k.NameProp
	named := &contract.Named[object, live]{
		Given: func(want object) string { return textAt(want, name) }, Prop: tree.Path("").Key(name),
	}
	if !k.NameGiven {
		named.Rule = func(object) contract.NameRule { return contract.NameRule{Max: math.MaxInt, Any: true} }
		named.In = generated
	}
	if k.FixedAt(named.Prop) {
		named.Live = func(l live) string { return textAt(l.props, k.NameShown) }
	}
	return named
}

// unique names a setting, which its account, zone or parent has once.
func (k *kind) unique(want object) []string {
	words := []string{k.Name}
	for _, parent := range k.Parents() {
		if at := textAt(want, parent); at != "" {
			words = append(words, "of", parent, at)
		}
	}
	return []string{strings.Join(words, " ")}
}

func (k *kind) status(l live) contract.Status {
	ready := k.Ready
	if ready == nil {
		return contract.Ready()
	}
	value := textAt(l.props, ready.Property)
	switch {
	case slices.Contains(ready.Pending, value):
		return contract.Busy(ready.Property + " is " + value)
	case ready.Until != "" && len(ready.Done) == 0 && value == "", len(ready.Done) > 0 && !slices.Contains(ready.Done, value):
		return contract.WaitingFor(ready.Until)
	}
	return contract.Ready()
}

// doc says what the type is as a whole.
func (k *kind) doc() string {
	says := []string{"The type " + k.Group() + " of Cloudflare's API, with its names of properties."}
	if k.Note != "" {
		says = append(says, k.Note)
	}
	switch {
	case k.Shape == schema.Setting && k.Create != nil:
		says = append(says, "There is one at most: one that is there and as declared is taken over.")
	case k.Shape == schema.Setting:
		says = append(says, "It always exists: to declare it is to set it, and to delete it "+k.undoing()+".")
	}
	says = append(says, "What is not set is not managed; what was set and is no longer is removed.")
	switch {
	case k.Tag != "":
		says = append(says, "Its owner tag stands in "+k.Tag+".")
	case k.Shape == schema.Setting:
	case k.NameProp != "":
		says = append(says, "It carries no owner tag: a generated name proves ownership, and without state it is found by its name.")
	case k.List != nil:
		says = append(says, "It carries no owner tag and no name: state alone says which one is ours. Without state it is found in its listing by all that is declared.")
	default:
		says = append(says, "It carries no owner tag and no name, and is not listed: without state it cannot be found, and a second one is created. A creation that is not answered stops the deploy: look whether it happened.")
	}
	if !k.Changes() {
		says = append(says, "It cannot be changed: every change replaces it.")
	}
	if k.Data != "" {
		says = append(says, "It holds data: deleting or replacing it needs permission.")
	}
	if k.Page != "" {
		says = append(says, "Cloudflare documents it at "+k.Page+".")
	}
	return strings.Join(says, " ")
}

func (k *kind) undoing() string {
	if k.Type.Delete != nil {
		return "resets it"
	}
	return "puts back what was there before, which is kept in state"
}

// Group is the name of the type within Cloudflare: "turnstile.Widget".
func (k *kind) Group() string { return strings.TrimPrefix(k.Name, schema.Prefix) }

var changing = props.Pattern(`(?i)(version|status|state|modified|updated|revision|etag|count|_at$|_on$)`)

// mutable are the attributes that an update may change.
func (k *kind) mutable() []string {
	var all []string
	for _, f := range k.Attrs() {
		name := string(f.Path)
		settable := k.Root.Properties[name] != nil && !k.FixedAt(f.Path)
		if name != k.ID && !k.IsParent(name) && (settable || k.Changes() && changing().MatchString(name)) && !slices.Contains(k.OnceShown, name) {
			all = append(all, name)
		}
	}
	if k.Token != nil { // another secret makes another one
		all = append(all, schema.TokenAttr)
	}
	return all
}

// deferrable are the properties that can be set after creation.
func (k *kind) deferrable() []tree.Path {
	var all []tree.Path
	for name := range k.Root.Properties {
		p := tree.Path("").Key(name)
		if k.Shape != schema.Setting && !k.FixedAt(p) && !slices.Contains(k.Root.Required, name) && name != k.Tag && name != k.NameProp {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return all
}

// check finds what is wrong with declared properties.
func (k *kind) check(declared object) error {
	errs := k.Type.Check(declared)
	if text := textAt(declared, k.Tag); k.Tag != "" && (strings.Contains(text, adopt.TagPrefix) || text != strings.TrimSpace(text)) {
		errs.Wrong(tree.Path("").Key(k.Tag), "want text without "+adopt.TagPrefix+" and without spaces around it")
	}
	return errs.OrNil()
}

// declared is what would be declared of an object with these attributes.
func (k *kind) declared(attrs object) object {
	out := object{}
	for name, v := range attrs {
		n := k.Root.Properties[name]
		if n == nil || v == nil || k.WriteOnlyAt(tree.Path("").Key(name)) {
			continue
		}
		if name == k.Tag {
			text, _ := v.(string)
			if v, _ = untagged(text); v == "" {
				continue
			}
		}
		out[name] = settable(n, v)
	}
	if name := textAt(attrs, k.NameShown); k.NameProp != "" && name != "" {
		out[k.NameProp] = name
	}
	for _, parent := range k.Parents() {
		from := parent
		if parent == schema.Zone {
			from = schema.ZoneID
		}
		if v := textAt(attrs, from); v != "" {
			out[parent] = v
		}
	}
	return out
}

// settable is a value without what can only be read.
func settable(n *schema.Node, v any) any {
	switch at := v.(type) {
	case object:
		if n.Free() {
			return v
		}
		out := object{}
		for key, e := range at {
			below := n.Properties[key]
			if below == nil {
				below = n.Values
			}
			if below != nil && (e != nil || below.Null) {
				out[key] = settable(below, e)
			}
		}
		return out
	case []any:
		out := make([]any, len(at))
		for i, e := range at {
			out[i] = settable(n.Element(), e)
		}
		return out
	}
	return v
}

// textAt is a property as text, "" when it is not there.
func textAt(m object, name string) string {
	switch v := m[name].(type) {
	case string:
		return v
	case nil:
		return ""
	default:
		return string(tree.Canonical(v))
	}
}
