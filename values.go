package athanor

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// The types of props that take references where plain Go types take none. Their zero is unset.
type (
	// Int is a whole number or a reference to one. See [Num].
	Int = token.Int
	// Bool is [True], [False] or a reference to one of them.
	Bool = token.Bool
	// Duration is a span of time or a reference to one. See [Dur].
	Duration = token.Duration
	// Secret is text that is masked wherever people could see it.
	Secret = token.Secret
	// Size is a number of bytes.
	Size = props.Size
)

// The literals of [Bool].
const (
	True  = token.True
	False = token.False
)

// What policies and hooks are told, and what they answer.
type (
	// Plan says what will be done.
	Plan = engine.Plan
	// Violation is what a policy refuses, or warns of.
	Violation = engine.Violation
	// HookInfo is what a hook is told.
	HookInfo = engine.HookInfo
)

// Num is n as an [Int].
func Num(n int64) Int { return token.Num(n) }

// Dur is d as a [Duration].
func Dur(d time.Duration) Duration { return token.Dur(d) }

// JSON is the JSON text of v, a struct, map, list or plain value that may hold references. Values are escaped
// as JSON needs it and keep their types: a reference to a number that is a whole text becomes a number. Fields
// of structs are named like props; a json tag overrides.
func (s *Stack) JSON(v any) string {
	t, err := treeOf(v)
	text := ""
	if err == nil {
		text, err = s.in.Spelling.JSON(t)
	}
	if err != nil {
		s.fail("", fmt.Errorf("JSON: %w", err))
	}
	return text
}

// URL is a URL in which each %s takes one argument, escaped for the part of the URL that it stands in: user,
// password, host, segment of the path, key or value of the query, fragment. Arguments are text, whole numbers,
// truths, references to these, or a [User] before the @.
//
//	s.URL("postgres://%s@%s:%s/shop", athanor.User("app", pw), db.Host, db.Port)
func (s *Stack) URL(format string, args ...any) string {
	plain := make([]any, len(args))
	for i, a := range args {
		plain[i] = a
		if rv := reflect.ValueOf(a); rv.Kind() == reflect.String {
			plain[i] = rv.String()
		}
	}
	text, err := s.in.Spelling.URL(format, plain)
	if err != nil {
		s.fail("", fmt.Errorf("URL: %w", err))
	}
	return text
}

// User is the name and the password of a URL, see [Stack.URL].
func User[N, P ~string](name N, password P) token.User {
	return token.User{Name: string(name), Password: string(password)}
}

// treeOf makes a tree of a value that may hold structs, attributes and typed references at any depth.
func treeOf(v any) (any, error) {
	rv := reflect.ValueOf(v)
	switch {
	case !rv.IsValid():
		return nil, nil
	case rv.Kind() == reflect.Map && rv.Type().Key().Kind() == reflect.String:
		return treeOfMap(rv)
	case rv.Kind() == reflect.Slice && rv.Type().Elem().Kind() != reflect.Uint8:
		return treeOfList(rv)
	}
	return props.EncodeValue(v)
}

func treeOfList(rv reflect.Value) (any, error) {
	if rv.IsNil() {
		return nil, nil
	}
	list := make([]any, rv.Len())
	for i := range list {
		x, err := treeOf(rv.Index(i).Interface())
		if err != nil {
			return nil, below(tree.Path("").Index(i), err)
		}
		list[i] = x
	}
	return list, nil
}

func treeOfMap(rv reflect.Value) (any, error) {
	if rv.IsNil() {
		return nil, nil
	}
	m := make(map[string]any, rv.Len())
	for it := rv.MapRange(); it.Next(); {
		k := it.Key().String()
		x, err := treeOf(it.Value().Interface())
		if err != nil {
			return nil, below(tree.Path("").Key(k), err)
		}
		m[k] = x
	}
	return m, nil
}

// below puts a step before the path of an error.
func below(at tree.Path, err error) error {
	if inner, ok := errors.AsType[*token.Error](err); ok {
		return &token.Error{Path: at.Join(inner.Path), Err: inner.Err}
	}
	return &token.Error{Path: at, Err: err}
}
