package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Check finds what is wrong with declared properties: unknown ones, missing ones, wrong types and words. Text with
// references in it is taken for what is wanted.
func (t *Type) Check(declared map[string]any) props.Errors {
	c := checking{t: t}
	inBody := maps.Clone(declared)
	for _, parent := range t.Parents() {
		v, given := declared[parent]
		delete(inBody, parent)
		text, isText := v.(string)
		switch {
		case !given && !t.optional(parent):
			c.fail(tree.Path("").Key(parent), "", "is required")
		case given && (!isText || text == ""):
			c.fail(tree.Path("").Key(parent), "", "want text")
		}
	}
	for _, name := range t.Known {
		if v, given := declared[name]; given {
			c.value(&Node{Types: "s"}, v, tree.Path("").Key(name), tree.Path("").Key(name))
		}
		delete(inBody, name)
	}
	c.object(t.Root, inBody, "", "")
	return c.errs
}

func (t *Type) optional(parent string) bool { return parent == Zone && t.ZoneOptional() }

type checking struct {
	t    *Type
	errs props.Errors
}

func (c *checking) fail(at tree.Path, hint, format string, args ...any) {
	c.errs = append(c.errs, &props.FieldError{Path: at, Problem: fmt.Sprintf(format, args...), Hint: hint})
}

// object checks one; pattern is its path with * for what lists and maps hold.
func (c *checking) object(n *Node, m map[string]any, at, pattern tree.Path) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		below, deeper := n.Properties[k], pattern.Key(k)
		if below == nil && n.Values != nil {
			below, deeper = n.Values, pattern.Any()
		}
		switch {
		case c.t.Refused[deeper] != "":
			c.fail(at.Key(k), "", "cannot be declared: %s", c.t.Refused[deeper])
		case below != nil:
			c.value(below, m[k], at.Key(k), deeper)
		case !n.Free() && !token.Has(k):
			c.fail(at.Key(k), near(k, slices.Collect(maps.Keys(n.Properties))), "is not a property")
		}
	}
	for _, k := range n.Required {
		if _, ok := m[k]; !ok && (at != "" || k != c.t.NameProp || c.t.NameGiven) {
			c.fail(at.Key(k), "", "is required")
		}
	}
}

func near(word string, known []string) string {
	if best, ok := props.Nearest(word, known); ok {
		return "did you mean " + best + "?"
	}
	return ""
}

func (c *checking) value(n *Node, v any, at, pattern tree.Path) {
	switch v := v.(type) {
	case map[string]any:
		if !n.Is('o') {
			c.wrong(n, "a map", at)
		} else if !n.Free() {
			c.object(n, v, at, pattern)
		}
	case []any:
		if !n.Is('a') {
			c.wrong(n, "a list", at)
			return
		}
		for i, e := range v {
			c.value(n.Element(), e, at.Index(i), pattern.Any())
		}
	case string:
		c.text(n, v, at)
	case bool:
		if !n.Is('b') {
			c.wrong(n, "true or false", at)
		}
	case int64, float64:
		if !n.Is('n') {
			c.wrong(n, "a number", at)
		}
	}
}

// text checks one, which may be a secret: no problem repeats it. The description knows some words of an open choice: a
// text that is nearly one of them is taken for a mistake.
func (c *checking) text(n *Node, v string, at tree.Path) {
	if token.Has(v) {
		if parts, err := token.Scan(v); err == nil && len(parts) > 1 && !n.Is('s') {
			c.fail(at, "", "want %s or one reference, have text with a reference in it", n.wants())
		}
		return
	}
	if !n.Is('s') {
		c.wrong(n, "text", at)
		return
	}
	hint := near(v, n.Enum)
	if len(n.Enum) == 0 || slices.Contains(n.Enum, v) || n.Open && hint == "" {
		return
	}
	shown := n.Enum
	if len(shown) > 12 {
		shown = append(slices.Clone(shown[:12]), "…")
	}
	c.fail(at, hint, "want one of %s", strings.Join(shown, ", "))
}

func (c *checking) wrong(n *Node, have string, at tree.Path) {
	c.fail(at, "", "want %s, have %s", n.wants(), have)
}

// wants names the types for people.
func (n *Node) wants() string {
	var all []string
	for _, letter := range n.Types {
		all = append(all, map[rune]string{'o': "a map", 'a': "a list", 's': "text", 'n': "a number", 'b': "true or false"}[letter])
	}
	return strings.Join(all, " or ")
}
