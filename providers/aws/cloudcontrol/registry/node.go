package registry

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Node is the shape of one value. Its zero takes anything.
type Node struct {
	// Types are the JSON types allowed: o(bject), a(rray), s(tring), i(nteger), n(umber), b(oolean). "" is any.
	Types string `json:"y,omitempty"`
	// Ref names a definition, which is the shape then.
	Ref string `json:"$r,omitempty"`

	Enum []string `json:"e,omitempty"`
	// Fold: the case of the words does not count.
	Fold    bool   `json:"ef,omitempty"`
	Pattern string `json:"x,omitempty"`
	// Min and Max bound a number, the length of a text, or the number of elements.
	Min *float64 `json:"m,omitempty"`
	Max *float64 `json:"M,omitempty"`

	// Items is the shape of the elements of a list; Unordered: their order does not count.
	Items     *Node `json:"it,omitempty"`
	Unordered bool  `json:"u,omitempty"`

	// Properties of an object; Open: it may have others.
	Properties map[string]*Node `json:"p,omitempty"`
	Required   []string         `json:"q,omitempty"`
	Open       bool             `json:"o,omitempty"`
	// Values is the shape of the values of a map, an object whose keys are the author's; nil when it is none.
	Values *Node `json:"v,omitempty"`
}

// Is reports whether a JSON type is allowed, by its letter.
func (n *Node) Is(letter byte) bool { return n.Types == "" || strings.IndexByte(n.Types, letter) >= 0 }

// Free reports a value whose inside the registry does not describe.
func (n *Node) Free() bool { return n.Properties == nil && n.Values == nil && n.Items == nil }

// short is how a node that is only a type, or only a reference, is written in the table.
type short Node

// MarshalJSON writes a node as short as it can be.
func (n *Node) MarshalJSON() ([]byte, error) {
	switch {
	case reflect.DeepEqual(*n, Node{Types: n.Types}):
		return json.Marshal(n.Types)
	case reflect.DeepEqual(*n, Node{Ref: n.Ref}):
		return json.Marshal("#" + n.Ref)
	}
	s := short(*n)
	if s.Types == s.implied() {
		s.Types = ""
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *Node) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		var s short
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		if s.Types == "" {
			s.Types = s.implied()
		}
		*n = Node(s)
		return nil
	}
	var word string
	if err := json.Unmarshal(data, &word); err != nil {
		return err
	}
	if ref, ok := strings.CutPrefix(word, "#"); ok {
		n.Ref = ref
	} else {
		n.Types = word
	}
	return nil
}

// implied is the type that what is inside speaks of.
func (s *short) implied() string {
	switch {
	case s.Properties != nil, s.Values != nil:
		return "o"
	case s.Items != nil:
		return "a"
	}
	return ""
}

// Follow is the shape itself, behind its reference.
func (t *Type) Follow(n *Node) *Node {
	for range 8 { // a reference to a reference; never to itself
		if n == nil || n.Ref == "" {
			break
		}
		n = t.Definitions[n.Ref]
	}
	if n == nil {
		return &Node{}
	}
	return n
}
