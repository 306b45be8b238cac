package dynamodb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// createTable carries everything that CreateTable takes, all indexes included. Time to live, backups, insights and
// the stream of Kinesis are set when the table is ACTIVE.
func createTable(ctx context.Context, site tableSite) (Table, error) {
	t, err := targetOf(site.Cloud, site.Place, site.Name)
	if err != nil {
		return Table{}, err
	}
	want := site.Want
	policy, err := aws.DocumentText(want.Policy)
	if err != nil {
		return Table{}, fmt.Errorf("policy: %w", err)
	}
	var sort []string
	if want.SortKey != "" {
		sort = []string{want.SortKey}
	}
	in := &sdk.CreateTableInput{
		TableName: t.name, KeySchema: schema([]string{want.PartitionKey}, sort), AttributeDefinitions: definitions(keysOf(want)),
		BillingMode: types.BillingModePayPerRequest, ProvisionedThroughput: provisioned(want.ProvisionedThroughput),
		OnDemandThroughput: boundsOrNone(want.OnDemandThroughput), WarmThroughput: warmth(want.WarmThroughput),
		StreamSpecification: streaming(want), SSESpecification: encryption(want, false), TableClass: types.TableClass(*want.TableClass),
		DeletionProtectionEnabled: &want.DeletionProtection, ResourcePolicy: aws.OrNil(policy), Tags: tagList(aws.Tags(want.Tags, site.Mark)),
	}
	if want.ProvisionedThroughput != nil {
		in.BillingMode = types.BillingModeProvisioned
	}
	for _, name := range slices.Sorted(maps.Keys(want.GlobalSecondaryIndexes)) {
		x := want.GlobalSecondaryIndexes[name]
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: &name, KeySchema: schema(x.PartitionKey, x.SortKey), Projection: projection(x.Projection, x.NonKeyAttributes),
			ProvisionedThroughput: provisioned(x.ProvisionedThroughput), OnDemandThroughput: boundsOrNone(x.OnDemandThroughput),
			WarmThroughput: warmth(x.WarmThroughput),
		})
	}
	for _, name := range slices.Sorted(maps.Keys(want.LocalSecondaryIndexes)) {
		x := want.LocalSecondaryIndexes[name]
		in.LocalSecondaryIndexes = append(in.LocalSecondaryIndexes, types.LocalSecondaryIndex{
			IndexName: &name, KeySchema: schema([]string{want.PartitionKey}, []string{x.SortKey}), Projection: projection(x.Projection, x.NonKeyAttributes),
		})
	}
	if _, err := t.CreateTable(ctx, in); err != nil {
		return Table{}, err
	}
	return Table{ARN: arnOf(site.Place, site.Name), Name: site.Name}, nil
}

var (
	errGoing     = errors.New("the table is still there")
	errChanging  = errors.New("the table is changing")
	errProtected = errors.New("deletion protection")
)

// deleteTable returns when DynamoDB no longer shows the table. What would outlive it, or keep it, goes before: rules of
// insights, and the protection, for which there must be leave.
func deleteTable(ctx context.Context, site tableSite) error {
	live, err := observeTable(ctx, site)
	if err != nil {
		return err // absent is what is wanted
	}
	t, err := targetOf(site.Cloud, site.Place, site.Last.Name)
	if err != nil {
		return err
	}
	switch {
	case live.status == "DELETING":
		return aws.Busy(errGoing)
	case live.busy() != "" || live.insightsGoing:
		return aws.Busy(fmt.Errorf("%w: %s", errChanging, cmp.Or(live.busy(), "its insights are DISABLING")))
	case !site.MayDelete && live.items:
		return fmt.Errorf("%w: items", reconcile.ErrHoldsData)
	case !site.MayDelete && live.have.DeletionProtection:
		return fmt.Errorf("%w: %w", reconcile.ErrHoldsData, errProtected)
	case live.have.DeletionProtection:
		if _, err := t.UpdateTable(ctx, &sdk.UpdateTableInput{TableName: t.name, DeletionProtectionEnabled: new(false)}); err != nil {
			return err
		}
		return aws.Busy(errChanging)
	}
	if live.have.ContributorInsights != "" || len(live.insights) > 0 {
		if err := dropInsights(ctx, t, live); err != nil {
			return err
		}
		return aws.Busy(errChanging)
	}
	if _, err := t.DeleteTable(ctx, &sdk.DeleteTableInput{TableName: t.name}); err != nil {
		return err
	}
	out, err := t.DescribeTable(ctx, &sdk.DescribeTableInput{TableName: t.name})
	if err != nil {
		return err // absent is what is wanted
	}
	return aws.Busy(fmt.Errorf("%w: %s", errGoing, out.Table.TableStatus))
}

// dropInsights turns them off: their rules in CloudWatch would outlive the table.
func dropInsights(ctx context.Context, t target, live liveTable) error {
	modes := maps.Clone(live.insights)
	if live.have.ContributorInsights != "" {
		modes[""] = live.have.ContributorInsights
	}
	for _, index := range slices.Sorted(maps.Keys(modes)) {
		if _, err := t.UpdateContributorInsights(ctx, &sdk.UpdateContributorInsightsInput{
			TableName: t.name, IndexName: aws.OrNil(index), ContributorInsightsAction: types.ContributorInsightsActionDisable,
		}); err != nil {
			return err
		}
	}
	return nil
}
