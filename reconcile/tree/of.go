package tree

import (
	"encoding/json"
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
func Of(v any) (any, error) { return of("", v, 0) }

// Is reports whether v is a tree already, of numbers that JSON has.
func Is(v any) bool {
	switch at := v.(type) {
	case nil, bool, int64, string:
		return true
	case float64:
		return !math.IsNaN(at) && !math.IsInf(at, 0)
	case []any:
		return !slices.ContainsFunc(at, func(e any) bool { return !Is(e) })
	case map[string]any:
		for _, e := range at {
			if !Is(e) {
				return false
			}
		}
		return true
	}
	return false
}

func of(p Path, v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, &TypeError{p, "nested too deep"}
	}
	switch at := v.(type) {
	case nil, bool, int64, string:
		return at, nil
	case int:
		return int64(at), nil
	case float64:
		return finite(p, at)
	case json.Number:
		return number(p, string(at))
	case json.RawMessage:
		t, err := Decode(at)
		if err != nil {
			return nil, &TypeError{p, err.Error()}
		}
		return t, nil
	case []byte:
		return nil, &TypeError{p, "bytes have no form of their own; say which text they are"}
	case []any:
		list := make([]any, len(at))
		for i, e := range at {
			x, err := of(p.Index(i), e, depth+1)
			if err != nil {
				return nil, err
			}
			list[i] = x
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(at))
		for k, e := range at {
			x, err := of(p.Key(k), e, depth+1)
			if err != nil {
				return nil, err
			}
			m[k] = x
		}
		return m, nil
	}
	return ofValue(p, reflect.ValueOf(v), depth)
}

func ofValue(p Path, v reflect.Value, depth int) (any, error) {
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.String:
		return v.String(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if v.Uint() > math.MaxInt64 {
			return nil, &TypeError{p, "a whole number out of range"}
		}
		return int64(v.Uint()), nil
	case reflect.Float32:
		// The shortest decimal that means the same float32: 0.1 stays 0.1.
		f, _ := strconv.ParseFloat(strconv.FormatFloat(v.Float(), 'g', -1, 32), 64)
		return finite(p, f)
	case reflect.Float64:
		return finite(p, v.Float())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil, nil
		}
		return of(p, v.Elem().Interface(), depth+1)
	case reflect.Slice, reflect.Array:
		return ofList(p, v, depth)
	case reflect.Map:
		return ofMap(p, v, depth)
	}
	return nil, &TypeError{p, fmt.Sprintf("a %s has no place in a tree", v.Type())}
}

func ofList(p Path, v reflect.Value, depth int) (any, error) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return of(p, []byte(nil), depth)
	}
	list := make([]any, v.Len())
	for i := range list {
		x, err := of(p.Index(i), v.Index(i).Interface(), depth+1)
		if err != nil {
			return nil, err
		}
		list[i] = x
	}
	return list, nil
}

func ofMap(p Path, v reflect.Value, depth int) (any, error) {
	if v.Type().Key().Kind() != reflect.String {
		return nil, &TypeError{p, fmt.Sprintf("a %s has keys that are not text", v.Type())}
	}
	m := make(map[string]any, v.Len())
	for it := v.MapRange(); it.Next(); {
		k := it.Key().String()
		x, err := of(p.Key(k), it.Value().Interface(), depth+1)
		if err != nil {
			return nil, err
		}
		m[k] = x
	}
	return m, nil
}

func finite(p Path, f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, &TypeError{p, fmt.Sprintf("%v is no JSON number", f)}
	}
	return f, nil
}

func number(p Path, s string) (any, error) {
	if v, err := Decode([]byte(s)); err == nil && strings.Trim(s, "-+.eE0123456789") == "" {
		return v, nil
	}
	return nil, &TypeError{p, "not a number, or one out of range"}
}
