package stacks_test

import (
	"slices"
	"testing"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// TestEveryActionIsNeeded deploys under the printed policy without one of its actions, for each: something is refused, and where
// the action is none of those that are spare the deploy fails. Each push plays one program and one action of 24, with
// [proctest.Whole] all.
func TestEveryActionIsNeeded(t *testing.T) {
	t.Setenv("WORD_OF_TEST", "a word that nobody knows")
	for i, c := range []struct {
		name    string
		program func(string) athanor.Program
	}{{"scheduled", scheduled}, {"dependent", dependent}, {"protected", protected}, {"content", content}} {
		if proctest.Played(i, 4) {
			t.Run(c.name, func(t *testing.T) { eachIsNeeded(t, c.program("first")) })
		}
	}
}

// eachIsNeeded deploys a program without each of its actions in turn.
func eachIsNeeded(t *testing.T, program athanor.Program) {
	t.Helper()
	var actions []string
	deploy := func(t *testing.T, without string) (failed bool) {
		inStage(t, awstest.Documented{Latency: 50 * time.Millisecond}, func(s *stage) {
			policy := aws.LeastPolicy(engine.Needs(s.Context(), s.plan(program)))
			actions = nil
			for _, statement := range policy["Statement"].([]any) {
				m := statement.(map[string]any)
				actions = append(actions, m["Action"].([]string)...)
				m["Action"] = slices.DeleteFunc(slices.Clone(m["Action"].([]string)), func(a string) bool { return a == without })
			}
			if err := s.played.Allow(policy); err != nil {
				s.Fatal(err)
			}
			p, err := s.tryPlan(program)
			if err != nil {
				failed = true
				return
			}
			r, err := s.engine.Apply(s.Context(), p, engine.ApplyOptions{Command: "deploy"})
			failed = err != nil || len(r.Failures) > 0 || r.Summary.Blocked > 0
		})
		return failed
	}
	if deploy(t, "") {
		t.Fatal("the whole policy is not enough")
	}
	for i, action := range slices.Compact(slices.Sorted(slices.Values(actions))) {
		if !proctest.Played(i, 24) {
			continue
		}
		t.Run(action, func(t *testing.T) {
			if !deploy(t, action) && spare[action] == "" {
				t.Error("the deploy succeeds without it")
			}
		})
	}
}
