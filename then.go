package athanor

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/athanor-dev/athanor/reconcile/props"
)

// Then is what f makes of a value once it is known: the door to logic on attributes. The value is an attribute,
// text with references, or a struct, list or map of these. f must answer the same for the same value, and must
// not touch the cloud. What comes of a secret is secret. A graph with a Then needs its program.
//
//	port := athanor.Then(s, db.Port, func(p int) (athanor.Int, error) { return athanor.Num(int64(p + 1)), nil })
func Then[In any, Out ~string](s *Stack, value any, f func(In) (Out, error)) Out {
	t, err := treeOf(value)
	if err != nil {
		s.fail("", fmt.Errorf("Then: %w", err))
		return ""
	}
	s.mu.Lock()
	id := "f" + strconv.Itoa(len(s.graph.Funcs.Then)+1)
	s.graph.Funcs.Then[id] = func(input any) (out any, err error) {
		if panicked := s.files.guarded(func() { out, err = apply(input, f) }); panicked != nil {
			return nil, panicked.placed()
		}
		return out, err
	}
	s.mu.Unlock()
	text, err := s.in.Spelling.Then(id, t)
	if err != nil {
		s.fail("", fmt.Errorf("Then: %w", err))
	}
	return Out(text)
}

// Then is [Then] from text to text.
func (s *Stack) Then(value any, f func(string) string) string {
	return Then(s, value, func(text string) (string, error) { return f(text), nil })
}

// apply calls a function of the program with a known value.
func apply[In any, Out ~string](input any, f func(In) (Out, error)) (any, error) {
	var box struct{ Value In }
	if err := props.Decode(map[string]any{"value": input}, &box); err != nil {
		if fields, ok := errors.AsType[props.Errors](err); ok {
			return nil, fmt.Errorf("what a function of the program is given: %s", fields[0].Problem)
		}
		return nil, err
	}
	made, err := f(box.Value)
	if err != nil {
		return nil, err
	}
	return props.EncodeValue(made)
}
