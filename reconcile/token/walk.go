package token

import (
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Canonical is v with every token spelt [Plain], in strings and in map keys. A damaged token, and two keys
// that become equal, are an [*Error] with the path. The result shares no list and no map with v.
func Canonical(v any) (any, error) {
	var c canonizer
	return c.value(v)
}

type canonizer struct{ at tree.Trail }

func (c *canonizer) fail(err error) error { return &Error{Path: c.at.Path(), Err: err} }

func (c *canonizer) value(v any) (any, error) {
	switch x := v.(type) {
	case string:
		s, err := canonicalText(x)
		if err != nil {
			return nil, c.fail(err)
		}
		if s == x {
			return v, nil
		}
		return s, nil
	case []any:
		list := make([]any, len(x))
		for i, e := range x {
			c.at.Element(i)
			var err error
			if list[i], err = c.value(e); err != nil {
				return nil, err
			}
			c.at.Leave()
		}
		return list, nil
	case map[string]any:
		return c.entries(x)
	}
	return v, nil
}

func (c *canonizer) entries(entries map[string]any) (any, error) {
	var space [16]string
	m := make(map[string]any, len(entries))
	for _, k := range tree.AppendKeys(space[:0], entries) {
		key, err := canonicalText(k)
		if err != nil {
			return nil, c.fail(err)
		}
		if _, twice := m[key]; twice {
			return nil, c.fail(fmt.Errorf("two keys are both %s", Show(key)))
		}
		c.at.Enter(key)
		if m[key], err = c.value(entries[k]); err != nil {
			return nil, err
		}
		c.at.Leave()
	}
	return m, nil
}

func canonicalText(s string) (string, error) {
	if plain, err := literal(s); plain {
		return s, err
	}
	parts, err := Scan(s)
	if err != nil || !strings.Contains(s, shiftedOpen) {
		return s, err
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.plain())
	}
	return b.String(), nil
}

// plain is the part as canonical text.
func (p Part) plain() string {
	if p.Expr == nil {
		return p.Text
	}
	s, err := Plain.Expr(*p.Expr)
	if err != nil {
		panic("token: a scanned token does not write: " + err.Error())
	}
	return s
}

// Show is s for people: each token as ${orders.arn} or ${secret.apiKey}, JSON and URLs as their text with such
// names in it. A string with a damaged token stays as it is.
func Show(s string) string {
	if !Has(s) {
		return s
	}
	parts, err := Scan(s)
	if err != nil {
		return s
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Expr == nil {
			b.WriteString(p.Text)
		} else {
			b.WriteString(p.Expr.show())
		}
	}
	return b.String()
}

func (e *Expr) show() string {
	switch e.Op {
	case OpSecret:
		return "${secret." + e.Name + "}"
	case OpThen:
		return "${then." + e.Name + "}"
	case OpStack:
		return "${" + e.Stack.String() + "." + string(e.Ref.Path) + "}"
	case OpJSON:
		return string(tree.Canonical(tree.MapText(e.Input, Show)))
	case OpURL:
		return e.showURL()
	}
	return "${" + e.Ref.String() + "}"
}
