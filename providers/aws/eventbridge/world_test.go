package eventbridge

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

type (
	obj  = map[string]any
	list = []any
)

type world struct{ awstest.World[sdk.Client] }

// ownBus is a bus that every world has beside the default one.
const ownBus = "shop-bus"

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	w := &world{awstest.NewWorld(t, server, server.Direct(), sdk.NewFromConfig, ruleKind.Erase(), "nightly")}
	if _, err := w.Others.CreateEventBus(t.Context(), &sdk.CreateEventBusInput{Name: new(ownBus)}); err != nil {
		t.Fatal(err)
	}
	w.Located(t, server.Account)
	return w
}

// arn is that of something that a rule can name.
func arn(service, resource string) string {
	return "arn:aws:" + service + ":us-east-1:111122223333:" + resource
}

// rules are all as others see them, on both buses.
func (w *world) rules(t kindtest.T) []any {
	t.Helper()
	ctx := context.Background()
	var all []any
	for _, bus := range []string{defaultBus, ownBus} {
		out, err := w.Others.ListRules(ctx, &sdk.ListRulesInput{EventBusName: &bus})
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		for _, r := range out.Rules {
			all = append(all, w.rule(t, bus, r))
		}
	}
	return all
}

func (w *world) rule(t kindtest.T, bus string, r types.Rule) obj {
	t.Helper()
	ctx := context.Background()
	seen := obj{
		"bus": bus, "state": string(r.State), "description": sdkaws.ToString(r.Description), "schedule": sdkaws.ToString(r.ScheduleExpression),
		"role": sdkaws.ToString(r.RoleArn), "pattern": json.RawMessage("null"),
	}
	if p := sdkaws.ToString(r.EventPattern); p != "" {
		seen["pattern"] = json.RawMessage(p)
	}
	tags, err := w.Others.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceARN: r.Arn})
	if err != nil {
		t.Fatalf("tags: %v", err)
	}
	seen["tags"] = awstest.Owned(tagMap(tags.Tags))
	targets := []any{}
	for _, target := range w.targets(t, bus, *r.Name) {
		encoded, err := json.Marshal(target)
		if err != nil {
			t.Fatalf("%v", err)
		}
		targets = append(targets, json.RawMessage(encoded))
	}
	seen["targets"] = targets
	return seen
}

// targets are those of a rule in the order of their ids.
func (w *world) targets(t kindtest.T, bus, rule string) []types.Target {
	t.Helper()
	var all []types.Target
	in := &sdk.ListTargetsByRuleInput{EventBusName: &bus, Rule: &rule}
	for {
		out, err := w.Others.ListTargetsByRule(context.Background(), in)
		if err != nil {
			t.Fatalf("targets: %v", err)
		}
		all = append(all, out.Targets...)
		if out.NextToken == nil {
			break
		}
		in.NextToken = out.NextToken
	}
	slices.SortFunc(all, func(a, b types.Target) int { return strings.Compare(*a.Id, *b.Id) })
	return all
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "ThrottlingException", "InternalException")(class)
}
