package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/causes"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// What callers branch on.
var (
	// ErrRefused is matched by *RefusedError: the plan cannot be applied.
	ErrRefused = errors.New("the plan is refused")
	// ErrStale is matched by *StaleError: a saved plan no longer fits.
	ErrStale = errors.New("the saved plan no longer fits")
	// ErrNotApproved says that the plan changed while waiting for the lease and was not approved again.
	ErrNotApproved = errors.New("not approved")
	// ErrNothingKnown says that destroy found no record and nowhere to look.
	ErrNothingKnown = errors.New("no state of this stage, and no location to search")
	// ErrBlocked says that something it depends on was not done.
	ErrBlocked = errors.New("blocked")
)

// Problem is something wrong with a declaration or a plan, at a place in the program.
type Problem struct {
	Address string
	// Source is file:line, "" when not known.
	Source string
	Err    error
	// Own are the names and identities of the resource, which the error may hold.
	Own []string
	// Follows is the address whose problem caused this one.
	Follows string
	// Common is why every other resource of its location fails, "" where the error may be the resource's own; CommonHint is what can
	// be done about that. Both are redacted.
	Common, CommonHint string
	// Cause is the ID of its cause, where that is known already.
	Cause string
}

func (p Problem) String() string {
	var b strings.Builder
	if p.Source != "" {
		b.WriteString(p.Source + ": ")
	}
	if p.Address != "" {
		b.WriteString(p.Address + ": ")
	}
	b.WriteString(p.Err.Error())
	return b.String()
}

// GraphError is everything that is wrong with a graph, all at once.
type GraphError struct{ Problems []Problem }

func (e *GraphError) Error() string {
	var lines []string
	for _, g := range GroupProblems(e.Problems) {
		if g.Shared() {
			lines = append(lines, strings.Join(g.Cause.Addresses, ", ")+": "+g.Cause.Error)
			continue
		}
		lines = append(lines, g.First.String())
	}
	return strings.Join(lines, "\n")
}

// ProblemGroup is all problems with one cause.
type ProblemGroup struct {
	Cause causes.Cause
	First Problem
}

// Shared reports whether several resources have the cause in common. A problem of no resource is nobody's.
func (g *ProblemGroup) Shared() bool { return g.Cause.Shared() && g.First.Address != "" }

// GroupProblems returns problems by their cause, those that follow from others last.
func GroupProblems(problems []Problem) []ProblemGroup {
	errs := make([]causes.Error, len(problems))
	first := map[string]Problem{}
	for i, p := range problems {
		errs[i] = p.AsCause()
		if id := errs[i].ID(); first[id].Err == nil {
			first[id] = p
		}
	}
	var groups []ProblemGroup
	for _, c := range causes.Group(errs) {
		groups = append(groups, ProblemGroup{Cause: c, First: first[c.ID]})
	}
	return groups
}

// AsCause returns the problem as an error that others may have in common.
func (p Problem) AsCause() causes.Error {
	return causes.Error{
		Address: p.Address, Text: p.Err.Error(), Hint: strings.Join(reconcile.Hints(p.Err), "; "),
		Own: append([]string{p.Address}, p.Own...), Follows: p.Follows, Common: p.Common, CommonHint: p.CommonHint, Cause: p.Cause,
	}
}

// WithNearest adds to an error which known name may be meant, where one is near, else another hint, "" for none.
func WithNearest(err error, name string, known []string, otherwise string) error {
	near, ok := props.Nearest(name, known)
	switch {
	case ok:
		return reconcile.WithHint(err, "did you mean %s?", near)
	case otherwise == "":
		return err
	}
	return reconcile.WithHint(err, "%s", otherwise)
}

// Unwrap gives the errors, so that hints and sentinels are found.
func (e *GraphError) Unwrap() []error {
	errs := make([]error, len(e.Problems))
	for i, p := range e.Problems {
		errs[i] = p.Err
	}
	return errs
}

// SharedCauses returns the causes that concern more than one address.
func SharedCauses(errs []causes.Error) []causes.Cause {
	return slices.DeleteFunc(causes.Group(errs), func(c causes.Cause) bool { return !c.Shared() })
}

// RefusedError says why a plan cannot be applied: everything at once.
type RefusedError struct{ Problems []Problem }

func (e *RefusedError) Error() string { return (&GraphError{e.Problems}).Error() }

// Is reports ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// Unwrap gives the errors, so that hints and sentinels are found.
func (e *RefusedError) Unwrap() []error { return (&GraphError{e.Problems}).Unwrap() }

// StaleError names what moved since a plan was saved.
type StaleError struct{ Moved []string }

func (e *StaleError) Error() string {
	return "the saved plan no longer fits: " + strings.Join(e.Moved, "; ")
}

// Is reports ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// CycleError is a dependency cycle that no late path opens.
type CycleError struct {
	// Members in order, each needing the next, the last needing the first; Paths say through which prop.
	Members []string
	Paths   []string
}

func (e *CycleError) Error() string {
	var b strings.Builder
	b.WriteString("dependency cycle: ")
	for i, m := range e.Members {
		fmt.Fprintf(&b, "%s (%s) → ", m, e.Paths[i])
	}
	b.WriteString(e.Members[0])
	return b.String()
}

// HalfMovedError says that a move was stopped after the rows had moved. The named ones have no owner tags with their
// new addresses yet; the next deploy does it, and so does the same move again.
type HalfMovedError struct{ Addresses []string }

func (e *HalfMovedError) Error() string {
	return "stopped: state has moved; the owner tags of " + strings.Join(e.Addresses, ", ") + " have not"
}
