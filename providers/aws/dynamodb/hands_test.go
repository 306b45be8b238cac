package dynamodb

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// hand changes one aspect of a table with somebody else's client.
type hand func(c *sdk.Client, name *string, p TableProps, to kindtest.Edited) error

func hands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{"tags": ws.Hand((*world).retag)}
	for path, do := range map[tree.Path]hand{
		"":                       goAway,
		"globalSecondaryIndexes": reindex,
		"attributes":             reindex,
		"provisionedThroughput":  rebill,
		"onDemandThroughput": updating(func(in *sdk.UpdateTableInput, p TableProps) {
			o := &types.OnDemandThroughput{MaxReadRequestUnits: new(int64(-1)), MaxWriteRequestUnits: new(int64(-1))}
			if p.OnDemandThroughput != nil {
				*o = types.OnDemandThroughput{MaxReadRequestUnits: units64(p.OnDemandThroughput.MaxReadRequestUnits), MaxWriteRequestUnits: units64(p.OnDemandThroughput.MaxWriteRequestUnits)}
			}
			in.OnDemandThroughput = o
		}),
		"streamViewType":      restream,
		"ttlAttribute":        retime,
		"pointInTimeRecovery": rebackup, "recoveryPeriod": rebackup,
		"kmsKeyArn": rekey, "awsManagedKey": rekey,
		"tableClass":         updating(func(in *sdk.UpdateTableInput, p TableProps) { in.TableClass = types.TableClass(*p.TableClass) }),
		"deletionProtection": updating(func(in *sdk.UpdateTableInput, p TableProps) { in.DeletionProtectionEnabled = &p.DeletionProtection }),
		"contributorInsights": func(c *sdk.Client, name *string, p TableProps, _ kindtest.Edited) error {
			return watch(c, name, "", p.ContributorInsights)
		},
		"kinesisStream": rekinesis,
		"policy":        repolicy,
	} {
		hands[path] = ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			name, _ := to.Attrs["name"].(string)
			p := TableProps{}
			if len(to.Props) > 0 { // else it is to be deleted
				p = tableDefaults(kindtest.PropsOf(t, propsTable, to.Props))
			}
			return do(w.Others, &name, p, to)
		})
	}
	return hands
}

func updating(fill func(in *sdk.UpdateTableInput, p TableProps)) hand {
	return func(c *sdk.Client, name *string, p TableProps, _ kindtest.Edited) error {
		in := &sdk.UpdateTableInput{TableName: name}
		fill(in, p)
		_, err := c.UpdateTable(context.Background(), in)
		return err
	}
}

func units64(n *int) *int64 {
	if n == nil {
		return new(int64(-1))
	}
	return new(int64(*n))
}

func goAway(c *sdk.Client, name *string, _ TableProps, _ kindtest.Edited) error {
	_, err := c.DeleteTable(context.Background(), &sdk.DeleteTableInput{TableName: name})
	return err
}

