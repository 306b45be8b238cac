package yamlstack

import (
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Bounds on what a document may cost. Aliases and for make much of little, so what is counted is every visit
// of a node.
const (
	maxVisits = 5_000_000
	maxDepth  = 100
)

// errTooMuch stops the expansion of a document that grows without measure.
var errTooMuch = errors.New("the document expands to more than can be meant")

// errTooMuchValue and errTooMuchStack stop values that grow without measure.
var (
	errTooMuchValue = errors.New("the value has more than 1 MiB")
	errTooMuchStack = errors.New("the values of the stack have more than 64 MiB together")
)

// hold counts what a value holds, in bytes, before it is made. When it answers false the value is given up; that is
// reported once for each value, and once for the stack.
func (s *scope) hold(at place, n int) bool {
	had, all := s.held, s.loader.held
	s.held, s.loader.held = had+n, all+n
	switch {
	case s.held > tree.MaxValue:
		if had <= tree.MaxValue {
			s.wrong(at, errTooMuchValue)
		}
		return false
	case s.loader.held > tree.MaxValues:
		if all <= tree.MaxValues {
			s.wrong(at, errTooMuchStack)
		}
		return false
	}
	return true
}

// spend counts a visit. When it answers false the document is given up; that is reported once.
func (l *loader) spend(f *file, n *yaml.Node) bool {
	l.visits++
	if l.visits == maxVisits {
		l.wrong(f.of(n), "", reconcile.WithHint(errTooMuch, "aliases that refer to aliases, or a for over a large structure"))
	}
	return l.visits < maxVisits
}

// real is the node that an alias stands for.
func real(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// entry is one pair of a mapping.
type pair struct {
	name  string
	key   *yaml.Node
	value *yaml.Node
}

// pairs are the entries of a mapping in their order, with merge keys expanded: own entries win, then what is
// merged first. Null is an empty mapping.
func (l *loader) pairs(f *file, n *yaml.Node, what string) []pair {
	n = real(n)
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		l.wrongf(f.of(n), "%s: want a mapping, have %s", what, kindOf(n))
		return nil
	}
	list := make([]pair, 0, len(n.Content)/2)
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	l.addPairs(f, n, &list, seen, 0)
	return list
}

func (l *loader) addPairs(f *file, n *yaml.Node, list *[]pair, seen map[string]*yaml.Node, depth int) {
	if depth > maxDepth {
		l.wrong(f.of(n), "", errTooMuch)
		return
	}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !l.spend(f, key) {
			return
		}
		if key.Kind == yaml.ScalarNode && key.Tag == "!!merge" {
			merges = append(merges, value)
			continue
		}
		name := real(key)
		if name.Kind != yaml.ScalarNode || isNull(name) {
			l.wrongf(f.of(key), "a key must be text, have %s", kindOf(name))
			continue
		}
		if other, twice := seen[name.Value]; twice {
			if depth == 0 {
				l.wrongf(f.of(key), "%q stands here twice; the first is on line %d", name.Value, other.Line)
			}
			continue
		}
		seen[name.Value] = key
		*list = append(*list, pair{name.Value, key, value})
	}
	for _, m := range merges {
		l.merge(f, m, list, seen, depth)
	}
}

// merge adds what a merge key names: a mapping, or a list of them.
func (l *loader) merge(f *file, m *yaml.Node, list *[]pair, seen map[string]*yaml.Node, depth int) {
	targets := []*yaml.Node{m}
	if r := real(m); r.Kind == yaml.SequenceNode {
		targets = r.Content
	}
	for _, t := range targets {
		if r := real(t); r.Kind == yaml.MappingNode {
			l.addPairs(f, r, list, seen, depth+1)
		} else {
			l.wrongf(f.of(t), "<<: want a mapping to merge, have %s", kindOf(r))
		}
	}
}

// items are the elements of a list. Null is an empty list, and a single value a list of one.
func (l *loader) items(f *file, n *yaml.Node, what string) []*yaml.Node {
	n = real(n)
	switch {
	case isNull(n):
		return nil
	case n.Kind == yaml.SequenceNode:
		return n.Content
	default:
		l.wrongf(f.of(n), "%s: want a list, have %s", what, kindOf(n))
		return nil
	}
}

func isNull(n *yaml.Node) bool {
	return n.Kind == 0 || n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}

func kindOf(n *yaml.Node) string {
	switch {
	case isNull(n):
		return "nothing"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!int" || n.Tag == "!!float":
		return "a number"
	case n.Tag == "!!bool":
		return "a truth"
	}
	return "text"
}

// find is the place of the deepest part of a path that stands in n. For an entry of a mapping that is its key.
func (f *file) find(n *yaml.Node, path tree.Path) place {
	at := f.of(n)
	for _, s := range path.Steps() {
		var next *yaml.Node
		n = real(n)
		switch {
		case n.Kind == yaml.MappingNode && s.Index < 0:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if real(n.Content[i]).Value == s.Key {
					at, next = f.of(n.Content[i]), n.Content[i+1]
				}
			}
		case n.Kind == yaml.SequenceNode && s.Index >= 0 && s.Index < len(n.Content):
			next = n.Content[s.Index]
			at = f.of(next)
		}
		if next == nil {
			return at
		}
		n = next
	}
	return at
}
