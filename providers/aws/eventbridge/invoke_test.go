package eventbridge

import (
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestInvoke: one line declares the rule, and the permission for it alone.
func TestInvoke(t *testing.T) {
	t.Parallel()
	graph, err := athanor.Evaluate(func(s *athanor.Stack) error {
		fn := lambda.NewFunction(s, "work", lambda.FunctionProps{Code: lambda.Image("work:1")})
		Schedule(s, "nightly", "cron(0 2 * * ? *)", fn)
		On(s, "stopped", obj{"source": list{"aws.ecs"}}, fn)
		return nil
	}, athanor.Input{Stack: "shop", Stage: "test"})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, r := range graph.Resources {
		seen[r.Address] = r.Kind + " " + token.Show(string(tree.Canonical(r.Props)))
	}
	for address, want := range map[string][]string{
		"nightly":             {ruleType, "cron(0 2 * * ? *)", "${work.arn}"},
		"stopped":             {ruleType, "aws.ecs", "${work.arn}"},
		"work/events/nightly": {"aws.lambda.Permission", "events.amazonaws.com", "${nightly.arn}", "${work.arn}"},
		"work/events/stopped": {"aws.lambda.Permission", "${stopped.arn}"},
	} {
		for _, part := range want {
			if !strings.Contains(seen[address], part) {
				t.Errorf("%s: without %s: %q", address, part, seen[address])
			}
		}
	}
	if t.Failed() {
		t.Logf("declared: %v", seen)
	}
}

// TestRuleRenamed: the permission for a rule is renamed with it, and with the function.
func TestRuleRenamed(t *testing.T) {
	t.Parallel()
	graph, err := athanor.Evaluate(func(s *athanor.Stack) error {
		fn := lambda.NewFunction(s, "work", lambda.FunctionProps{Code: lambda.Image("work:1")}, athanor.RenamedFrom("job"))
		Schedule(s, "nightly", "cron(0 2 * * ? *)", fn, athanor.RenamedFrom("daily"))
		return nil
	}, athanor.Input{Stack: "shop", Stage: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range graph.Resources {
		if was := r.Options.RenamedFrom; r.Address == "work/events/nightly" && !slices.Equal(was, []string{"job/events/nightly", "work/events/daily", "job/events/daily"}) {
			t.Errorf("it was %v", was)
		}
	}
}
