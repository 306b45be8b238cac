package render

import (
	"maps"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
)

// PlanDocument is what `plan --json` prints: the plan, and what is refused in it.
type PlanDocument struct {
	*engine.Plan
	Problems []Problem `json:"problems,omitempty"`
	// IAM is the policy that --iam asks for.
	IAM map[string]any `json:"iam,omitempty"`
	// NotObserved is what an untrusted plan did not observe.
	NotObserved []NotObserved `json:"notObserved,omitempty"`
}

// PlanLine is the plan that a run was left with, when the one that it began with was overtaken.
type PlanLine struct {
	Time time.Time `json:"time"`
	Type string    `json:"type"` // "plan"
	*engine.Plan
}

// Summary is the last line of --json.
type Summary struct {
	Time time.Time `json:"time"`
	Type string    `json:"type"`
	Run  string    `json:"run,omitempty"`
	// Stack, Stage and State say what ended how.
	Stack string `json:"stack"`
	Stage string `json:"stage"`
	State string `json:"state"`
	engine.Summary
	Calls   engine.Calls `json:"calls"`
	Commits int          `json:"commits"`
	// Duration is in seconds.
	Duration float64 `json:"duration"`
	// Slow says what a run of ten seconds and more took long for.
	Slow     *engine.Slow   `json:"slow,omitempty"`
	Outputs  map[string]any `json:"outputs"`
	Failures []Problem      `json:"failures,omitempty"`
	// Causes are the errors that several failures have in common.
	Causes []engine.Cause `json:"causes,omitempty"`
	// Left is what a repair of drift leaves to the next deploy.
	Left []engine.Left `json:"left,omitempty"`
	// InterruptedBy says who ended the run: "ctrl-c", "sigterm", "hangup" or "cancel".
	InterruptedBy string            `json:"interruptedBy,omitempty"`
	WaitsFor      map[string]string `json:"waitsFor,omitempty"`
}

// NewSummary makes the summary of a run, whose outputs are masked. The caller says which stage it was.
func NewSummary(res *engine.Result, p *engine.Plan, outputs map[string]any, errs Errors) Summary {
	line := Summary{
		Time: time.Now().UTC(), Type: string(engine.EventSummary), Run: res.Run, State: string(res.State),
		Summary: res.Summary, Calls: res.Calls, Commits: res.Commits, Duration: res.Took.Seconds(), Slow: res.Slow,
		Outputs: outputs, WaitsFor: res.Waiting, Left: p.Left, Causes: res.Causes,
	}
	for _, f := range res.Failures {
		line.Failures = append(line.Failures, Problem{Address: f.Address, Error: errs.mask(f.Err), Hints: Hints(f.Err), Cause: f.CauseID()})
	}
	return line
}

// Outputs returns the outputs of a run with the secret ones masked.
func Outputs(res *engine.Result) map[string]any {
	outputs := maps.Clone(res.Outputs)
	if outputs == nil {
		outputs = map[string]any{}
	}
	for name := range res.Secret {
		outputs[name] = reconcile.Mask
	}
	return outputs
}
