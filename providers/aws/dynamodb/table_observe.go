package dynamodb

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// liveTable is a table as it was seen, in the shape of its props.
type liveTable struct {
	arn, stream aws.ARN
	status      string
	// moving are the parts that are not as they will be: indexes that come and go, a change of the key.
	moving []string
	have   TableProps
	// tags are all of them: the author's, the owner tag, and those of AWS.
	tags map[string]string
	// items says that there is one, or that nobody needs to know: of a table that stays none is asked for. DynamoDB counts them
	// every six hours.
	items bool
	// kinesis are all streams that get changes, where there should be one at most. asksKinesis: they were asked for.
	kinesis     []KinesisStream
	asksKinesis bool
	// ttl is the state of the time to live.
	ttl types.TimeToLiveStatus
	// insights are those of the indexes. asksInsights: they were asked for. insightsGoing says that some, of the table or
	// an index, are being turned off.
	insights                    map[string]string
	asksInsights, insightsGoing bool
}

// arnOf is how DynamoDB names a table.
func arnOf(location kind.Location, name string) aws.ARN {
	return aws.ARNIn(location, "dynamodb", "table/"+name)
}

func tableNames() aws.Names[Table] {
	return aws.Names[Table]{
		Of:  func(t Table) string { return t.Name },
		In:  func(resource string) string { return strings.TrimPrefix(resource, "table/") },
		ARN: arnOf,
	}
}

// target is a table that calls are made on.
type target struct {
	*sdk.Client
	name, arn *string
}

func targetOf(cloud kind.Cloud, location kind.Location, name string) target {
	return target{Client: clientOf(cloud), name: &name, arn: new(string(arnOf(location, name)))}
}

// observeTable asks for the table, then for all that DescribeTable does not tell at once. While it is created there is
// no more to ask than whose it is.
func observeTable(ctx context.Context, site tableSite) (liveTable, error) {
	name, err := aws.NameOf(site, tableNames())
	if err != nil {
		return liveTable{}, err
	}
	return tableAt(ctx, site, name, nil)
}

// observeTables reads the tags of all tables together, and each that has the wanted ones without asking for items: a table that stays
// counts as one with items.
func observeTables(ctx context.Context, all []tableSite) ([]*aws.Answer[liveTable], error) {
	tags, err := aws.TagsTogether(ctx, all,
		func(t Table) aws.ARN { return t.ARN }, func(want TableProps) map[string]string { return want.Tags })
	if err != nil {
		return nil, err
	}
	return aws.EachOf(ctx, all, func(i int) bool { return tags[i] == nil }, func(ctx context.Context, i int, s tableSite) (liveTable, error) {
		return tableAt(ctx, s, s.Last.Name, tags[i])
	}), nil
}

// tableAt reads a table whose tags are known, or nil.
func tableAt(ctx context.Context, site tableSite, name string, tags map[string]string) (liveTable, error) {
	t := targetOf(site.Cloud, site.Location, name)
	out, err := t.DescribeTable(ctx, &sdk.DescribeTableInput{TableName: t.name})
	if err != nil {
		return liveTable{}, aws.Absent(err)
	}
	live := described(out.Table)
	if live.tags = tags; tags != nil && stays(site, live.have) {
		live.items = true
	}
	live.asksInsights, live.asksKinesis = asksInsights(site), site.Want.KinesisStream != nil || site.Last != nil && site.Last.KinesisStreamARN != ""
	group, ctx := errgroup.WithContext(ctx)
	for _, read := range live.reads() {
		group.Go(func() error { return aws.NotYet(read(ctx, t, &live)) })
	}
	if err := group.Wait(); err != nil {
		return liveTable{}, err
	}
	for name, mode := range live.insights {
		if x, ok := live.have.GlobalSecondaryIndexes[name]; ok {
			x.ContributorInsights = mode
			live.have.GlobalSecondaryIndexes[name] = x
		}
	}
	return live, nil
}

// stays reports whether a table is declared as one that it can become in place: nothing of it that is fixed differs.
func stays(site tableSite, have TableProps) bool {
	want := site.Want
	return want.PartitionKey != "" && site.Name == have.Name && want.PartitionKey == have.PartitionKey && want.SortKey == have.SortKey &&
		maps.Equal(fixedKeys(want), fixedKeys(have)) &&
		maps.EqualFunc(want.LocalSecondaryIndexes, have.LocalSecondaryIndexes, func(w, h LocalSecondaryIndex) bool {
			return w.SortKey == h.SortKey && *w.Projection == *h.Projection &&
				slices.Equal(unordered(w.NonKeyAttributes), unordered(h.NonKeyAttributes))
		})
}

// asksInsights: what nobody has declared is not asked for, since not all that speaks the protocol of DynamoDB knows it.
func asksInsights(site tableSite) bool {
	declares := site.Want.ContributorInsights != "" || site.Last != nil && site.Last.ContributorInsights != ""
	for _, x := range site.Want.GlobalSecondaryIndexes {
		declares = declares || x.ContributorInsights != ""
	}
	return declares
}

// reads are what is to be asked for in the state that the table is in.
func (l *liveTable) reads() []func(context.Context, target, *liveTable) error {
	var all []func(context.Context, target, *liveTable) error
	if l.tags == nil {
		all = append(all, readTags)
	}
	if l.status == "CREATING" || l.status == "DELETING" {
		return all
	}
	all = append(all, readTTL, readBackups, readPolicy)
	if l.asksInsights {
		all = append(all, readInsights)
	}
	if l.asksKinesis {
		all = append(all, readKinesis)
	}
	if l.status == "ACTIVE" || l.status == "UPDATING" {
		return append(all, readItems)
	}
	l.items = true // out of reach, which is no leave to take it for empty
	return all
}

