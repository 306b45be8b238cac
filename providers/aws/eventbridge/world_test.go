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

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

type (
	obj  = map[string]any
	list = []any
)

// world is an account of its own, seen by the kind through one client and by others through another.
type world struct {
	server *awstest.Server
	others *sdk.Client
	cloud  *aws.Cloud
	dir    string
}

// ownBus is a bus that every world has beside the default one.
const ownBus = "shop-bus"

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	w := &world{server: server, others: sdk.NewFromConfig(server.Config(t)), cloud: aws.FromConfig(server.ObservedConfig(t)), dir: t.TempDir()}
	if _, err := w.others.CreateEventBus(t.Context(), &sdk.CreateEventBusInput{Name: new(ownBus)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.cloud.Place(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Reset()
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
		out, err := w.others.ListRules(ctx, &sdk.ListRulesInput{EventBusName: &bus})
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
	tags, err := w.others.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceARN: r.Arn})
	if err != nil {
		t.Fatalf("tags: %v", err)
	}
	marked := map[string]string{}
	for _, tag := range tags.Tags {
		marked[*tag.Key] = *tag.Value
	}
	delete(marked, "athanor:generation") // differs between two makings
	seen["tags"] = marked
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
		out, err := w.others.ListTargetsByRule(context.Background(), in)
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

// worlds finds the world that a check was given.
type worlds map[string]*world

func (ws worlds) make(t kindtest.T) kindtest.World {
	w := newWorld(t.(*testing.T))
	ws[w.dir] = w
	return kindtest.World{Cloud: w.cloud, Dir: w.dir, Objects: func() []any { return w.rules(t) }}
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "ThrottlingException", "InternalException")(class)
}

// job is a rule as an engine declares it, on record when last is set.
func (w *world) job(t *testing.T, kind reconcile.Any, props obj, last *reconcile.Outcome) *reconcile.Job {
	t.Helper()
	return kindtest.Job(t, kind, w.cloud, "nightly", props, last)
}

// settled makes a rule match and fails the test when it does not.
func (w *world) settled(t *testing.T, props obj, last *reconcile.Outcome) reconcile.Outcome {
	t.Helper()
	kind := reconcile.Erase(ruleKind)
	return kindtest.Settled(t, kind, w.job(t, kind, props, last))
}

// wrote are the operations of the mutating calls that reached the proxy since the last Reset.
func (w *world) wrote() []string {
	var out []string
	for _, c := range w.server.Mutations() {
		out = append(out, c.Operation)
	}
	return out
}
