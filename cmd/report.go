package cmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/athanor-dev/athanor/cmd/internal/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func hint(err error, text string) error { return reconcile.WithHint(err, "%s", text) }

func hintsOf(err error) []string { return reconcile.Hints(err) }

// summaryLine is the last line of --json.
type summaryLine struct {
	Type  string `json:"type"`
	Run   string `json:"run,omitempty"`
	State string `json:"state"`
	engine.Summary
	Calls   engine.Calls `json:"calls"`
	Commits int          `json:"commits"`
	// Duration is in seconds.
	Duration float64           `json:"duration"`
	Outputs  map[string]any    `json:"outputs"`
	Failures map[string]string `json:"failures,omitempty"`
	WaitsFor map[string]string `json:"waitsFor,omitempty"`
}

// report prints how a run ended: failures, what somebody must do, outputs, counts.
func (s *session) report(c *cli.Context, res *engine.Result, command string) {
	a := s.app
	outputs := maskedOutputs(res)
	if c.Bool("json") {
		line := summaryLine{
			Type: string(engine.EventSummary), Run: res.Run, State: string(res.State), Summary: res.Summary, Calls: res.Calls,
			Commits: res.Commits, Duration: res.Took.Seconds(), Outputs: outputs, WaitsFor: res.Waiting,
		}
		for _, f := range res.Failures {
			if line.Failures == nil {
				line.Failures = map[string]string{}
			}
			line.Failures[f.Address] = s.engine.Redacted(f.Err)
		}
		a.json(line)
		return
	}
	style := a.style(c)
	for _, addr := range slices.Sorted(maps.Keys(res.Waiting)) {
		fmt.Fprintf(a.err, "%s is waiting for you: %s\n", addr, res.Waiting[addr])
	}
	head := "Done:"
	switch {
	case len(res.Failures) > 0 || res.Summary.Blocked > 0:
		head = "Partly done:"
	case res.Summary.NotStarted > 0:
		head = "Stopped:"
	case res.Run == "":
		head = "Nothing to do:"
	}
	fmt.Fprintf(a.err, "%s %d reads, %d changes to the world, %d commits, %s.\n",
		style.Counts(head, res.Summary, false), res.Calls.Reads, res.Calls.Mutations, res.Commits, render.Elapsed(res.Took))
	if command != "destroy" {
		a.printOutputs(outputs)
	}
}

func (a *app) printOutputs(outputs map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		fmt.Fprintf(a.out, "%s = %s\n", name, plain(outputs[name]))
	}
}

// plain writes a value for shells: strings as they are, everything else as JSON.
func plain(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(tree.Canonical(v))
}

func maskedOutputs(res *engine.Result) map[string]any {
	outputs := maps.Clone(res.Outputs)
	for name := range res.Secret {
		outputs[name] = reconcile.Mask
	}
	return outputs
}

// savedPlan is the file that `plan --out` writes. It names the program, so that deploying it runs the same one.
type savedPlan struct {
	Format  int                `json:"athanorPlan"`
	Target  string             `json:"target"`
	Stage   string             `json:"stage"`
	Store   string             `json:"store,omitempty"`
	Config  map[string]string  `json:"config,omitempty"`
	Options engine.PlanOptions `json:"options"`
	Plan    *engine.Plan       `json:"plan"`
}

const savedPlanFormat = 1

func encodePlan(s savedPlan) ([]byte, error) {
	data, err := json.MarshalIndent(s, "", " ")
	return append(data, '\n'), err
}
