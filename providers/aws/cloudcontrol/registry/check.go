package registry

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Check finds what is wrong with declared properties: unknown ones, missing ones, wrong types, words, patterns and bounds,
// and what can only be read. Text with references in it is taken for what is wanted.
func (t *Type) Check(declared map[string]any) props.Errors {
	c := checking{t: t}
	c.object(t.Root, declared, "", "")
	return c.errs
}

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
		below, path, patternPath := n.Properties[k], at.Key(k), pattern.Key(k)
		switch {
		case below == nil && n.Values != nil:
			below, patternPath = n.Values, pattern.Any()
		case below == nil && (n.Open || token.Has(k)):
			continue
		case below == nil:
			c.unknown(n, k, path)
			continue
		case c.t.ReadOnlyAt(patternPath):
			c.fail(path, "", "can only be read")
			continue
		}
		c.value(c.t.Follow(below), m[k], path, patternPath)
	}
	for _, k := range n.Required {
		if _, ok := m[k]; !ok && !c.t.ReadOnlyAt(pattern.Key(k)) {
			c.fail(at.Key(k), "", "is required")
		}
	}
}

func (c *checking) unknown(n *Node, k string, path tree.Path) {
	hint := ""
	if near, ok := props.Nearest(k, slices.Collect(maps.Keys(n.Properties))); ok {
		hint = "did you mean " + near + "?"
	}
	c.fail(path, hint, "is not a property")
}

func (c *checking) value(n *Node, v any, at, pattern tree.Path) {
	switch v := v.(type) {
	case map[string]any:
		if !n.Is('o') {
			c.wrong(n, "a map", at)
		} else if n.Properties != nil || n.Values != nil {
			c.object(n, v, at, pattern)
		}
	case []any:
		if !n.Is('a') {
			c.wrong(n, "a list", at)
			return
		}
		c.bounds(n, float64(len(v)), "elements", at)
		for i, e := range v {
			if n.Items != nil {
				c.value(c.t.Follow(n.Items), e, at.Index(i), pattern.Any())
			}
		}
	case string:
		c.text(n, v, at)
	case bool:
		if !n.Is('b') && !n.Is('s') {
			c.wrong(n, "true or false", at)
		}
	case int64:
		c.number(n, float64(v), true, at)
	case float64:
		c.number(n, v, v == float64(int64(v)), at)
	}
}

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
	if !n.Is('o') && !n.Is('a') {
		c.words(n, v, at)
	}
}

// words checks a text, which may be a secret: no problem repeats it.
func (c *checking) words(n *Node, v string, at tree.Path) {
	same := func(word string) bool { return word == v || n.Fold && strings.EqualFold(word, v) }
	if len(n.Enum) > 0 && !slices.ContainsFunc(n.Enum, same) {
		hint := ""
		if near, ok := props.Nearest(v, n.Enum); ok {
			hint = "did you mean " + near + "?"
		}
		shown := n.Enum
		if len(shown) > 12 {
			shown = append(slices.Clone(shown[:12]), "…")
		}
		c.fail(at, hint, "want one of %s", strings.Join(shown, ", "))
	}
	if n.Pattern != "" {
		if re, err := regexp.Compile(n.Pattern); err == nil && !re.MatchString(v) {
			c.fail(at, "", "want text that matches %s", n.Pattern)
		}
	}
	if n.Types == "s" {
		c.bounds(n, float64(utf8.RuneCountInString(v)), "characters", at)
	}
}

func (c *checking) number(n *Node, v float64, whole bool, at tree.Path) {
	switch {
	case n.Is('n'), n.Is('i') && whole:
		c.bounds(n, v, "", at)
	case n.Is('s') && whole:
	case n.Is('s'):
		c.fail(at, "write it in quotes", "want text, have a fraction")
	default:
		c.wrong(n, "a number", at)
	}
}

func (c *checking) bounds(n *Node, v float64, of string, at tree.Path) {
	say := func(word string, bound float64) {
		c.fail(at, "", "%s", strings.TrimSpace("want at "+word+" "+strconv.FormatFloat(bound, 'f', -1, 64)+" "+of))
	}
	if n.Min != nil && v < *n.Min {
		say("least", *n.Min)
	}
	if n.Max != nil && v > *n.Max {
		say("most", *n.Max)
	}
}

func (c *checking) wrong(n *Node, have string, at tree.Path) {
	c.fail(at, "", "want %s, have %s", n.wants(), have)
}

// wants names the types for people.
func (n *Node) wants() string {
	var all []string
	for _, letter := range n.Types {
		all = append(all, map[rune]string{
			'o': "a map", 'a': "a list", 's': "text", 'i': "a whole number", 'n': "a number", 'b': "true or false",
		}[letter])
	}
	return strings.Join(all, " or ")
}

// Form is declared properties in the registry's types: a whole number or a truth where text is wanted becomes text.
func (t *Type) Form(declared map[string]any) map[string]any {
	m, _ := t.form(t.Root, declared).(map[string]any)
	return m
}

func (t *Type) form(n *Node, v any) any {
	n = t.Follow(n)
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			below := n.Properties[k]
			if below == nil {
				below = n.Values
			}
			out[k] = t.form(below, e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = t.form(n.Items, e)
		}
		return out
	case bool, int64, float64:
		if n.Types == "s" {
			return string(tree.Canonical(v))
		}
	}
	return v
}
