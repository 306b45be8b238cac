package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// TypeError says that a Go value has no place in a tree.
type TypeError struct {
	Path Path
	Why  string
}

func (e *TypeError) Error() string {
	if e.Path == "" {
		return e.Why
	}
	return string(e.Path) + ": " + e.Why
}

// Of makes a tree of a plain Go value: basic types and types named after them, json.Number and
// json.RawMessage, pointers (nil is null), lists, and maps with text as keys. The result shares nothing with
// v. Structs, bytes, functions, numbers that int64 or float64 cannot hold, and values nested deeper than any
// document are errors: a *TypeError.
func Of(v any) (any, error) {
	var o maker
	return o.of(v, 0)
}

// Is reports whether v is a tree already, of numbers that JSON has, and nested no deeper than a document.
func Is(v any) bool { return isTree(v, 0) }

func isTree(v any, depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch at := v.(type) {
	case nil, bool, int64, string:
		return true
	case float64:
		return !math.IsNaN(at) && !math.IsInf(at, 0)
	case []any:
		return !slices.ContainsFunc(at, func(e any) bool { return !isTree(e, depth+1) })
	case map[string]any:
		for _, e := range at {
			if !isTree(e, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// maker makes a tree, and knows where it is.
type maker struct{ at Trail }

func (o *maker) fail(why string) (any, error) { return nil, &TypeError{o.at.Path(), why} }

func (o *maker) of(v any, depth int) (any, error) {
	if depth > maxDepth {
		return o.fail("nested too deep")
	}
	switch at := v.(type) {
	case nil, bool, int64, string:
		return at, nil
	case int:
		return int64(at), nil
	case float64:
		return o.finite(at)
	case json.Number:
		return o.number(string(at))
	case json.RawMessage:
		t, err := read(at, true)
		if err != nil {
			return o.fail(err.Error())
		}
		return t, nil
	case []byte:
		return o.fail("bytes have no form of their own; say which text they are")
	case []any:
		list := make([]any, len(at))
		for i, e := range at {
			o.at.Element(i)
			x, err := o.of(e, depth+1)
			if err != nil {
				return nil, err
			}
			o.at.Leave()
			list[i] = x
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(at))
		for k, e := range at {
			o.at.Enter(k)
			x, err := o.of(e, depth+1)
			if err != nil {
				return nil, err
			}
			o.at.Leave()
			m[k] = x
		}
		return m, nil
	}
	return o.value(reflect.ValueOf(v), depth)
}

func (o *maker) value(v reflect.Value, depth int) (any, error) {
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.String:
		return v.String(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if v.Uint() > math.MaxInt64 {
			return o.fail("a whole number out of range")
		}
		return int64(v.Uint()), nil
	case reflect.Float32:
		// The shortest decimal that means the same float32: 0.1 stays 0.1.
		f, _ := strconv.ParseFloat(strconv.FormatFloat(v.Float(), 'g', -1, 32), 64)
		return o.finite(f)
	case reflect.Float64:
		return o.finite(v.Float())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil, nil
		}
		return o.of(v.Elem().Interface(), depth+1)
	case reflect.Slice, reflect.Array:
		return o.list(v, depth)
	case reflect.Map:
		return o.entries(v, depth)
	}
	return o.fail(fmt.Sprintf("a %s has no place in a tree", v.Type()))
}

func (o *maker) list(v reflect.Value, depth int) (any, error) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return o.of([]byte(nil), depth)
	}
	list := make([]any, v.Len())
	for i := range list {
		o.at.Element(i)
		x, err := o.of(v.Index(i).Interface(), depth+1)
		if err != nil {
			return nil, err
		}
		o.at.Leave()
		list[i] = x
	}
	return list, nil
}

func (o *maker) entries(v reflect.Value, depth int) (any, error) {
	if v.Type().Key().Kind() != reflect.String {
		return o.fail(fmt.Sprintf("a %s has keys that are not text", v.Type()))
	}
	m := make(map[string]any, v.Len())
	for it := v.MapRange(); it.Next(); {
		k := it.Key().String()
		o.at.Enter(k)
		x, err := o.of(it.Value().Interface(), depth+1)
		if err != nil {
			return nil, err
		}
		o.at.Leave()
		m[k] = x
	}
	return m, nil
}

func (o *maker) finite(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return o.fail(fmt.Sprintf("%v is no JSON number", f))
	}
	return f, nil
}

func (o *maker) number(s string) (any, error) {
	v, err := read([]byte(s), true)
	if err == nil && strings.Trim(s, "-+.eE0123456789") == "" {
		return v, nil
	}
	if wrong, ok := errors.AsType[*SyntaxError](err); ok && wrong.Why == inexact {
		return o.fail(s + " is " + inexact)
	}
	return o.fail("not a number, or one out of range")
}
