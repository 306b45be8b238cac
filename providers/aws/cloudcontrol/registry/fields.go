package registry

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// most bounds how many fields a type is documented with: deep ones are cut where they go on. Some types describe whole
// dashboards.
const most = 3000

// Props documents what can be set.
func (t *Type) Props() []props.Field { return t.fields(t.settable) }

// Attrs documents what can be read.
func (t *Type) Attrs() []props.Field { return t.fields(t.shown) }

func (t *Type) settable(p tree.Path) bool { return !t.ReadOnlyAt(p) }
func (t *Type) shown(p tree.Path) bool    { return !t.WriteOnlyAt(p) }

// fields are those of the root as deep as their number allows.
func (t *Type) fields(keep func(tree.Path) bool) []props.Field {
	for depth := 8; ; depth-- {
		d := documenting{t: t, keep: keep, left: most}
		if all := d.object(t.Root, "", depth); d.left >= 0 || depth == 1 {
			return all
		}
	}
}

type documenting struct {
	t    *Type
	keep func(tree.Path) bool
	left int
}

func (d *documenting) object(n *Node, at tree.Path, depth int) []props.Field {
	var all []props.Field
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		path := at.Key(name)
		if !d.keep(path) {
			continue
		}
		if d.left--; d.left < 0 {
			return all
		}
		below := d.t.Follow(n.Properties[name])
		f := props.Field{
			Path: path, Go: name, Type: d.t.typeName(below, depth > 1), Required: slices.Contains(n.Required, name) && d.t.settable(path),
			TakesRef: true, Doc: d.t.doc(below, path),
		}
		f.Secret = secretName(name) && strings.HasSuffix(f.Type, "string")
		if leaf := d.t.leaf(below); !leaf.Fold && leaf.Types == "s" {
			f.Enum = leaf.Enum
		}
		f.Replaces, _ = d.t.Replaces(path)
		if below.Types == "i" || below.Types == "n" {
			f.Min, f.Max = bound(below.Min), bound(below.Max)
		}
		inside, belowPath := below, path
		f.Shape = n.Properties[name].Ref
		for inside.Items != nil || inside.Values != nil {
			next := inside.Items
			if next == nil {
				next = inside.Values
			}
			f.Shape = next.Ref
			inside, belowPath = d.t.Follow(next), belowPath.Any()
		}
		if depth > 1 {
			f.Fields = d.object(inside, belowPath, depth-1)
		}
		all = append(all, f)
	}
	return all
}

func bound(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'f', -1, 64)
}

// leaf is the shape of what lists and maps hold in the end.
func (t *Type) leaf(n *Node) *Node {
	for range 8 {
		switch n = t.Follow(n); {
		case n.Items != nil:
			n = n.Items
		case n.Values != nil:
			n = n.Values
		default:
			return n
		}
	}
	return n
}

// typeName is a type as package props names it. Objects that are not looked into are any.
func (t *Type) typeName(n *Node, inside bool) string {
	n = t.Follow(n)
	switch {
	case n.Types == "a" && n.Items != nil:
		return "list of " + t.typeName(n.Items, inside)
	case n.Types == "o" && n.Values != nil:
		return "map of " + t.typeName(n.Values, inside)
	case n.Types == "o" && n.Properties != nil && !n.Open && inside:
		return "object"
	}
	simple := map[string]string{"s": "string", "i": "int", "n": "number", "b": "bool"}[n.Types]
	if simple == "" {
		return "any"
	}
	return simple
}

// doc is what the table tells of a property. The registry's prose is not in it.
func (t *Type) doc(n *Node, at tree.Path) string {
	var says []string
	if of := n.wants(); of != "" {
		says = append(says, strings.ToUpper(of[:1])+of[1:]+t.limits(n)+".")
	} else {
		says = append(says, "Any value.")
	}
	always, sometimes := t.Replaces(at)
	switch {
	case t.ReadOnlyAt(at):
		says = append(says, "It can only be read.")
	case always:
		says = append(says, "Replaces.")
	case sometimes:
		says = append(says, "Some changes need a new one; the service says which.")
	}
	if t.WriteOnlyAt(at) {
		says = append(says, "It is write-only: only the program's own changes are seen.")
	}
	return strings.Join(says, " ")
}

func (t *Type) limits(n *Node) string {
	var s string
	switch {
	case n.Types == "a" && n.Unordered:
		s = ", in any order"
	case n.Pattern != "":
		s = " that matches " + n.Pattern
	}
	unit := map[string]string{"s": " characters", "a": " elements"}[n.Types]
	if n.Min != nil {
		s += ", at least " + bound(n.Min) + unit
	}
	if n.Max != nil {
		s += ", at most " + bound(n.Max) + unit
	}
	return s
}

// secretName reports a property that holds a secret by what it is called. The registry does not tell.
func secretName(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc([]string{"password", "secretaccesskey", "clientsecret", "secretstring", "authtoken", "privatekey", "secretkey", "sharedsecret"},
		func(word string) bool { return strings.HasSuffix(lower, word) })
}

// Secrets are the paths among fields that hold secrets by what they are called.
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
