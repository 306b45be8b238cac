package athanor_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
)

// panics are programs that panic, each with what is said of it and the functions that are named, the innermost first.
var panics = map[string]struct {
	program athanor.Program
	text    string
	calls   []string
}{
	"in a function of the program": {func(*athanor.Stack) error { return setsNil(nil) }, "assignment to entry in nil map", []string{"setsNil", "func"}},
	"in the program itself":        {func(*athanor.Stack) error { panic("no") }, "no", nil},
	"with an error":                {func(*athanor.Stack) error { panic(fs.ErrNotExist) }, "file does not exist", nil},
	"in Go":                        {func(*athanor.Stack) error { _ = strings.Repeat("x", -len("x")); return nil }, "strings: negative Repeat count", nil},
	"in athanor":                   {func(*athanor.Stack) error { newQueue(nil, "q", queueProps{}); return nil }, "nil pointer dereference", []string{"newQueue", "func"}},
	"after a mistake":              {func(s *athanor.Stack) error { s.Fail(errors.New("bad")); panic("no") }, "no", nil},
}

func setsNil(m map[string]int) error {
	m["x"] = 1
	return nil
}

// A panic of a program is an error with its place and the program's own functions, and nothing of athanor or Go.
func TestPanicOfAProgram(t *testing.T) {
	for name, tt := range panics {
		g, err := evaluate(t, tt.program, athanor.Plain)
		bad, ok := errors.AsType[*engine.GraphError](err)
		if !ok || g != nil || len(bad.Problems) != 1 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p := bad.Problems[0]
		lines := strings.Split(p.Err.Error(), "\n")
		if !strings.HasPrefix(lines[0], "your program panicked: ") || !strings.HasSuffix(lines[0], tt.text) {
			t.Errorf("%s: it says %q", name, lines[0])
		}
		if place := p.Source; !strings.HasPrefix(place, "panic_test.go:") && !strings.HasPrefix(place, "world_test.go:") {
			t.Errorf("%s: it is at %q", name, place)
		}
		calls := lines[1:]
		if len(calls) != len(tt.calls) || !slices.EqualFunc(calls, tt.calls, strings.Contains) {
			t.Errorf("%s: the calls are %q, want %q", name, calls, tt.calls)
		}
	}
	if _, err := evaluate(t, panics["with an error"].program, athanor.Plain); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error that it panicked with is lost: %v", err)
	}
}

// A panic of a function that the program gave, a hook or a policy, is the error of what it was called for: the run goes on to its end.
func TestPanicOfAFunction(t *testing.T) {
	g := mustEvaluate(t, func(s *athanor.Stack) error {
		newQueue(s, "q", queueProps{}, athanor.Before(athanor.Call(func(context.Context, athanor.HookInfo) error { return setsNil(nil) })),
			athanor.After(athanor.Call(func(context.Context, athanor.HookInfo) error { panic(fs.ErrNotExist) })))
		s.Policy(func(*athanor.Plan) []athanor.Violation { panic("no") })
		return nil
	})
	err := g.Funcs.Hooks[g.Resources[0].Options.Before[0].Func](t.Context(), athanor.HookInfo{})
	lines := strings.Split(fmt.Sprint(err), "\n")
	if !strings.HasPrefix(lines[0], "panic_test.go:") || !strings.HasSuffix(lines[0], ": your program panicked: assignment to entry in nil map") ||
		len(lines) != 3 || !strings.Contains(lines[1], "setsNil  panic_test.go:") {
		t.Errorf("a hook: %q", lines)
	}
	if err := g.Funcs.Hooks[g.Resources[0].Options.After[0].Func](t.Context(), athanor.HookInfo{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error that a hook panicked with is lost: %v", err)
	}
	found := g.Funcs.Policies[0](nil)
	if len(found) != 1 || found[0].Warning || !strings.HasPrefix(found[0].Policy, "panic_test.go:") || found[0].Message != "your program panicked: no" {
		t.Errorf("a policy: %+v", found)
	}
}
