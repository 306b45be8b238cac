package athanor_test

import (
	"errors"
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