// reindex deletes all global indexes, and makes those that are wanted.
func reindex(c *sdk.Client, name *string, p TableProps, _ kindtest.Edited) error {
	ctx := context.Background()
	now, err := c.DescribeTable(ctx, &sdk.DescribeTableInput{TableName: name})
	if err != nil {
		return err
	}
	change := func(defs []types.AttributeDefinition, u types.GlobalSecondaryIndexUpdate) error {
		_, err := c.UpdateTable(ctx, &sdk.UpdateTableInput{TableName: name, AttributeDefinitions: defs, GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{u}})
		return err
	}
	for _, x := range now.Table.GlobalSecondaryIndexes {
		if err := change(nil, types.GlobalSecondaryIndexUpdate{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: x.IndexName}}); err != nil {
			return err
		}
	}
	made := p
	made.GlobalSecondaryIndexes = map[string]GlobalSecondaryIndex{}
	for _, index := range slices.Sorted(maps.Keys(p.GlobalSecondaryIndexes)) {
		x := p.GlobalSecondaryIndexes[index]
		made.GlobalSecondaryIndexes[index] = x
		var defs []types.AttributeDefinition
		for a, of := range keysOf(made) {
			defs = append(defs, types.AttributeDefinition{AttributeName: &a, AttributeType: types.ScalarAttributeType(of)})
		}
		create := &types.CreateGlobalSecondaryIndexAction{
			IndexName: &index, Projection: &types.Projection{ProjectionType: types.ProjectionType(*x.Projection), NonKeyAttributes: x.NonKeyAttributes},
		}
		for _, k := range x.PartitionKey {
			create.KeySchema = append(create.KeySchema, types.KeySchemaElement{AttributeName: &k, KeyType: "HASH"})
		}
		for _, k := range x.SortKey {
			create.KeySchema = append(create.KeySchema, types.KeySchemaElement{AttributeName: &k, KeyType: "RANGE"})
		}
		if t := x.ProvisionedThroughput; t != nil {
			create.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: new(int64(t.ReadCapacityUnits)), WriteCapacityUnits: new(int64(t.WriteCapacityUnits))}
		}
		if t := x.OnDemandThroughput; t != nil {
			create.OnDemandThroughput = &types.OnDemandThroughput{MaxReadRequestUnits: units64(t.MaxReadRequestUnits), MaxWriteRequestUnits: units64(t.MaxWriteRequestUnits)}
		}
		if err := change(defs, types.GlobalSecondaryIndexUpdate{Create: create}); err != nil {
			return err
		}
		if err := watch(c, name, index, x.ContributorInsights); err != nil {
			return err
		}
	}
	return nil
}

// rebill goes to a capacity, or to billing by request. Indexes that have a capacity keep it.
func rebill(c *sdk.Client, name *string, p TableProps, _ kindtest.Edited) error {
	now, err := c.DescribeTable(context.Background(), &sdk.DescribeTableInput{TableName: name})
	if err != nil {
		return err
	}
	in := &sdk.UpdateTableInput{TableName: name, BillingMode: "PAY_PER_REQUEST"}
	if t := p.ProvisionedThroughput; t != nil {
		in.BillingMode = "PROVISIONED"
		if now.Table.BillingModeSummary == nil {
			p.GlobalSecondaryIndexes = nil
		}
		in.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: new(int64(t.ReadCapacityUnits)), WriteCapacityUnits: new(int64(t.WriteCapacityUnits))}
		for index, x := range p.GlobalSecondaryIndexes {
			own := x.ProvisionedThroughput
			in.GlobalSecondaryIndexUpdates = append(in.GlobalSecondaryIndexUpdates, types.GlobalSecondaryIndexUpdate{Update: &types.UpdateGlobalSecondaryIndexAction{
				IndexName: &index, ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: new(int64(own.ReadCapacityUnits)), WriteCapacityUnits: new(int64(own.WriteCapacityUnits))},
			}})
		}
	}
	_, err = c.UpdateTable(context.Background(), in)
	return err
}

func restream(c *sdk.Client, name *string, p TableProps, _ kindtest.Edited) error {
	ctx := context.Background()
	// Where there is none it cannot be turned off, which is as well.
	_, _ = c.UpdateTable(ctx, &sdk.UpdateTableInput{TableName: name, StreamSpecification: &types.StreamSpecification{StreamEnabled: new(false)}})
	if p.StreamViewType == "" {
		return nil
	}
	_, err := c.UpdateTable(ctx, &sdk.UpdateTableInput{TableName: name, StreamSpecification: &types.StreamSpecification{
		StreamEnabled: new(true), StreamViewType: types.StreamViewType(p.StreamViewType),
	}})
	return err
}

func retime(c *sdk.Client, name *string, p TableProps, _ kindtest.Edited) error {
	spec := &types.TimeToLiveSpecification{Enabled: new(p.TTLAttribute != ""), AttributeName: new(p.TTLAttribute)}
	if p.TTLAttribute == "" {
		spec.AttributeName = new("any")
	}
	_, err := c.UpdateTimeToLive(context.Background(), &sdk.UpdateTimeToLiveInput{TableName: name, TimeToLiveSpecification: spec})
	return err
}

