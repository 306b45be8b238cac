package eventbridge

import (
	"bytes"
	"context"
	"slices"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// compareRule states every aspect. One call sets all of the rule itself.
func compareRule(d *ruleDiff, want RuleProps, live liveRule) {
	have := live.have
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", name, have.Name)
	}
	reconcile.Fixed(d, "eventBusName", wantedBus(want.EventBusName), wantedBus(have.EventBusName))
	put := putRule(want)
	reconcile.Value(d, "eventPattern", canonicalPattern(want.EventPattern), canonicalPattern(have.EventPattern), put)
	reconcile.Value(d, "scheduleExpression", aws.OrNil(want.ScheduleExpression), aws.OrNil(have.ScheduleExpression), put)
	reconcile.Value(d, "description", aws.OrNil(want.Description), aws.OrNil(have.Description), put)
	reconcile.Value(d, "state", *want.State, *have.State, put)
	reconcile.Value(d, "roleArn", aws.OrNil(want.RoleARN), aws.OrNil(have.RoleARN), put)
	compareTags(d, want.Tags, live.tags, live.arn)
	reconcile.Map(d, "targets", normal(want.Targets), normal(have.Targets), "PutTargets",
		func(ctx context.Context, on ruleOn, put map[string]Target, drop []string) error {
			return setTargets(ctx, on, want.Targets, put, drop)
		})
}

// wantedBus is nil for the default bus, whichever way it is named.
func wantedBus(bus string) *string {
	if name := busName(bus); name != defaultBus {
		return &name
	}
	return nil
}

// putRule writes a rule whole: what a call does not say, EventBridge forgets. What is not to be changed, since it is ignored
// or left for later, keeps its live value.
func putRule(want RuleProps) *reconcile.Operation[liveRule] {
	return &reconcile.Operation[liveRule]{Name: "PutRule", Do: func(ctx context.Context, on ruleOn) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		have := on.Live.have
		keep(on.Changed, "eventPattern", &want.EventPattern, have.EventPattern)
		keep(on.Changed, "scheduleExpression", &want.ScheduleExpression, have.ScheduleExpression)
		keep(on.Changed, "description", &want.Description, have.Description)
		keep(on.Changed, "state", &want.State, have.State)
		keep(on.Changed, "roleArn", &want.RoleARN, have.RoleARN)
		in, err := ruleInput(want, have.Name, have.EventBusName)
		if err != nil {
			return err
		}
		_, err = client.PutRule(ctx, in)
		return aws.NotYet(err)
	}}
}

func keep[T any](changed []tree.Path, path tree.Path, want *T, have T) {
	if !slices.Contains(changed, path) {
		*want = have
	}
}

// canonicalPattern brings a pattern into one form. Lists are alternatives, whose order does not count, but for the bounds
// of a number: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
func canonicalPattern(pattern any) any { return alternatives(aws.Document(pattern)) }

func alternatives(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if k != "numeric" {
				x = alternatives(x)
			}
			out[k] = x
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = alternatives(x)
		}
		slices.SortFunc(out, func(a, b any) int { return bytes.Compare(tree.Canonical(a), tree.Canonical(b)) })
		return out
	}
	return v
}
