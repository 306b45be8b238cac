package athanor

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/engine"
)

// declares runs the program. A panic of it is a mistake like any other: it names the place, and the functions of the program that led
// there, without those of athanor, of Go and of other modules.
func (e *evaluation) declares(program Program) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		at, calls := e.files.panicked()
		err := fmt.Errorf("your program panicked: %v", v)
		if cause, ok := v.(error); ok {
			err = fmt.Errorf("your program panicked: %w", cause)
		}
		if len(calls) > 1 {
			err = fmt.Errorf("%w\n%s", err, strings.Join(calls, "\n"))
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		// What the program would have declared after it is unknown, and so is what else is wrong.
		e.problems = []engine.Problem{{Source: at, Err: err}}
	}()
	if err := program(&Stack{evaluation: e}); err != nil {
		e.failAt("", "", err)
	}
	e.finish()
}

// panicked returns the place in the program that panicked, and the calls of the program that led there, the innermost first. Within a
// deferred function the frames of the panic are still on the stack.
func (n fileNames) panicked() (at string, calls []string) {
	var pcs [256]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	standard, panics := "", false
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if f.Function == modulePath()+".Evaluate" {
			break // what follows called it
		}
		if dir, ok := strings.CutSuffix(f.File, "runtime/panic.go"); ok && !panics {
			standard, panics = dir, true
		}
		if !panics || f.File == "" || strings.HasPrefix(f.File, standard) || within(f.Function, f.File) {
			continue
		}
		if strings.Contains(f.File, "/pkg/mod/") || strings.HasPrefix(f.Function, "testing.") {
			continue
		}
		place := n.short(f.File) + ":" + strconv.Itoa(f.Line)
		if at == "" {
			at = place
		}
		calls = append(calls, f.Function[strings.LastIndexByte(f.Function, '/')+1:]+"  "+place)
	}
	return at, calls
}
