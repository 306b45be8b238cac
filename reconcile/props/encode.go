package props

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Encode makes a tree of a struct, a map or a pointer to one, and leaves out what is not set. Durations and sizes
// become text in their one form, token.Int and token.Bool numbers and truths unless they are references. The
// error is an [Errors].
func Encode(v any) (map[string]any, error) {
	rv := reflect.ValueOf(v)
	for rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}
	if rv.Kind() != reflect.Struct && rv.Kind() != reflect.Map {
		return nil, fmt.Errorf("props: want a struct, have %T", v)
	}
	x, err := encode(rv, false, nil)
	m, _ := x.(map[string]any)
	return m, err
}

// EncodeValue makes a tree of one value of a type that a prop may have, or of any plain value. Unlike a field
// of a struct, a zero value is itself.
func EncodeValue(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	rv := reflect.ValueOf(v)
	if _, err := shapeOf(rv.Type()); err != nil {
		return tree.Of(v)
	}
	return encode(rv, false, nil)
}

// Dump makes a tree of a struct or a map of attributes, with every field in it, so that each can be referred to: an
// unset list or map is empty, a nil pointer and an unset token.Int are null. It panics on a type or a value
// that no tree can hold; [Check] finds such types beforehand.
func Dump(attrs any) map[string]any { return DumpAs(attrs, nil) }

// DumpAs is [Dump], and gives the very tree that it is given where that is what Dump would make: most attributes are as they were.
func DumpAs(attrs any, was map[string]any) map[string]any {
	rv := reflect.ValueOf(attrs)
	for rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}
	x, err := encode(rv, true, was)
	if err != nil {
		panic("props: dump: " + err.Error())
	}
	return x.(map[string]any)
}

func encode(v reflect.Value, full bool, was map[string]any) (any, error) {
	s, err := shapeOf(v.Type())
	if err != nil {
		return nil, err
	}
	e := encoding{full: full}
	if s.form == formObject && len(was) > 0 && e.same(s, v, was) {
		return was, nil
	}
	x := e.value(s, v)
	if len(e.errs) > 0 {
		return nil, e.errs
	}
	return x, nil
}

type encoding struct {
	full bool
	at   tree.Trail
	errs Errors
}

func (e *encoding) fail(problem string) any {
	e.errs = append(e.errs, &FieldError{Path: e.at.Path(), Problem: problem})
	return nil
}

func (e *encoding) value(s *shape, v reflect.Value) any {
	switch s.form {
	case formText, formSecret:
		return v.String()
	case formBool:
		return v.Bool()
	case formInt:
		return v.Int()
	case formDuration:
		return token.FormatDuration(time.Duration(v.Int()))
	case formSize:
		return Size(v.Int()).String()
	case formPointer:
		if v.IsNil() {
			return nil
		}
		return e.value(s.elem, v.Elem())
	case formList:
		return e.list(s, v)
	case formMap:
		return e.entries(s, v)
	case formObject:
		return e.object(s, v)
	case formTokenInt, formTokenBool, formTokenDuration:
		return e.token(s, v.String())
	case formAny:
		if v.IsNil() {
			return nil
		}
	}
	x := v.Interface()
	if e.full && tree.Is(x) {
		return x // attributes are made for the one who dumps them; props may be changed by the program that made them
	}
	x, err := tree.Of(x)
	if te, ok := errors.AsType[*tree.TypeError](err); ok {
		e.errs = append(e.errs, &FieldError{Path: e.at.Path().Join(te.Path), Problem: te.Why})
	}
	return x
}

func (e *encoding) list(s *shape, v reflect.Value) any {
	if v.IsNil() && !e.full {
		return nil
	}
	list := make([]any, v.Len())
	for i := range list {
		e.at.Element(i)
		list[i] = e.value(s.elem, v.Index(i))
		e.at.Leave()
	}
	return list
}

func (e *encoding) entries(s *shape, v reflect.Value) any {
	if v.IsNil() && !e.full {
		return nil
	}
	m := make(map[string]any, v.Len())
	for it := v.MapRange(); it.Next(); {
		k := it.Key().String()
		e.at.Enter(k)
		m[k] = e.value(s.elem, it.Value())
		e.at.Leave()
	}
	return m
}

func (e *encoding) object(s *shape, v reflect.Value) any {
	size := len(s.fields)
	if !e.full {
		size = 0 // few of many are set
	}
	m := make(map[string]any, size)
	for _, f := range s.fields {
		fv := v.FieldByIndex(f.index)
		if fv.IsZero() && !e.full {
			continue
		}
		e.at.Enter(f.name)
		x := e.value(f.shape, fv)
		e.at.Leave()
		if inner, ok := x.(map[string]any); ok && len(inner) == 0 && f.shape.form == formObject && !e.full {
			continue
		}
		m[f.name] = x
	}
	return m
}

// same reports whether a full encoding of an object is a tree that is there already.
func (e *encoding) same(s *shape, v reflect.Value, was map[string]any) bool {
	if !e.full || len(was) != len(s.fields) {
		return false
	}
	for _, f := range s.fields {
		have, known := was[f.name]
		if !known || !tree.Equal(have, e.value(f.shape, v.FieldByIndex(f.index))) {
			return false
		}
	}
	return true
}

// token is a literal of its own type, or the text of a reference. An unset one is null.
func (e *encoding) token(s *shape, text string) any {
	var x any
	var ok bool
	var err error
	switch s.form {
	case formTokenInt:
		x, ok, err = token.Int(text).Value()
	case formTokenBool:
		x, ok, err = token.Bool(text).Value()
	default:
		var span time.Duration
		span, ok, err = token.Duration(text).Value()
		x = token.FormatDuration(span)
	}
	switch {
	case errors.Is(err, token.ErrUnknown) && onlyToken(text) != nil:
		return text
	case errors.Is(err, token.ErrUnknown):
		return e.fail("want " + s.wants() + " or one reference, have text with a reference in it")
	case err != nil:
		return e.fail("want " + s.wants() + ", have text that is none")
	case !ok:
		return nil
	}
	return x
}
