package execute

import (
	"fmt"

	"github.com/athanor-dev/athanor/engine/causes"
	"github.com/athanor-dev/athanor/engine/plan"
)

// ResourceError is what went wrong with one resource. It adds the address, once.
type ResourceError struct {
	Address, Kind string
	Action        plan.Action
	Err           error
	// Own are the names and identities of the resource, which the error may hold.
	Own []string
	// Common is why every other resource of its location fails, "" where the error may be the resource's own; CommonHint is what can
	// be done about that. Both are redacted.
	Common, CommonHint string
}

func (e *ResourceError) Error() string { return e.Address + ": " + e.Err.Error() }
func (e *ResourceError) Unwrap() error { return e.Err }

// cause returns the error as one that others may have in common.
func (e *ResourceError) cause() causes.Error {
	return plan.Problem{Address: e.Address, Err: e.Err, Own: e.Own, Common: e.Common, CommonHint: e.CommonHint}.AsCause()
}

// CauseID names the cause of the error. Errors with one cause have the same.
func (e *ResourceError) CauseID() string { c := e.cause(); return c.ID() }

// commonCauses returns the errors that several failures have in common.
func commonCauses(failures []*ResourceError) []causes.Cause {
	errs := make([]causes.Error, len(failures))
	for i, f := range failures {
		errs[i] = f.cause()
	}
	return plan.SharedCauses(errs)
}

// ConvergeError names the path that keeps changing and its last two values.
type ConvergeError struct {
	Path       string
	Last, Then any
}

func (e *ConvergeError) Error() string {
	return fmt.Sprintf("does not converge: %s keeps changing, last from %v to %v", e.Path, e.Last, e.Then)
}
