// Package structs says which Go structs the types of the AWS registry have: one of props and one of attributes for each. Package gostructs
// writes them.
//
// It knows the shapes that package registry has. It does not know what properties mean, and declares nothing itself.
package structs

import (
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile/gostructs"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Source is the source of a package with structs for types. by says what generated it. Two types whose names in Go would be the same
// are an error.
func Source(pkg, by string, types ...*registry.Type) ([]byte, error) {
	services := map[string]bool{}
	var kinds []gostructs.Kind
	for _, t := range types {
		services[t.Name[:strings.LastIndex(t.Name, "::")]] = true
		kinds = append(kinds, kindOf(t))
	}
	return gostructs.Write(pkg, by, "has Go structs for types of "+strings.Join(keys(services), ", ")+", which are kinds by their registry names (package cloudcontrol). It knows the\n"+
		"names and the types of their properties, and nothing of what they mean.", kinds...)
}

// Package is the name of the package for the types of a service: wafv2 for AWS::WAFv2::WebACL.
func Package(typ string) string {
	parts := strings.Split(typ, "::")
	return strings.ToLower(parts[min(1, len(parts)-1)])
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func pathOf(property string) tree.Path { return tree.Path("").Key(property) }

// writer makes the structs of one type.
type writer struct {
	t    *registry.Type
	name string
	kind gostructs.Kind
	done map[string]bool // names of structs that are there
	// back are the fields, by struct and property, through which a struct would hold itself, which props of Go cannot.
	back map[string]bool
}

// findBack walks through what a struct speaks of; open are those around it, and done those that it went through.
func (w *writer) findBack(name string, n *registry.Node, open, done map[string]bool) {
	open[name] = true
	for _, key := range keys(n.Properties) {
		_, inner, innerName := w.field(n.Properties[key], name, key)
		switch {
		case inner == nil || done[innerName]:
		case open[innerName]:
			w.back[name+"."+key] = true
		default:
			w.findBack(innerName, inner, open, done)
		}
	}
	delete(open, name)
	done[name] = true
}

// kindOf is the structs of a type: the props, and the attributes.
func kindOf(t *registry.Type) gostructs.Kind {
	name := t.Name[strings.LastIndex(t.Name, "::")+2:]
	w := &writer{t: t, name: name, kind: gostructs.Kind{Name: t.Name, Go: name}, done: map[string]bool{}, back: map[string]bool{}}
	w.findBack(name+"Props", t.Root, map[string]bool{}, map[string]bool{})
	w.object(name+"Props", name+"Props are what can be set of a "+name+". What is not set is not managed.", t.Root, func(name string) bool { return !t.ReadOnlyAt(pathOf(name)) })
	for _, key := range keys(t.Root.Properties) {
		if of := w.attribute(t.Follow(t.Root.Properties[key])); of != "" && !t.WriteOnlyAt(pathOf(key)) {
			w.kind.Attrs = append(w.kind.Attrs, gostructs.Field{Name: gostructs.Name(key), Type: of, Key: key})
		}
	}
	return w.kind
}

// attribute is the Go type that a reference to a property has, "" when there is none.
func (w *writer) attribute(n *registry.Node) string {
	switch n.Types {
	case "s":
		return "string"
	case "i":
		return "athanor.Int"
	case "b":
		return "athanor.Bool"
	case "a":
		if n.Items != nil && w.t.Follow(n.Items).Types == "s" {
			return "[]string"
		}
	}
	return ""
}

// object adds one struct, and then those that it speaks of.
func (w *writer) object(name, doc string, n *registry.Node, keep func(string) bool) {
	type later struct {
		name string
		node *registry.Node
	}
	var rest []later
	made := gostructs.Struct{Name: name, Doc: doc}
	for _, key := range keys(n.Properties) {
		if !keep(key) {
			continue
		}
		of, inner, innerName := w.field(n.Properties[key], name, key)
		note := w.note(n, key)
		if w.back[name+"."+key] {
			of = strings.TrimSuffix(strings.TrimSuffix(of, innerName), "*") + "any"
			note = append(note, "What is in it holds the struct that it is in: cloudcontrol.Props, with the names of "+innerName+".")
			inner = nil
		}
		if inner != nil && !w.done[innerName] {
			w.done[innerName] = true
			rest = append(rest, later{innerName, inner})
		}
		made.Fields = append(made.Fields, gostructs.Field{Name: gostructs.Name(key), Type: of, Key: key, Doc: note})
	}
	w.kind.Props = append(w.kind.Props, made)
	for _, l := range rest {
		w.object(l.name, l.name+" is a part of "+w.name+".", l.node, func(string) bool { return true })
	}
}

// note says what must be given and which words there are.
func (w *writer) note(n *registry.Node, key string) []string {
	var says []string
	if slices.Contains(n.Required, key) {
		says = append(says, "Required.")
	}
	if leaf := w.t.Follow(n.Properties[key]); len(leaf.Enum) > 0 && len(leaf.Enum) <= 12 {
		says = append(says, "One of "+strings.Join(leaf.Enum, ", ")+".")
	}
	if always, _ := w.t.Replaces(pathOf(key)); always && n == w.t.Root {
		says = append(says, "Replaces.")
	}
	if says == nil {
		return nil
	}
	return []string{strings.Join(says, " ")}
}

// field is the Go type of a property, and the object that it speaks of.
func (w *writer) field(n *registry.Node, parent, key string) (of string, inner *registry.Node, innerName string) {
	named := n.Ref
	n = w.t.Follow(n)
	switch {
	case n.Types == "a" && n.Items != nil:
		of, inner, innerName = w.field(n.Items, parent, key)
		return "[]" + strings.TrimPrefix(of, "*"), inner, innerName
	case n.Types == "o" && n.Values != nil:
		of, inner, innerName = w.field(n.Values, parent, key)
		return "map[string]" + strings.TrimPrefix(of, "*"), inner, innerName
	case (n.Types == "o" || n.Types == "") && n.Properties != nil && !n.Open:
		if named == "" {
			named = strings.TrimPrefix(parent, w.name) + key
		}
		innerName = w.name + gostructs.Name(named)
		return "*" + innerName, n, innerName
	case n.Types == "s":
		return "string", nil, ""
	case n.Types == "i":
		return "athanor.Int", nil, ""
	case n.Types == "b":
		return "athanor.Bool", nil, ""
	case n.Types == "n":
		return "*float64", nil, ""
	}
	return "any", nil, ""
}