func rebackup(c *sdk.Client, name *string, p TableProps, _ kindtest.Edited) error {
	spec := &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: &p.PointInTimeRecovery}
	if p.PointInTimeRecovery {
		spec.RecoveryPeriodInDays = new(int32(*p.RecoveryPeriod / (24 * time.Hour)))
	}
	_, err := c.UpdateContinuousBackups(context.Background(), &sdk.UpdateContinuousBackupsInput{TableName: name, PointInTimeRecoverySpecification: spec})
	return err
}

func rekey(c *sdk.Client, name *string, p TableProps, _ kindtest.Edited) error {
	spec := &types.SSESpecification{Enabled: new(p.KMSKeyARN != "" || p.AWSManagedKey)}
	if p.KMSKeyARN != "" {
		spec.KMSMasterKeyId = new(string(p.KMSKeyARN))
	}
	_, err := c.UpdateTable(context.Background(), &sdk.UpdateTableInput{TableName: name, SSESpecification: spec})
	return err
}

func watch(c *sdk.Client, name *string, index, mode string) error {
	in := &sdk.UpdateContributorInsightsInput{TableName: name, ContributorInsightsAction: "DISABLE"}
	if index != "" {
		in.IndexName = &index
	}
	if mode != "" {
		in.ContributorInsightsAction, in.ContributorInsightsMode = "ENABLE", types.ContributorInsightsMode(mode)
	}
	_, err := c.UpdateContributorInsights(context.Background(), in)
	return err
}

func rekinesis(c *sdk.Client, name *string, p TableProps, _ kindtest.Edited) error {
	ctx := context.Background()
	now, err := c.DescribeKinesisStreamingDestination(ctx, &sdk.DescribeKinesisStreamingDestinationInput{TableName: name})
	if err != nil {
		return err
	}
	for _, to := range now.KinesisDataStreamDestinations {
		if _, err := c.DisableKinesisStreamingDestination(ctx, &sdk.DisableKinesisStreamingDestinationInput{TableName: name, StreamArn: to.StreamArn}); err != nil {
			return err
		}
	}
	if p.KinesisStream == nil {
		return nil
	}
	_, err = c.EnableKinesisStreamingDestination(ctx, &sdk.EnableKinesisStreamingDestinationInput{
		TableName: name, StreamArn: new(string(p.KinesisStream.StreamARN)),
		EnableKinesisStreamingConfiguration: &types.EnableKinesisStreamingConfiguration{
			ApproximateCreationDateTimePrecision: types.ApproximateCreationDateTimePrecision(*p.KinesisStream.Precision),
		},
	})
	return err
}

func repolicy(c *sdk.Client, _ *string, p TableProps, to kindtest.Edited) error {
	ctx, arn := context.Background(), new(to.Attrs["arn"].(string))
	if p.Policy == nil || p.Policy == "" {
		_, err := c.DeleteResourcePolicy(ctx, &sdk.DeleteResourcePolicyInput{ResourceArn: arn})
		return err
	}
	_, err := c.PutResourcePolicy(ctx, &sdk.PutResourcePolicyInput{ResourceArn: arn, Policy: aws.Text(p.Policy)})
	return err
}

func (w *world) retag(t kindtest.T, to kindtest.Edited) error {
	ctx, arn := context.Background(), to.Attrs["arn"].(string)
	drop := func(keys []string) error {
		keys = slices.DeleteFunc(keys, func(k string) bool { return strings.HasPrefix(k, "aws:") })
		if len(keys) == 0 {
			return nil
		}
		_, err := w.Others.UntagResource(ctx, &sdk.UntagResourceInput{ResourceArn: &arn, TagKeys: keys})
		return err
	}
	return awstest.Retag(w.tags(t, arn), to, drop, func(tags map[string]string) error {
		_, err := w.Others.TagResource(ctx, &sdk.TagResourceInput{ResourceArn: &arn, Tags: tagList(tags)})
		return err
	})
}
