package logs

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

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

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	like := startLikeAWS(t, server)
	w := &world{server: server, others: sdk.NewFromConfig(like.Outside(t)), cloud: aws.FromConfig(like.Observed(t)), dir: t.TempDir()}
	place, err := w.cloud.Place(t.Context())
	if err != nil || place.Account != account {
		t.Fatalf("place %v: %v", place, err)
	}
	server.Reset()
	return w
}

func arnText(name string) aws.ARN {
	if strings.HasPrefix(name, "arn:") {
		return aws.ARN(name)
	}
	return aws.ARN("arn:aws:logs:us-east-1:" + account + ":log-group:" + name)
}

// groups are all as others see them.
func (w *world) groups(t kindtest.T) []any {
	t.Helper()
	out, err := w.others.DescribeLogGroups(context.Background(), &sdk.DescribeLogGroupsInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var all []any
	for _, g := range out.LogGroups {
		all = append(all, w.group(t, g))
	}
	return all
}

func (w *world) group(t kindtest.T, g types.LogGroup) obj {
	t.Helper()
	ctx := context.Background()
	protection, err := w.others.GetDataProtectionPolicy(ctx, &sdk.GetDataProtectionPolicyInput{LogGroupIdentifier: g.LogGroupName})
	if err != nil {
		t.Fatalf("data protection: %v", err)
	}
	index, err := w.others.DescribeIndexPolicies(ctx, &sdk.DescribeIndexPoliciesInput{LogGroupIdentifiers: []string{*g.LogGroupName}})
	if err != nil {
		t.Fatalf("index: %v", err)
	}
	policies, err := w.others.DescribeResourcePolicies(ctx, &sdk.DescribeResourcePoliciesInput{ResourceArn: g.LogGroupArn})
	if err != nil {
		t.Fatalf("policies: %v", err)
	}
	var policy any
	for _, p := range policies.ResourcePolicies[1:] {
		policy = json.RawMessage(*p.PolicyDocument)
	}
	tags, err := w.others.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceArn: g.LogGroupArn})
	if err != nil {
		t.Fatalf("tags: %v", err)
	}
	marked := maps.Clone(tags.Tags)
	delete(marked, "athanor:generation") // differs between two makings
	return obj{
		"retention": sdkaws.ToInt32(g.RetentionInDays), "class": string(g.LogGroupClass), "key": sdkaws.ToString(g.KmsKeyId),
		"protected": sdkaws.ToBool(g.DeletionProtectionEnabled), "bearer": sdkaws.ToBool(g.BearerTokenAuthenticationEnabled),
		"dataProtection": sdkaws.ToString(protection.PolicyDocument), "index": sdkaws.ToString(index.IndexPolicies[0].PolicyDocument),
		"policy": policy, "tags": marked,
	}
}

// write lets somebody write events into a stream of a group.
func (w *world) write(t *testing.T, group, stream string, at int64, lines ...string) {
	t.Helper()
	_, _ = w.others.CreateLogStream(t.Context(), &sdk.CreateLogStreamInput{LogGroupName: &group, LogStreamName: &stream}) // or it is there
	var events []types.InputLogEvent
	for i, line := range lines {
		events = append(events, types.InputLogEvent{Message: &line, Timestamp: new(at + int64(i))})
	}
	if _, err := w.others.PutLogEvents(t.Context(), &sdk.PutLogEventsInput{LogGroupName: &group, LogStreamName: &stream, LogEvents: events}); err != nil {
		t.Fatal(err)
	}
}

// worlds finds the world that a check was given.
type worlds map[string]*world

func (ws worlds) make(t kindtest.T) kindtest.World {
	w := newWorld(t.(*testing.T))
	ws[w.dir] = w
	return kindtest.World{Cloud: w.cloud, Dir: w.dir, Objects: func() []any { return w.groups(t) }}
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "ThrottlingException", "ServiceUnavailableException")(class)
}

// job is a group as an engine declares it, on record when last is set.
func (w *world) job(t *testing.T, kind reconcile.Any, props obj, last *reconcile.Outcome) *reconcile.Job {
	t.Helper()
	return kindtest.Job(t, kind, w.cloud, "app", props, last)
}

// settled makes a group match and fails the test when it does not.
func (w *world) settled(t *testing.T, props obj, last *reconcile.Outcome) reconcile.Outcome {
	t.Helper()
	kind := reconcile.Erase(groupKind)
	return kindtest.Settled(t, kind, w.job(t, kind, props, last))
}

// wrote are the names of the mutating calls that reached the proxy since the last Reset.
func (w *world) wrote() []string {
	var out []string
	for _, c := range w.server.Mutations() {
		out = append(out, c.Name())
	}
	return out
}
