package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// What a kind or a runner answers.
var (
	// ErrAbsent says that the cloud answered: there is none. A failed read is never ErrAbsent.
	ErrAbsent = errors.New("absent")
	// ErrReadOnly refuses a mutating call made while looking.
	ErrReadOnly = errors.New("a write while looking")
	// ErrAmbiguous says that several objects match and nothing tells them apart.
	ErrAmbiguous = errors.New("ambiguous")
	// ErrCannotTell says that a creation was begun and not answered, and that nothing finds the object which it may have created. An object that the
	// author names is taken for it.
	ErrCannotTell = errors.New("its creation was begun and not answered, and nothing finds it")
	// ErrNotMoved says that a kind cannot make an object of another kind one of its own.
	ErrNotMoved = errors.New("it cannot be moved to this kind")
	// ErrReplace is matched by a *ReplaceError.
	ErrReplace = errors.New("needs replacing")
	// ErrHoldsData refuses to delete an object that holds users' data without permission.
	ErrHoldsData = errors.New("holds data")
	// ErrReadAgain is matched by a Permit that a later read may satisfy: reads may still show an older value.
	ErrReadAgain = errors.New("an older value may be shown")
	// ErrUnsettled is matched by an *UnsettledError.
	ErrUnsettled = errors.New("does not become as declared")
)

// Class says what to do about an error of the cloud. Each provider classifies once, by code, never by text.
type Class string

// The classes of errors.
const (
	Absent    Class = "absent"    // there is none
	Exists    Class = "exists"    // look again
	Conflict  Class = "conflict"  // somebody else is changing it: retry
	Busy      Class = "busy"      // it is changing: retry
	Throttled Class = "throttled" // too many calls: retry later, not a failure
	Transient Class = "transient" // the answer was lost or the service stumbled: look, then retry
	Denied    Class = "denied"    // fail at once
	Invalid   Class = "invalid"   // fail at once
	Quota     Class = "quota"     // fail at once
	Unknown   Class = ""          // fail at once
)

// Retries reports whether an error of this class is retried, with backoff, within the time allowed.
func (c Class) Retries() bool {
	switch c {
	case Conflict, Busy, Throttled, Transient, Exists:
		return true
	default:
		return false
	}
}

// ReplaceError says that a difference has no in-place way.
type ReplaceError struct{ Steps []Step }

func (e *ReplaceError) Error() string {
	paths := make([]string, len(e.Steps))
	for i, s := range e.Steps {
		paths[i] = string(s.Path)
	}
	return "needs replacing: " + strings.Join(paths, ", ")
}

// Is reports ErrReplace.
func (e *ReplaceError) Is(target error) bool { return target == ErrReplace }

// Lost reports whether the only reason to replace is that create-only attributes are missing from state.
func (e *ReplaceError) Lost() bool {
	return !slices.ContainsFunc(e.Steps, func(s Step) bool { return !s.Lost })
}

// UnsettledError says that an object did not reach its declaration in the time or rounds allowed.
type UnsettledError struct {
	// Why is what it last waited for: "not visible yet", a Busy text, or "differs".
	Why string
	// Steps are the differences that kept coming back.
	Steps []Step
	// After is how long it was tried.
	After time.Duration
	// Err is the last error of the cloud, if any.
	Err error
}

func (e *UnsettledError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "does not become as declared after %s: %s", e.After.Round(time.Millisecond), e.Why)
	for _, s := range e.Steps {
		fmt.Fprintf(&b, "; %s", s)
	}
	if cause := fmt.Sprint(e.Err); e.Err != nil && cause != e.Why {
		b.WriteString(": " + cause)
	}
	return b.String()
}

// Is reports ErrUnsettled.
func (e *UnsettledError) Is(target error) bool { return target == ErrUnsettled }

func (e *UnsettledError) Unwrap() error { return e.Err }

// StepError says which call failed and which paths it was to set.
type StepError struct {
	Verb  string // "observe", "create", "set", "delete"
	Paths []tree.Path
	Err   error
}

func (e *StepError) Error() string {
	if len(e.Paths) == 0 {
		return e.Verb + ": " + e.Err.Error()
	}
	paths := make([]string, len(e.Paths))
	for i, p := range e.Paths {
		paths[i] = string(p)
	}
	return e.Verb + " " + strings.Join(paths, ", ") + ": " + e.Err.Error()
}

func (e *StepError) Unwrap() error { return e.Err }

// HintError carries what the user can do about an error, as data for the code that shows it.
type HintError struct {
	Err  error
	Hint string
}

func (e *HintError) Error() string { return e.Err.Error() }
func (e *HintError) Unwrap() error { return e.Err }

// WithHint attaches a hint to an error.
func WithHint(err error, format string, args ...any) error {
	return &HintError{Err: err, Hint: fmt.Sprintf(format, args...)}
}

// Hints collects the hints in an error's tree: those that were attached, and those of errors whose type has a method Hint.
func Hints(err error) []string {
	var hints []string
	for err != nil {
		switch h := err.(type) { //nolint:errorlint // this walks the tree itself
		case *HintError:
			hints = append(hints, h.Hint)
		case interface{ Hint() string }:
			if hint := h.Hint(); hint != "" {
				hints = append(hints, hint)
			}
		}
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range many.Unwrap() {
				hints = append(hints, Hints(e)...)
			}
			return hints
		}
		err = errors.Unwrap(err)
	}
	return hints
}

// classify asks the cloud, after the answers that are the same everywhere and the class that the error was given.
func classify(ctx context.Context, cloud Cloud, err error) Class {
	switch {
	case err == nil:
		return Unknown
	case errors.Is(err, ErrAbsent):
		return Absent
	case errors.Is(err, ErrReadOnly), errors.Is(err, ErrHoldsData), errors.Is(err, ErrAmbiguous), errors.Is(err, ErrInterrupted), ctx.Err() != nil:
		return Unknown
	}
	var stop *StopError
	if errors.As(err, &stop) || cloud == nil {
		return Unknown
	}
	if class, ok := ClassGiven(err); ok {
		return class
	}
	return cloud.Classify(err)
}

// StopError wraps an error that must end the work at once, whatever a provider would say of it: a lost
// lease, a refused ownership.
type StopError struct{ Err error }

func (e *StopError) Error() string { return e.Err.Error() }
func (e *StopError) Unwrap() error { return e.Err }
