package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/engine/simtest"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// course is what a command did, and what it left.
type course struct {
	shape  string
	writes []string // calls that changed something, and commits, sorted
	failed string
}

// follow plays a scenario's setup and then its command once, with its plan in memory or read back from JSON.
func (sc *scenario) follow(t *testing.T, documents bool) (c course) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx := newSim(t), t.Context()
		if err := sc.begin(ctx, s); err != nil {
			t.Fatal(err)
		}
		s.Documents = documents
		r := s.Run(ctx, sc.do, nil)
		if r.Failed() {
			c.failed = failure(r).Error()
		}
		for _, e := range r.Events {
			if e.Sort != simtest.Reading {
				c.writes = append(c.writes, e.Name)
			}
		}
		slices.Sort(c.writes)
		var err error
		if c.shape, err = s.Shape(ctx); err != nil {
			t.Fatal(err)
		}
	})
	return c
}

// readBack plays the scenario with its plan in memory, and with the plan that was written as JSON and read back: the second
// makes the same calls and commits, and has the same end.
func (sc *scenario) readBack(t *testing.T) *outcome {
	memory, document := sc.follow(t, false), sc.follow(t, true)
	out := &outcome{shape: document.shape, calls: len(document.writes)}
	if memory.failed != document.failed {
		out.violate("in memory it ends with %q, read back with %q", memory.failed, document.failed)
	}
	if !slices.Equal(memory.writes, document.writes) {
		out.violate("in memory it does\n%s\nand read back\n%s", strings.Join(memory.writes, "\n"), strings.Join(document.writes, "\n"))
	}
	if memory.shape != document.shape {
		out.violate("in memory it ends as\n%s\nand read back as\n%s", memory.shape, document.shape)
	}
	return out
}

// TestInterruptedPlanIsGivenAgain: a saved plan whose application was cut anywhere can be given again. What is done is left
// out, the rest is done, and the end is that of an undisturbed run.
func TestInterruptedPlanIsGivenAgain(t *testing.T) {
	part := 12
	if proctest.Whole() {
		part = 4
	}
	for i, sc := range append(scenarios(), matrix()...) {
		if sc.do.PlanOnly || sc.fails || sc.cell && i%10 != 0 {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			ref := sc.inBubble(t, point{}, nil)
			for n, e := range ref.first.Events {
				if e.Sort == simtest.Reading || (n+len(sc.name))%part != 0 { // a part of them
					continue
				}
				for _, o := range simtest.Cuts(e) {
					if e.Name == "commit finish" && o == simtest.AfterStore {
						continue // it came to its end, and the plan is used up
					}
					if sc.inScope(e.Name, o, false) {
						sc.giveAgain(t, e.Name, o, ref)
					}
				}
			}
		})
	}
}

// resets reports that a call of the deploy resets what it does not set.
func (sc *scenario) resets() bool {
	return sc.do.Graph != nil && slices.ContainsFunc(sc.do.Graph.Resources, func(r engine.Resource) bool { return r.Kind == "sim.Coupled" })
}

// giveAgain saves a plan, cuts its application at an event, and gives it again.
func (sc *scenario) giveAgain(t *testing.T, event string, o simtest.Outcome, ref *outcome) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx := newSim(t), t.Context()
		if err := sc.begin(ctx, s); err != nil {
			t.Fatal(err)
		}
		planned := sc.do
		planned.PlanOnly = true
		saved := s.Run(ctx, planned, nil)
		if saved.Err != nil {
			t.Fatal(saved.Err)
		}
		s.Documents = true
		given := sc.do
		given.Saved = saved.Plan
		cut := s.Run(ctx, given, once(event, o))
		if !cut.Hit {
			return // a document is read anew: it met no such event
		}
		r := s.Run(ctx, given, nil)
		if !cut.Failed() {
			return
		}
		if r.Failed() && sc.resets() && errors.Is(failure(r), operation.ErrChanged) {
			return // a stated limit: cut before its first commit, a run leaves no trace of what its call has reset
		}
		if r.Failed() {
			t.Errorf("%s %s: given again, it ends with: %v", event, o, failure(r))
			return
		}
		shape, err := s.Shape(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if shape != ref.shape {
			t.Errorf("%s %s: it ends as\n%s\nand not\n%s", event, o, shape, ref.shape)
		}
	})
}

// begin plays what happened before a scenario.
func (sc *scenario) begin(ctx context.Context, s *simtest.Sim) error {
	for i, do := range sc.setup {
		if err := do(ctx, s); err != nil {
			return fmt.Errorf("setup, step %d: %w", i+1, err)
		}
	}
	s.Opts = sc.opts
	return nil
}

// announcements are the operations of one line of a plan, on a line: without digests, which differ with every key.
func announcements(a *engine.Planned) string {
	var texts []string
	for _, step := range a.Steps {
		for _, o := range step.Operations {
			text := string(o.Verb)
			for _, more := range []string{string(o.Path), o.Object.Identity, o.Call} {
				if more != "" {
					text += " " + more
				}
			}
			if o.Generation > 0 {
				text += fmt.Sprintf("/%d", o.Generation)
			}
			if o.May {
				text += "?"
			}
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return "  announces: " + strings.Join(texts, ", ") + "\n"
}

// tooLate plans a program, lets something change, and then applies the plan: the run must stop at a and leave it as it is.
func tooLate(g *engine.Graph, documents bool, change move) move {
	return func(ctx context.Context, s *simtest.Sim) error {
		planned := s.Run(ctx, simtest.Command{Graph: g, PlanOnly: true}, nil)
		if planned.Err != nil {
			return planned.Err
		}
		if err := change(ctx, s); err != nil {
			return err
		}
		before, hooks := len(s.Cloud.Effects()), len(s.Hooks)
		s.Documents = documents
		r := s.Run(ctx, simtest.Command{Graph: g, Saved: planned.Plan}, nil)
		s.Documents = false
		for _, e := range s.Cloud.Effects()[before:] {
			if e.Owner.Address == "a" {
				return fmt.Errorf("it did %s, which the plan does not announce", e)
			}
		}
		if ran := s.Hooks[hooks:]; slices.Contains(ran, "a") {
			return fmt.Errorf("hooks of %v ran, before a read had shown that anything is permitted", ran)
		}
		if !r.Failed() || !errors.Is(failure(r), operation.ErrChanged) {
			return fmt.Errorf("it does not say that a changed since the plan: %v", r.Err)
		}
		return nil
	}
}
