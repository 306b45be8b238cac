package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// letters of JSON types, see registry.Node.
var letters = map[string]string{
	"object": "o", "array": "a", "string": "s", "integer": "i", "number": "n", "boolean": "b",
}

// longest is how long a pattern may be that is worth its place.
const longest = 120

// node is the shape of one value. What the table does not know is left to the service.
func (c *converter) node(v any, depth int) *registry.Node {
	s, ok := v.(obj)
	if !ok || depth > 40 {
		return &registry.Node{}
	}
	if ref, ok := s["$ref"].(string); ok {
		if key, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
			return &registry.Node{Ref: key}
		}
		if key, ok := strings.CutPrefix(ref, "#/properties/"); ok {
			properties, _ := c.schema["properties"].(obj)
			return c.node(properties[key], depth+1)
		}
		return &registry.Node{}
	}
	n := &registry.Node{Types: typesOf(s["type"])}
	c.text(n, s)
	c.list(n, s, depth)
	c.object(n, s, depth)
	for _, word := range []string{"oneOf", "anyOf", "allOf"} {
		choices, _ := s[word].([]any)
		c.choices(n, choices, depth, word == "allOf")
	}
	return n
}

func typesOf(v any) string {
	if word, ok := v.(string); ok {
		return letters[word]
	}
	var out strings.Builder
	for _, word := range words(v) {
		out.WriteString(letters[word])
	}
	return out.String()
}

// text is what is said of texts and numbers.
func (c *converter) text(n *registry.Node, s obj) {
	for _, word := range []string{"enum", "enumCaseInsensitive"} {
		for _, x := range asList(s[word]) {
			n.Enum = append(n.Enum, plain(x))
		}
		n.Fold = n.Fold || s[word] != nil && word == "enumCaseInsensitive"
	}
	if pattern, ok := s["pattern"].(string); ok && pattern != "" {
		if _, err := regexp.Compile(pattern); err != nil || len(pattern) > longest {
			c.left["patterns left out"]++
		} else if pattern != ".*" && pattern != "^.*$" {
			n.Pattern = pattern
		}
	}
	for _, bound := range []struct {
		to      **float64
		by      string
		letters string
	}{
		{&n.Min, "minLength", "s"},
		{&n.Min, "minimum", "in"},
		{&n.Min, "minItems", "a"},
		{&n.Max, "maxLength", "s"},
		{&n.Max, "maximum", "in"},
		{&n.Max, "maxItems", "a"},
	} {
		if x, ok := number(s[bound.by]); ok && n.Types != "" && strings.Contains(bound.letters, n.Types) {
			*bound.to = &x
		}
	}
	if n.Min != nil && *n.Min == 0 && n.Types != "i" && n.Types != "n" {
		n.Min = nil
	}
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

func plain(x any) string {
	if text, ok := x.(string); ok {
		return text
	}
	return string(tree.Canonical(x))
}

func number(v any) (float64, bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	}
	return 0, false
}

// list is what is said of lists. A set, and what says that its order does not count, is unordered.
func (c *converter) list(n *registry.Node, s obj, depth int) {
	if items, ok := s["items"]; ok {
		n.Items = c.node(items, depth+1)
	}
	n.Unordered = s["insertionOrder"] == false || s["arrayType"] == "AttributeList"
}

// object is what is said of objects and maps.
func (c *converter) object(n *registry.Node, s obj, depth int) {
	properties, isObject := s["properties"].(obj)
	if isObject {
		n.Properties = map[string]*registry.Node{}
		for key, p := range properties {
			n.Properties[key] = c.node(p, depth+1)
		}
	}
	n.Required = words(s["required"])
	slices.Sort(n.Required)
	patterns, _ := s["patternProperties"].(obj)
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		if isObject && len(properties) > 0 {
			n.Open = true
		} else {
			n.Values = c.node(patterns[pattern], depth+1)
		}
	}
	switch more := s["additionalProperties"].(type) {
	case obj:
		if isObject && len(properties) > 0 {
			n.Open = true
		} else {
			n.Values = c.node(more, depth+1)
		}
	case bool:
		n.Open = n.Open || more && isObject
	case nil:
		n.Open = n.Open || isObject
	}
	if len(n.Properties) == 0 && n.Values == nil && n.Open {
		n.Properties, n.Open = nil, false // an object of any inside
	}
}

// choices adds what several shapes allow: which of them it is, the service says.
func (c *converter) choices(n *registry.Node, choices []any, depth int, all bool) {
	for _, choice := range choices {
		one := c.node(choice, depth+1)
		if one.Ref != "" {
			if n.Types == "" && n.Free() {
				*n = registry.Node{Types: "o"} // of several definitions: not looked into
			}
			n.Open = true
			continue
		}
		for key, p := range one.Properties {
			if n.Properties == nil {
				n.Properties = map[string]*registry.Node{}
			}
			if n.Properties[key] == nil {
				n.Properties[key] = p
			}
		}
		if all {
			n.Required = append(n.Required, one.Required...)
		}
		if n.Items == nil {
			n.Items = one.Items
		}
		if one.Types != "" && !strings.Contains(n.Types, one.Types) && (n.Types != "" || len(choices) > 1) {
			n.Types += one.Types
		}
	}
	slices.Sort(n.Required)
	n.Required = slices.Compact(n.Required)
}
