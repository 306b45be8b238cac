package execute

import (
	"time"

	"github.com/athanor-dev/athanor/engine/calls"
	"github.com/athanor-dev/athanor/engine/causes"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/statestore"
)

// Result is how a run ended.
type Result struct {
	Run     string              `json:"run,omitempty"` // "" when there was nothing to do
	State   statestore.RunState `json:"state"`
	Summary plan.Summary        `json:"summary"`
	Calls   calls.Calls         `json:"calls"`
	Commits int                 `json:"commits"`
	Took    time.Duration       `json:"-"`
	// Slow says what a run of ten seconds and more took long for.
	Slow *Slow `json:"slow,omitempty"`
	// Outputs as trees; Secret names those to be masked.
	Outputs map[string]any  `json:"outputs,omitempty"`
	Secret  map[string]bool `json:"-"`
	// Failures by address, in the order they happened.
	Failures []*ResourceError `json:"-"`
	// Causes are the errors that several failures have in common.
	Causes []causes.Cause `json:"causes,omitempty"`
	// Waiting says what somebody must do, by address.
	Waiting map[string]string `json:"waiting,omitempty"`
	// InterruptedBy says who asked the run to stop first, BySignal or ByCancel; "" when nobody did.
	InterruptedBy string `json:"interruptedBy,omitempty"`
}

// Complete reports whether everything that the run was to do is done, or waits for somebody else, and every output is known.
func (r *Result) Complete() bool {
	return r.State != statestore.Cancelled && r.Summary.Failed+r.Summary.Blocked+r.Summary.NotStarted+r.Summary.OutputsFailed == 0
}
