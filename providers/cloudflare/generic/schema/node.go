package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Node is the shape of one value. The zero value takes anything.
type Node struct {
	// Types are the JSON types allowed: o(bject), a(rray), s(tring), n(umber), b(oolean). "" is any.
	Types string `json:"y,omitempty"`
	// Null: the API takes null, which clears the value.
	Null bool `json:"z,omitempty"`
	// Enum are the words of a text. Open: the API may know others.
	Enum []string `json:"e,omitempty"`
	Open bool     `json:"eo,omitempty"`
	// Secret: the description says that it is sensitive.
	Secret bool `json:"x,omitempty"`
	// Items is the shape of the elements of a list.
	Items *Node `json:"it,omitempty"`
	// Properties of an object, and those that must be given.
	Properties map[string]*Node `json:"p,omitempty"`
	Required   []string         `json:"q,omitempty"`
	// Values is the shape of the values of a map, an object whose keys are the author's; nil when it is none.
	Values *Node `json:"v,omitempty"`
}

// Is reports whether a JSON type is allowed, by its letter.
func (n *Node) Is(letter byte) bool { return n.Types == "" || strings.IndexByte(n.Types, letter) >= 0 }

// Free reports a value whose inside the description does not tell.
func (n *Node) Free() bool { return n.Properties == nil && n.Values == nil && n.Items == nil }

// Below is the shape of a key of an object or a map.
func (n *Node) Below(key string) *Node {
	switch {
	case n.Properties[key] != nil:
		return n.Properties[key]
	case n.Values != nil:
		return n.Values
	}
	return &Node{}
}

// Empty is the value that says that there is none: text, a list or a map without anything in it. Nil: no value says so.
func (n *Node) Empty() any {
	switch n.Types {
	case "s":
		if len(n.Enum) == 0 {
			return ""
		}
	case "a":
		return []any{}
	case "o":
		return map[string]any{}
	}
	return nil
}

// Element is the shape of the elements of a list.
func (n *Node) Element() *Node {
	if n.Items == nil {
		return &Node{}
	}
	return n.Items
}

// short is how a node that is only a type is written in the table.
type short Node

// MarshalJSON writes a node as short as it can be.
func (n *Node) MarshalJSON() ([]byte, error) {
	if reflect.DeepEqual(*n, Node{Types: n.Types}) {
		return json.Marshal(n.Types)
	}
	return json.Marshal(short(*n))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *Node) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &n.Types)
	}
	if err := json.Unmarshal(data, (*short)(n)); err != nil {
		return err
	}
	// The generator of the descriptions writes a choice of numbers, such as the status of a redirect, as a choice of texts.
	if n.Types == "s" && len(n.Enum) > 0 && !slices.ContainsFunc(n.Enum, func(word string) bool { _, err := strconv.Atoi(word); return err != nil }) {
		n.Types = "sn"
	}
	return nil
}
