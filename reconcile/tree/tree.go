// Package tree holds JSON-like values and the paths into them.
//
// A tree is one of nil, bool, int64, float64, string, []any and map[string]any, and nothing else. Trees are
// what programs declare, what stores keep and what comparisons look at; functions here never change a tree
// that they are given.
//
// The package knows the shape of values. It does not know what they mean: references, secrets and types of
// properties are the business of the packages token and props.
package tree

import (
	"maps"
	"reflect"
	"slices"
)

// Get finds the value at p. A path with wildcards finds nothing.
func Get(v any, p Path) (any, bool) {
	for p != "" {
		step, rest, _ := p.next()
		switch at := v.(type) {
		case map[string]any:
			x, ok := at[step.Key]
			if !ok || step.Index >= 0 || step.Any {
				return nil, false
			}
			v = x
		case []any:
			if step.Index < 0 || step.Index >= len(at) {
				return nil, false
			}
			v = at[step.Index]
		default:
			return nil, false
		}
		p = rest
	}
	return v, true
}

// With is v with x at p; v itself stays as it is, and what p does not touch is shared. Maps are made on the
// way where there is none. An index one past the end appends; one further out changes nothing. A wildcard
// stands for every entry that is there.
func With(v any, p Path, x any) any {
	if p == "" {
		return x
	}
	step, rest, _ := p.next()
	switch {
	case step.Any:
		return each(v, func(e any) (any, bool) { return With(e, rest, x), true })
	case step.Index >= 0:
		list, _ := v.([]any)
		if step.Index > len(list) {
			return v
		}
		list = slices.Clone(list)
		if step.Index == len(list) {
			list = append(list, nil)
		}
		list[step.Index] = With(list[step.Index], rest, x)
		return list
	}
	old, _ := v.(map[string]any)
	m := make(map[string]any, len(old)+1)
	maps.Copy(m, old)
	m[step.Key] = With(m[step.Key], rest, x)
	return m
}

// Without is v with nothing at p; v itself stays as it is. What follows a removed element of a list moves up.
// The root cannot be removed: it becomes nil. A wildcard stands for every entry that is there.
func Without(v any, p Path) any {
	if p == "" {
		return nil
	}
	step, rest, _ := p.next()
	if step.Any {
		return each(v, func(e any) (any, bool) { return Without(e, rest), rest != "" })
	}
	switch at := v.(type) {
	case map[string]any:
		old, ok := at[step.Key]
		if !ok || step.Index >= 0 {
			return v
		}
		m := maps.Clone(at)
		if rest == "" {
			delete(m, step.Key)
		} else {
			m[step.Key] = Without(old, rest)
		}
		return m
	case []any:
		if step.Index < 0 || step.Index >= len(at) {
			return v
		}
		list := slices.Clone(at)
		if rest == "" {
			return slices.Delete(list, step.Index, step.Index+1)
		}
		list[step.Index] = Without(at[step.Index], rest)
		return list
	}
	return v
}

// each is v with every entry replaced by what f makes of it, or dropped when f says so.
func each(v any, f func(any) (any, bool)) any {
	switch at := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(at))
		for k, e := range at {
			if x, keep := f(e); keep {
				m[k] = x
			}
		}
		return m
	case []any:
		list := make([]any, 0, len(at))
		for _, e := range at {
			if x, keep := f(e); keep {
				list = append(list, x)
			}
		}
		return list
	}
	return v
}

// Equal reports whether a and b mean the same: numbers compare by value (int64(1) equals float64(1)), nil
// maps and lists equal empty ones. It agrees with [Canonical].
func Equal(a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	case string:
		y, ok := b.(string)
		return ok && x == y
	case int64:
		switch y := b.(type) {
		case int64:
			return x == y
		case float64:
			return sameNumber(x, y)
		}
		return false
	case float64:
		switch y := b.(type) {
		case int64:
			return sameNumber(y, x)
		case float64:
			return x == y
		}
		return false
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, Equal)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && (isSame(x, y) || maps.EqualFunc(x, y, Equal))
	}
	panic(foreign(a))
}

// isSame reports one and the same map. What is in state as it is declared is held once, and compared with itself.
func isSame(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

func sameNumber(i int64, f float64) bool {
	n, ok := integral(f)
	return ok && n == i
}

// integral is f as an integer, where it is one that int64 holds.
func integral(f float64) (int64, bool) {
	if f >= -1<<63 && f < 1<<63 && f == float64(int64(f)) {
		return int64(f), true
	}
	return 0, false
}

// Walk visits v and everything below it, depth first, parents before children and map keys in order. When f
// answers false for a value, what is below it is passed over.
func Walk(v any, f func(Path, any) bool) { walk("", v, f) }

func walk(p Path, v any, f func(Path, any) bool) {
	if !f(p, v) {
		return
	}
	switch at := v.(type) {
	case map[string]any:
		var space [16]string
		for _, k := range AppendKeys(space[:0], at) {
			walk(p.Key(k), at[k], f)
		}
	case []any:
		for i, e := range at {
			walk(p.Index(i), e, f)
		}
	}
}

// Any reports whether f holds for v or for anything below it, keys of maps aside. What it visits, and in which order,
// depends on where it finds one.
func Any(v any, f func(any) bool) bool {
	if f(v) {
		return true
	}
	switch at := v.(type) {
	case map[string]any:
		for _, e := range at {
			if Any(e, f) {
				return true
			}
		}
	case []any:
		for _, e := range at {
			if Any(e, f) {
				return true
			}
		}
	}
	return false
}

// AppendKeys appends the keys of m to keys, in order.
func AppendKeys(keys []string, m map[string]any) []string {
	from := len(keys)
	keys = slices.Grow(keys, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys[from:])
	return keys
}

// Map returns a copy of v in which f has replaced every value that is neither a map nor a list.
func Map(v any, f func(any) any) any {
	return mapped(v, func(key string) string { return key }, f)
}

// MapText returns a copy of v in which f has replaced every text, keys of maps among them.
func MapText(v any, f func(string) string) any {
	return mapped(v, f, func(leaf any) any {
		if text, ok := leaf.(string); ok {
			return f(text)
		}
		return leaf
	})
}

func mapped(v any, key func(string) string, leaf func(any) any) any {
	switch at := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(at))
		for k, e := range at {
			m[key(k)] = mapped(e, key, leaf)
		}
		return m
	case []any:
		list := make([]any, len(at))
		for i, e := range at {
			list[i] = mapped(e, key, leaf)
		}
		return list
	}
	return leaf(v)
}

// Clone is a copy of v that shares no map and no list with it.
func Clone(v any) any {
	switch at := v.(type) {
	case map[string]any:
		if at == nil {
			return at
		}
		m := make(map[string]any, len(at))
		for k, e := range at {
			m[k] = Clone(e)
		}
		return m
	case []any:
		if at == nil {
			return at
		}
		list := make([]any, len(at))
		for i, e := range at {
			list[i] = Clone(e)
		}
		return list
	}
	return v
}
