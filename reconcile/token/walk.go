package token

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// place is where a walk is; its path is made only when it is asked for.
type place struct {
	up    *place // nil at the root
	key   string
	index int // -1 for a key
}

func (p *place) path() tree.Path {
	switch {
	case p.up == nil:
		return ""
	case p.index >= 0:
		return p.up.path().Index(p.index)
	}
	return p.up.path().Key(p.key)
}

func (p *place) fail(err error) error { return &Error{Path: p.path(), Err: err} }

// eachString visits every string of a tree in tree order, the keys of maps just before their entries.
func eachString(v any, at *place, f func(s string, at *place) error) error {
	switch x := v.(type) {
	case string:
		return f(x, at)
	case []any:
		for i, e := range x {
			if err := eachString(e, &place{up: at, index: i}, f); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			if err := f(k, at); err != nil {
				return err
			}
			if err := eachString(x[k], &place{up: at, key: k, index: -1}, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// Canonical is v with every token spelt [Plain], in strings and in map keys. A damaged token, and two keys
// that become equal, are an [*Error] with the path. The result shares no list and no map with v.
func Canonical(v any) (any, error) { return canonical(v, &place{}) }

func canonical(v any, at *place) (any, error) {
	switch x := v.(type) {
	case string:
		s, err := canonicalText(x)
		if err != nil {
			return nil, at.fail(err)
		}
		if s == x {
			return v, nil
		}
		return s, nil
	case []any:
		list := make([]any, len(x))
		for i, e := range x {
			var err error
			if list[i], err = canonical(e, &place{up: at, index: i}); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(x))
		for _, k := range slices.Sorted(maps.Keys(x)) {
			key, err := canonicalText(k)
			if err != nil {
				return nil, at.fail(err)
			}
			if _, twice := m[key]; twice {
				return nil, at.fail(fmt.Errorf("two keys are both %s", Show(key)))
			}
			if m[key], err = canonical(x[k], &place{up: at, key: key, index: -1}); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return v, nil
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

// Refs are all references in a tree, in tree order, with those inside JSON, URLs and inputs of functions; At
// is the path of the string in v. A damaged token is an [*Error] with its path.
func Refs(v any) ([]Use, error) {
	used, err := Uses(v)
	return used.Refs, err
}

// Secrets are the names of the secrets that a tree uses, each once, in tree order. Damaged tokens use none.
func Secrets(v any) []string {
	used, _ := Uses(v)
	return used.Secrets
}

// Used is what the tokens of a tree stand for.
type Used struct {
	// Refs are as [Refs] gives them.
	Refs []Use
	// Secrets are as [Secrets] gives them.
	Secrets []string
	// Outputs are those of other stacks, in tree order.
	Outputs []Output
}

// Output is an output of another stack, and where it stands.
type Output struct {
	Stack Stack
	// Path begins with the name of the output.
	Path tree.Path
	At   tree.Path
}

// Uses gives everything that a tree uses, in one go.
func Uses(v any) (used Used, err error) {
	err = exprs(v, &place{}, func(e *Expr, at *place) {
		switch {
		case e.Op == OpRef:
			used.Refs = append(used.Refs, Use{Ref: e.Ref, At: at.path()})
		case e.Op == OpSecret && !slices.Contains(used.Secrets, e.Name):
			used.Secrets = append(used.Secrets, e.Name)
		case e.Op == OpStack:
			used.Outputs = append(used.Outputs, Output{Stack: e.Stack, Path: e.Ref.Path, At: at.path()})
		}
	})
	return used, err
}

// exprs visits the tokens of a tree and those inside them. It goes on after an error, and returns the first.
func exprs(v any, at *place, f func(*Expr, *place)) error {
	var first error
	_ = eachString(v, at, func(s string, at *place) error {
		plain, err := literal(s)
		var parts []Part
		if !plain {
			parts, err = Scan(s)
		}
		if err != nil && first == nil {
			first = at.fail(err)
		}
		for _, p := range parts {
			if p.Expr == nil {
				continue
			}
			f(p.Expr, at)
			if p.Expr.Input == nil && len(p.Expr.Args) == 0 {
				continue
			}
			inner := []any{p.Expr.Input, p.Expr.Args}
			_ = exprs(inner, at, func(e *Expr, _ *place) { f(e, at) }) // Scan has checked what is inside
		}
		return nil
	})
	return first
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
		return string(tree.Canonical(shown(e.Input)))
	case OpURL:
		return e.showURL()
	}
	return "${" + e.Ref.String() + "}"
}

// shown is a tree with its strings as people see them.
func shown(v any) any {
	switch x := v.(type) {
	case string:
		return Show(x)
	case []any:
		list := make([]any, len(x))
		for i, e := range x {
			list[i] = shown(e)
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(x))
		for k, e := range x {
			m[Show(k)] = shown(e)
		}
		return m
	}
	return v
}
