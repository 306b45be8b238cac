package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// most bounds how many fields a type is documented with: deep ones are left out where they are too many.
const most = 2000

// Props documents what can be set.
func (t *Type) Props() []props.Field {
	var all []props.Field
	for _, parent := range t.Parents() {
		doc := "The id of what it belongs to. Replaces."
		if parent == Zone {
			doc = "The zone, by name or by id. Replaces."
		}
		if t.optional(parent) {
			doc += " Default: none, it is of the account."
		}
		all = append(all, props.Field{
			Path: tree.Path("").Key(parent), Go: parent, Type: "string", Required: !t.optional(parent), TakesRef: true, Doc: doc, Replaces: true,
		})
	}
	for _, name := range t.Known {
		all = append(all, props.Field{
			Path: tree.Path("").Key(name), Go: name, Type: "string", TakesRef: true, Secret: t.SecretAt(tree.Path(name)),
			Doc: "What the creation of an object has shown that options.adopt takes over: nothing shows it again. It is read then alone, and kept sealed in state. " +
				"Default: none, the object is replaced.",
		})
	}
	return append(all, t.fields(t.Root, true)...)
}

// Attrs documents what can be read, and the ids in the path.
func (t *Type) Attrs() []props.Field {
	all := t.fields(t.Answer, false)
	for _, name := range t.PathAttrs() {
		if t.Answer.Properties[name] == nil {
			all = append(all, props.Field{Path: tree.Path("").Key(name), Go: name, Type: "string", Doc: "It is a part of the object's path."})
		}
	}
	for _, name := range t.OnceShown {
		all = append(all, props.Field{
			Path: tree.Path("").Key(name), Go: name, Type: "string", Secret: t.SecretAt(tree.Path(name)), Doc: "It is shown at creation alone, and kept sealed in state.",
		})
	}
	if t.Token != nil {
		all = append(all, props.Field{
			Path: TokenAttr, Go: TokenAttr, Type: "string", Secret: true,
			Doc: "The token that a connector runs with, as in cloudflared tunnel run --token. It is read with the object, and kept sealed in state.",
		})
	}
	return all
}

// TokenAttr is the attribute that holds the token of [Overlay.Token].
const TokenAttr = "token"

// PathAttrs are the attributes that are the variable parts of an object's path, in their order.
func (t *Type) PathAttrs() []string {
	var all []string
	for _, parent := range t.Parents() {
		if parent == Zone {
			parent = ZoneID
		}
		all = append(all, parent)
	}
	if t.ID != "" {
		all = append(all, t.ID)
	}
	return all
}

// ZoneID is the attribute that holds the id of the zone.
const ZoneID = "zone_id"

// fields are those of the root as deep as their number allows.
func (t *Type) fields(root *Node, settable bool) []props.Field {
	for depth := 8; ; depth-- {
		d := documenting{t: t, settable: settable, left: most}
		if all := d.object(root, "", depth); d.left >= 0 || depth == 1 {
			return all
		}
	}
}

type documenting struct {
	t        *Type
	settable bool
	left     int
}

func (d *documenting) object(n *Node, at tree.Path, depth int) []props.Field {
	var all []props.Field
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		if d.left--; d.left < 0 {
			return all
		}
		below, path := n.Properties[name], at.Key(name)
		if d.settable && d.t.Refused[path] != "" {
			continue
		}
		f := props.Field{
			Path: path, Go: name, Type: typeName(below, depth > 1), TakesRef: true, Doc: d.doc(below, path),
			Required: d.settable && slices.Contains(n.Required, name) && (at != "" || name != d.t.NameProp || d.t.NameGiven),
			Replaces: d.settable && d.t.FixedAt(path),
		}
		f.Secret = strings.HasSuffix(f.Type, "string") && (below.Secret || d.t.SecretAt(path))
		if leaf := leafOf(below); leaf.Types == "s" && !leaf.Open {
			f.Enum = leaf.Enum
		}
		inside := below
		for inside.Items != nil || inside.Values != nil {
			if inside.Items != nil {
				inside = inside.Items
			} else {
				inside = inside.Values
			}
			path = path.Any()
		}
		if depth > 1 {
			f.Fields = d.object(inside, path, depth-1)
		}
		all = append(all, f)
	}
	return all
}

// leafOf is the shape of what lists and maps hold in the end.
func leafOf(n *Node) *Node {
	for n.Items != nil || n.Values != nil {
		if n.Items != nil {
			n = n.Items
		} else {
			n = n.Values
		}
	}
	return n
}

// typeName is a type as package props names it.
func typeName(n *Node, inside bool) string {
	switch {
	case n.Types == "a" && n.Items != nil:
		return "list of " + typeName(n.Items, inside)
	case n.Types == "o" && n.Values != nil && n.Properties == nil:
		return "map of " + typeName(n.Values, inside)
	case n.Types == "o" && n.Properties != nil && n.Values == nil && inside:
		return "object"
	}
	if simple := map[string]string{"s": "string", "n": "number", "b": "bool"}[n.Types]; simple != "" {
		return simple
	}
	return "any"
}

// doc is what the table tells of a property. The description's prose is not in it.
func (d *documenting) doc(n *Node, at tree.Path) string {
	says := "Any value."
	if of := n.wants(); of != "" {
		says = strings.ToUpper(of[:1]) + of[1:] + "."
	}
	if leaf := leafOf(n); leaf.Open {
		says += " Known words: " + strings.Join(leaf.Enum, ", ") + "."
	}
	if !d.settable {
		return says
	}
	if d.t.FixedAt(at) {
		says += " Replaces."
	}
	if d.t.WriteOnlyAt(at) {
		says += " It is write-only: only the program's own changes are seen."
	}
	return says
}

// Secrets are the paths among fields that hold secrets.
func Secrets(fields []props.Field) []tree.Path {
	var all []tree.Path
	for _, f := range fields {
		if f.Secret {
			all = append(all, f.Path)
		}
		all = append(all, Secrets(f.Fields)...)
	}
	return all
}
