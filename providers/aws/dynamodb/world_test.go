package dynamodb

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
	like := startLikeAWS(t, server)
	w := &world{awstest.NewWorld(t, server, like, sdk.NewFromConfig, tableKind.Erase(), "orders"), like}
	w.Located(t, account)
	return w
}

// arn is that of a table in every world.
func arn(name string) string { return "arn:aws:dynamodb:us-east-1:" + account + ":table/" + name }

func key(id string) string { return "arn:aws:kms:us-east-1:" + account + ":key/" + id }

func kinesis(name string) string {
	return "arn:aws:kinesis:us-east-1:" + account + ":stream/" + name
}

// tables are all as others see them.
func (w *world) tables(t kindtest.T) []any {
	t.Helper()
	out, err := w.Others.ListTables(context.Background(), &sdk.ListTablesInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var all []any
	for _, name := range out.TableNames {
		all = append(all, w.table(t, name))
	}
	return all
}

// plain is what the SDK shows, as a tree without what differs between two makings. Warm throughput is left out: it never
// goes back.
func plain(t kindtest.T, v any, without ...string) any {
	t.Helper()
	encoded, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var out any
	if err := json.Unmarshal(encoded, &out); err != nil {
		t.Fatalf("%v", err)
	}
	return clean(out, without)
}

func clean(v any, without []string) any {
	switch v := v.(type) {
	case obj:
		maps.DeleteFunc(v, func(k string, x any) bool { return x == nil || slices.Contains(without, k) })
		for k, x := range v {
			v[k] = clean(x, without)
		}
	case list:
		for i, x := range v {
			v[i] = clean(x, without)
		}
	}
	return v
}

func (w *world) table(t kindtest.T, name string) obj {
	t.Helper()
	ctx, c := context.Background(), w.Others
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("look: %v", err)
		}
	}
	table, err := c.DescribeTable(ctx, &sdk.DescribeTableInput{TableName: &name})
	must(err)
	of := table.Table
	slices.SortFunc(of.GlobalSecondaryIndexes, func(a, b types.GlobalSecondaryIndexDescription) int {
		return strings.Compare(*a.IndexName, *b.IndexName)
	})
	used := keysOf(described(of).have)
	of.AttributeDefinitions = slices.DeleteFunc(of.AttributeDefinitions, func(a types.AttributeDefinition) bool { return used[*a.AttributeName] == "" })
	slices.SortFunc(of.AttributeDefinitions, func(a, b types.AttributeDefinition) int { return strings.Compare(*a.AttributeName, *b.AttributeName) })
	if of.BillingModeSummary != nil && of.BillingModeSummary.BillingMode == types.BillingModePayPerRequest {
		of.ProvisionedThroughput = nil
		for i := range of.GlobalSecondaryIndexes {
			of.GlobalSecondaryIndexes[i].ProvisionedThroughput = nil
		}
	} else {
		of.BillingModeSummary, of.OnDemandThroughput = nil, nil
	}
	for i := range of.GlobalSecondaryIndexes {
		if onDemand(of.GlobalSecondaryIndexes[i].OnDemandThroughput) == nil {
			of.GlobalSecondaryIndexes[i].OnDemandThroughput = nil
		}
	}
	if onDemand(of.OnDemandThroughput) == nil {
		of.OnDemandThroughput = nil
	}
	seen := obj{"table": plain(t, of, "TableArn", "TableName", "CreationDateTime", "LatestStreamArn", "LatestStreamLabel", "WarmThroughput", "NumberOfDecreasesToday", "TableClassSummary")}
	seen["class"] = "STANDARD"
	if of.TableClassSummary != nil {
		seen["class"] = string(of.TableClassSummary.TableClass)
	}
	ttl, err := c.DescribeTimeToLive(ctx, &sdk.DescribeTimeToLiveInput{TableName: &name})
	must(err)
	if ttl.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled {
		seen["ttl"] = *ttl.TimeToLiveDescription.AttributeName
	}
	backups, err := c.DescribeContinuousBackups(ctx, &sdk.DescribeContinuousBackupsInput{TableName: &name})
	must(err)
	seen["backups"] = plain(t, backups.ContinuousBackupsDescription, "EarliestRestorableDateTime", "LatestRestorableDateTime")
	w.seeBeside(t, name, *of.TableArn, seen)
	return seen
}

// seeBeside adds tags, insights, streams of Kinesis and the policy.
func (w *world) seeBeside(t kindtest.T, name, arn string, seen obj) {
	t.Helper()
	ctx := context.Background()
	seen["tags"] = awstest.Owned(w.tags(t, arn))
	w.like.mu.Lock()
	if x := w.like.tables[name]; x != nil {
		seen["insights"], seen["kinesis"] = maps.Clone(x.insights), strings.ReplaceAll(string(text(x.kinesis)), w.like.real, account)
	}
	w.like.mu.Unlock()
	if policy, err := w.Others.GetResourcePolicy(ctx, &sdk.GetResourcePolicyInput{ResourceArn: &arn}); err == nil {
		seen["policy"] = json.RawMessage(*policy.Policy)
	}
}

func (w *world) tags(t kindtest.T, arn string) map[string]string {
	t.Helper()
	all := map[string]string{}
	in := &sdk.ListTagsOfResourceInput{ResourceArn: &arn}
	for {
		out, err := w.Others.ListTagsOfResource(context.Background(), in)
		if err != nil {
			t.Fatalf("tags: %v", err)
		}
		for _, tag := range out.Tags {
			all[*tag.Key] = sdkaws.ToString(tag.Value)
		}
		if out.NextToken == nil {
			return all
		}
		in.NextToken = out.NextToken
	}
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "ThrottlingException", "InternalServerError")(class)
}
