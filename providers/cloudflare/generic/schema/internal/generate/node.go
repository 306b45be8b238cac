package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
)

type object = map[string]any

// deepest bounds how far descriptions are followed that hold themselves.
const deepest = 12

// shaping makes shapes of one description.
type shaping struct{ defs object }

// shapeOf is the shape that a JSON Schema describes.
func shapeOf(root object) *schema.Node {
	defs, _ := root["$defs"].(object)
	return shaping{defs}.node(root, 0)
}

func (s shaping) node(v any, depth int) *schema.Node {
	from, ok := v.(object)
	if !ok || depth > deepest {
		return &schema.Node{}
	}
	if ref, ok := from["$ref"].(string); ok {
		if strings.Contains(ref, "SensitiveString") {
			return &schema.Node{Types: "s", Secret: true}
		}
		return s.node(s.defs[strings.TrimPrefix(ref, "#/$defs/")], depth+1)
	}
	if alternatives, ok := from["anyOf"].([]any); ok {
		return s.either(alternatives, depth)
	}
	switch from["type"] {
	case "object":
		return s.object(from, depth)
	case "array":
		return &schema.Node{Types: "a", Items: s.node(from["items"], depth+1)}
	case "string":
		return &schema.Node{Types: "s", Enum: words(from["enum"])}
	case "number", "integer":
		return &schema.Node{Types: "n"}
	case "boolean":
		return &schema.Node{Types: "b"}
	case "null":
		return &schema.Node{Null: true}
	}
	return &schema.Node{}
}

func words(v any) (all []string) {
	list, _ := v.([]any)
	for _, w := range list {
		if text, ok := w.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

func (s shaping) object(from object, depth int) *schema.Node {
	n := &schema.Node{Types: "o"}
	if inner, ok := from["additionalProperties"].(object); ok {
		n.Values = s.node(inner, depth+1)
		return n
	}
	properties, _ := from["properties"].(object)
	if len(properties) == 0 {
		return n
	}
	n.Required = words(from["required"])
	slices.Sort(n.Required)
	n.Properties = map[string]*schema.Node{}
	for name, p := range properties {
		if !slices.Contains(n.Required, name) {
			p = present(p)
		}
		n.Properties[name] = s.node(p, depth+1)
	}
	return n
}

// present is the schema of a property that may be left out, which the description writes as a choice with null.
func present(p any) any {
	from, _ := p.(object)
	alternatives, _ := from["anyOf"].([]any)
	last := len(alternatives) - 1
	if last < 1 || !isNull(alternatives[last]) {
		return p
	}
	if last == 1 {
		return alternatives[0]
	}
	return object{"anyOf": alternatives[:last]}
}

func isNull(v any) bool { m, _ := v.(object); return m["type"] == "null" }

// either is the shape of a choice.
func (s shaping) either(alternatives []any, depth int) *schema.Node {
	var all []*schema.Node
	null := false
	for _, a := range alternatives {
		if isNull(a) {
			null = true
			continue
		}
		if e := words(object(asObject(a))["enum"]); slices.Contains(e, "Infinity") {
			continue // numbers that JSON has no form for
		}
		n := s.node(a, depth)
		null = null || n.Null
		all = append(all, n)
	}
	if len(all) == 0 {
		return &schema.Node{Null: null}
	}
	merged := merge(all)
	merged.Null = null
	return merged
}

func asObject(v any) object { m, _ := v.(object); return m }

// merge is the shape of what has any of several shapes.
func merge(all []*schema.Node) *schema.Node {
	if len(all) == 1 {
		one := *all[0]
		return &one
	}
	out := &schema.Node{}
	var objects []*schema.Node
	texts, choices := 0, 0
	for _, n := range all {
		if n.Types == "" {
			return &schema.Node{}
		}
		for _, letter := range n.Types {
			if !strings.ContainsRune(out.Types, letter) {
				out.Types += string(letter)
			}
		}
		if n.Types == "s" {
			texts++
			if len(n.Enum) > 0 {
				choices++
			}
			out.Open = out.Open || n.Open || len(n.Enum) == 0
			for _, w := range n.Enum {
				if !slices.Contains(out.Enum, w) {
					out.Enum = append(out.Enum, w)
				}
			}
		}
		if n.Items != nil {
			if out.Items == nil {
				out.Items = n.Items
			} else {
				out.Items = merge([]*schema.Node{out.Items, n.Items})
			}
		}
		if n.Is('o') {
			objects = append(objects, n)
		}
	}
	if choices == 0 {
		out.Enum, out.Open = nil, false
	}
	if texts < len(all) && len(out.Enum) > 0 {
		out.Enum, out.Open = nil, false // "auto" or a number: the words are not all
	}
	if len(objects) > 0 {
		mergeObjects(out, objects)
	}
	return out
}

// mergeObjects gives the properties of any of several objects; required are those that all require.
func mergeObjects(out *schema.Node, objects []*schema.Node) {
	properties := map[string][]*schema.Node{}
	required := objects[0].Required
	for _, n := range objects {
		if n.Free() {
			return // it takes anything
		}
		if n.Values != nil {
			out.Values = n.Values
		}
		for name, p := range n.Properties {
			properties[name] = append(properties[name], p)
		}
		required = slices.DeleteFunc(slices.Clone(required), func(name string) bool { return !slices.Contains(n.Required, name) })
	}
	if len(properties) == 0 {
		return
	}
	out.Required, out.Properties = required, map[string]*schema.Node{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		out.Properties[name] = merge(properties[name])
	}
}
