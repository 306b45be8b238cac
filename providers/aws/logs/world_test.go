package logs

import (
	"context"
	"encoding/json"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

type (
	obj  = map[string]any
	list = []any
)

type world struct {
	awstest.World[sdk.Client]
	like *likeAWS
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	like, front := startLikeAWS(t, server)
	w := &world{awstest.NewWorld(t, server, front, sdk.NewFromConfig, groupKind.Erase(), "app"), like}
	w.Located(t, account)
	return w
}

// groups are all as others see them.
func (w *world) groups(t kindtest.T) []any {
	t.Helper()
	out, err := w.Others.DescribeLogGroups(context.Background(), &sdk.DescribeLogGroupsInput{})
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
	protection, err := w.Others.GetDataProtectionPolicy(ctx, &sdk.GetDataProtectionPolicyInput{LogGroupIdentifier: g.LogGroupName})
	if err != nil {
		t.Fatalf("data protection: %v", err)
	}
	index, err := w.Others.DescribeIndexPolicies(ctx, &sdk.DescribeIndexPoliciesInput{LogGroupIdentifiers: []string{*g.LogGroupName}})
	if err != nil {
		t.Fatalf("index: %v", err)
	}
	policies, err := w.Others.DescribeResourcePolicies(ctx, &sdk.DescribeResourcePoliciesInput{ResourceArn: g.LogGroupArn})
	if err != nil {
		t.Fatalf("policies: %v", err)
	}
	var policy any
	for _, p := range policies.ResourcePolicies[1:] {
		policy = json.RawMessage(*p.PolicyDocument)
	}
	tags, err := w.Others.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceArn: g.LogGroupArn})
	if err != nil {
		t.Fatalf("tags: %v", err)
	}
	return obj{
		"retention": sdkaws.ToInt32(g.RetentionInDays), "class": string(g.LogGroupClass), "key": sdkaws.ToString(g.KmsKeyId),
		"protected": sdkaws.ToBool(g.DeletionProtectionEnabled), "bearer": sdkaws.ToBool(g.BearerTokenAuthenticationEnabled),
		"dataProtection": sdkaws.ToString(protection.PolicyDocument), "index": sdkaws.ToString(index.IndexPolicies[0].PolicyDocument),
		"policy": policy, "tags": awstest.Owned(tags.Tags),
	}
}

// write lets somebody write events into a stream of a group.
func (w *world) write(t *testing.T, group, stream string, at int64, lines ...string) {
	t.Helper()
	_, _ = w.Others.CreateLogStream(t.Context(), &sdk.CreateLogStreamInput{LogGroupName: &group, LogStreamName: &stream}) // or it is there
	var events []types.InputLogEvent
	for i, line := range lines {
		events = append(events, types.InputLogEvent{Message: &line, Timestamp: new(at + int64(i))})
	}
	if _, err := w.Others.PutLogEvents(t.Context(), &sdk.PutLogEventsInput{LogGroupName: &group, LogStreamName: &stream, LogEvents: events}); err != nil {
		t.Fatal(err)
	}
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "ThrottlingException", "ServiceUnavailableException")(class)
}