func readTags(ctx context.Context, t target, live *liveTable) error {
	live.tags = map[string]string{}
	next := func(out *sdk.ListTagsOfResourceOutput) *string { return out.NextToken }
	in := &sdk.ListTagsOfResourceInput{ResourceArn: t.arn}
	for page, err := range aws.PagesByToken(ctx, t.ListTagsOfResource, in, &in.NextToken, next) {
		if err != nil {
			return err
		}
		maps.Copy(live.tags, tagMap(page.Tags))
	}
	return nil
}

// readTTL: what is being turned on or off counts as done, since DynamoDB takes up to an hour for it.
func readTTL(ctx context.Context, t target, live *liveTable) error {
	out, err := t.DescribeTimeToLive(ctx, &sdk.DescribeTimeToLiveInput{TableName: t.name})
	if err != nil || out.TimeToLiveDescription == nil {
		return err
	}
	live.ttl = out.TimeToLiveDescription.TimeToLiveStatus
	if live.ttl == types.TimeToLiveStatusEnabled || live.ttl == types.TimeToLiveStatusEnabling {
		live.have.TTLAttribute = sdkaws.ToString(out.TimeToLiveDescription.AttributeName)
	}
	return nil
}

func readBackups(ctx context.Context, t target, live *liveTable) error {
	out, err := t.DescribeContinuousBackups(ctx, &sdk.DescribeContinuousBackupsInput{TableName: t.name})
	if err != nil || out.ContinuousBackupsDescription == nil || out.ContinuousBackupsDescription.PointInTimeRecoveryDescription == nil {
		return err
	}
	pitr := out.ContinuousBackupsDescription.PointInTimeRecoveryDescription
	live.have.PointInTimeRecovery = pitr.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled
	if days := sdkaws.ToInt32(pitr.RecoveryPeriodInDays); days > 0 {
		live.have.RecoveryPeriod = new(time.Duration(days) * 24 * time.Hour)
	}
	return nil
}

// readInsights reads those of the table and of all its indexes by one listing.
func readInsights(ctx context.Context, t target, live *liveTable) error {
	live.insights = map[string]string{}
	next := func(out *sdk.ListContributorInsightsOutput) *string { return out.NextToken }
	in := &sdk.ListContributorInsightsInput{TableName: t.name}
	for page, err := range aws.PagesByToken(ctx, t.ListContributorInsights, in, &in.NextToken, next) {
		if err != nil {
			return err
		}
		for _, s := range page.ContributorInsightsSummaries {
			mode := ""
			live.insightsGoing = live.insightsGoing || s.ContributorInsightsStatus == types.ContributorInsightsStatusDisabling
			if on := s.ContributorInsightsStatus; on == types.ContributorInsightsStatusEnabled || on == types.ContributorInsightsStatusEnabling {
				mode = string(s.ContributorInsightsMode)
			}
			switch index := sdkaws.ToString(s.IndexName); {
			case mode == "": // of what is deleted or failed nothing is left to show
			case index == "":
				live.have.ContributorInsights = mode
			default:
				live.insights[index] = mode
			}
		}
	}
	return nil
}

func readKinesis(ctx context.Context, t target, live *liveTable) error {
	out, err := t.DescribeKinesisStreamingDestination(ctx, &sdk.DescribeKinesisStreamingDestinationInput{TableName: t.name})
	if err != nil {
		return err
	}
	for _, to := range out.KinesisDataStreamDestinations {
		switch to.DestinationStatus {
		case types.DestinationStatusActive, types.DestinationStatusEnabling, types.DestinationStatusUpdating:
			precision := string(to.ApproximateCreationDateTimePrecision)
			if precision == "" {
				precision = "MILLISECOND"
			}
			live.kinesis = append(live.kinesis, KinesisStream{StreamARN: aws.ARN(sdkaws.ToString(to.StreamArn)), Precision: &precision})
		default: // it gets nothing, or nothing more
		}
	}
	return nil
}

func readPolicy(ctx context.Context, t target, live *liveTable) error {
	out, err := t.GetResourcePolicy(ctx, &sdk.GetResourcePolicyInput{ResourceArn: t.arn})
	if _, none := errors.AsType[*types.PolicyNotFoundException](err); none {
		return nil
	}
	if err != nil {
		return err
	}
	live.have.Policy = sdkaws.ToString(out.Policy)
	return nil
}

// readItems asks for one item, unless the table counts as one with items: the service's count, which is hours old, tells of some.
func readItems(ctx context.Context, t target, live *liveTable) error {
	if live.items {
		return nil
	}
	out, err := t.Scan(ctx, &sdk.ScanInput{TableName: t.name, Limit: new(int32(1)), Select: types.SelectCount, ConsistentRead: new(true)})
	if err != nil {
		return err
	}
	live.items = out.Count > 0
	return nil
}

func listTables(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	next := func(out *sdk.ListTablesOutput) *string { return out.LastEvaluatedTableName }
	in := &sdk.ListTablesInput{}
	for page, err := range aws.PagesByToken(ctx, clientOf(scope.Cloud).ListTables, in, &in.ExclusiveStartTableName, next) {
		if err != nil {
			return nil, err
		}
		for _, name := range page.TableNames {
			if strings.HasPrefix(name, scope.Prefix) {
				all = append(all, kind.Found{Kind: tableType, Place: scope.Place, Identity: string(arnOf(scope.Place, name)), Name: name})
			}
		}
	}
	return all, nil
}
