package athanor

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/engine"
)

// declares runs the program. A panic of it is a mistake like any other.
func (e *evaluation) declares(program Program) {
	panicked := e.files.guarded(func() {
		if err := program(&Stack{evaluation: e}); err != nil {
			e.failAt("", "", err)
		}
		e.finish()
	})
	if panicked == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	// What the program would have declared after it is unknown, and so is what else is wrong.
	e.problems = []engine.Problem{{Source: panicked.at, Err: panicked.err()}}
}

// panicError is what a function of the program panicked with.
type panicError struct {
	value any
	// at is the place in the program, FILE:LINE; calls are the functions of the program that led there, the innermost first, without
	// those of athanor, of Go and of other modules.
	at    string
	calls []string
}

// err is the mistake without its place.
func (p *panicError) err() error {
	err := fmt.Errorf("your program panicked: %v", p.value)
	if cause, ok := p.value.(error); ok {
		err = fmt.Errorf("your program panicked: %w", cause)
	}
	if len(p.calls) > 1 {
		err = fmt.Errorf("%w\n%s", err, strings.Join(p.calls, "\n"))
	}
	return err
}

// placed is the mistake behind its place.
func (p *panicError) placed() error {
	if p.at == "" {
		return p.err()
	}
	return fmt.Errorf("%s: %w", p.at, p.err())
}

// guarded calls what runs functions of the program, and returns what it panicked with; nil where it did not.
func (n fileNames) guarded(f func()) (panicked *panicError) {
	defer func() {
		if v := recover(); v != nil {
			panicked = n.panicked(v)
		}
	}()
	f()
	return nil
}

// panicked returns what a function panicked with, with its place. Within a deferred function the frames of the panic are still on the
// stack.
func (n fileNames) panicked(value any) *panicError {
	p := &panicError{value: value}
	var pcs [256]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	standard, panics := "", false
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if f.Function == modulePath()+".fileNames.guarded" {
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
		if p.at == "" {
			p.at = place
		}
		p.calls = append(p.calls, f.Function[strings.LastIndexByte(f.Function, '/')+1:]+"  "+place)
	}
	return p
}
