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
)

// createTable carries everything that CreateTable takes, all indexes included. Time to live, backups, insights and
// the stream of Kinesis are set when the table is ACTIVE.
func createTable(ctx context.Context, site tableSite) (Table, error) {
	in := creation(site.Want, site.Name)
	in.Tags = tagList(aws.Tags(site.Cloud, site.Want.Tags, site.Owner))
	if _, err := clientOf(site.Cloud).CreateTable(ctx, in); err != nil {
		return Table{}, err
	}
	return Table{ARN: arnOf(site.Location, site.Name), Name: site.Name}, nil
}

// creation is the body of that call, without tags.
func creation(want TableProps, name string) *sdk.CreateTableInput {
	var sort []string
	if want.SortKey != "" {
		sort = []string{want.SortKey}
	}
	in := &sdk.CreateTableInput{
		TableName: &name, KeySchema: schema([]string{want.PartitionKey}, sort), AttributeDefinitions: definitions(keysOf(want)),
		BillingMode: types.BillingModePayPerRequest, ProvisionedThroughput: provisioned(want.ProvisionedThroughput),
		OnDemandThroughput: boundsOrNone(want.OnDemandThroughput), WarmThroughput: warmth(want.WarmThroughput),
		StreamSpecification: streaming(want), SSESpecification: encryption(want, false), TableClass: types.TableClass(*want.TableClass),
		DeletionProtectionEnabled: &want.DeletionProtection, ResourcePolicy: aws.OrNil(*aws.Text(want.Policy)),
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
	return in
}

var (
	errGoing    = errors.New("the table is still there")
	errChanging = errors.New("the table is changing")
)

// deleteTable asks for the deletion when nothing is changing. What would outlive the table, or keep it, goes before: rules of
// insights, and the protection.
func deleteTable(ctx context.Context, site tableSite) error {
	live, err := observeTable(ctx, site)
	if err != nil {
		return err // absent is what is wanted
	}
	t := targetOf(site.Cloud, site.Location, site.Last.Name)
	switch {
	case live.status == "DELETING":
		return aws.Busy(errGoing)
	case live.busy() != "" || live.insightsGoing:
		return aws.Busy(fmt.Errorf("%w: %s", errChanging, cmp.Or(live.busy(), "its insights are DISABLING")))
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
	_, err = t.DeleteTable(ctx, &sdk.DeleteTableInput{TableName: t.name})
	return err
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
