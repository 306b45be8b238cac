package logs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

var errGoing = errors.New("the log group is still there")

func groupNames() aws.Names[LogGroup] {
	return aws.Names[LogGroup]{
		Of:  func(g LogGroup) string { return g.Name },
		In:  func(resource string) string { return strings.TrimPrefix(resource, "log-group:") },
		ARN: arnOf,
	}
}

// groupNamed finds the one group of that name among all that begin like it, of which it is the first.
func groupNamed(ctx context.Context, client *sdk.Client, name string) (types.LogGroup, error) {
	for pages := sdk.NewDescribeLogGroupsPaginator(describeLogGroupsCall(client.DescribeLogGroups), &sdk.DescribeLogGroupsInput{LogGroupNamePrefix: &name}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return types.LogGroup{}, err
		}
		for _, g := range page.LogGroups {
			if sdkaws.ToString(g.LogGroupName) == name {
				return g, nil
			}
		}
	}
	return types.LogGroup{}, reconcile.ErrAbsent
}

func observeGroup(ctx context.Context, site groupSite) (liveGroup, error) {
	site.ID = strings.TrimSuffix(site.ID, ":*") // which stands for its streams in an ARN
	name, err := aws.NameOf(site, groupNames())
	if err != nil {
		return liveGroup{}, err
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveGroup{}, err
	}
	live := liveGroup{arn: arnOf(site.Place, name)}
	if live.group, err = groupNamed(ctx, client, name); err != nil {
		return live, err
	}
	group, ctx := errgroup.WithContext(ctx)
	read := func(part func(context.Context, *sdk.Client) error) {
		group.Go(func() error { return part(ctx, client) })
	}
	// What decides about further reads is asked before any of them runs.
	unused, standard := live.stored() == 0, live.class() == string(types.LogGroupClassStandard)
	// Groups that never had such a policy have no status, which may be shown late.
	protected := live.group.DataProtectionStatus != "" || site.Want.DataProtectionPolicy != nil
	read(live.readTags)
	read(live.readPolicy)
	if unused {
		read(live.readUse)
	}
	if standard {
		read(live.readIndex)
	}
	if protected {
		read(live.readDataProtection)
	}
	return live, group.Wait()
}

func (l *liveGroup) readTags(ctx context.Context, client *sdk.Client) error {
	out, err := client.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceArn: new(string(l.arn))})
	if err != nil {
		return aws.Absent(err)
	}
	l.tags = out.Tags
	return nil
}

func (l *liveGroup) readUse(ctx context.Context, client *sdk.Client) error {
	out, err := client.DescribeLogStreams(ctx, &sdk.DescribeLogStreamsInput{LogGroupName: l.group.LogGroupName, Limit: new(int32(1))})
	if err != nil {
		return aws.Absent(err)
	}
	l.used = len(out.LogStreams) > 0
	return nil
}

// readDataProtection takes "there is none" for what it says: the group itself has just been seen.
func (l *liveGroup) readDataProtection(ctx context.Context, client *sdk.Client) error {
	out, err := client.GetDataProtectionPolicy(ctx, &sdk.GetDataProtectionPolicyInput{LogGroupIdentifier: l.group.LogGroupName})
	if err != nil && !aws.IsAbsent(err) {
		return err
	}
	if out != nil {
		l.dataProtection = sdkaws.ToString(out.PolicyDocument)
	}
	return nil
}

// readIndex leaves out the account's policy, which is shown where the group has none.
func (l *liveGroup) readIndex(ctx context.Context, client *sdk.Client) error {
	out, err := client.DescribeIndexPolicies(ctx, &sdk.DescribeIndexPoliciesInput{LogGroupIdentifiers: []string{sdkaws.ToString(l.group.LogGroupName)}})
	if err != nil && !aws.IsAbsent(err) {
		return err
	}
	if out == nil {
		return nil
	}
	for _, p := range out.IndexPolicies {
		if p.Source != types.IndexSourceAccount {
			l.index = sdkaws.ToString(p.PolicyDocument)
		}
	}
	return nil
}

// readPolicy goes by what each policy says it belongs to. A group has at most one:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-logs-loggroup.html
func (l *liveGroup) readPolicy(ctx context.Context, client *sdk.Client) error {
	out, err := client.DescribeResourcePolicies(ctx, &sdk.DescribeResourcePoliciesInput{
		ResourceArn: new(string(l.arn)), PolicyScope: types.PolicyScopeResource,
	})
	if err != nil && !aws.IsAbsent(err) {
		return err
	}
	if out == nil {
		return nil
	}
	for _, p := range out.ResourcePolicies {
		if aws.ARN(strings.TrimSuffix(sdkaws.ToString(p.ResourceArn), ":*")) == l.arn {
			l.policy, l.policyName, l.policyRevision = sdkaws.ToString(p.PolicyDocument), sdkaws.ToString(p.PolicyName), sdkaws.ToString(p.RevisionId)
		}
	}
	return nil
}

// createGroup carries what CreateLogGroup takes; retention and policies have calls of their own, which follow.
func createGroup(ctx context.Context, site groupSite) (LogGroup, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return LogGroup{}, err
	}
	in := &sdk.CreateLogGroupInput{
		LogGroupName: &site.Name, KmsKeyId: aws.OrNil(string(site.Want.KMSKeyID)), LogGroupClass: types.LogGroupClass(*site.Want.Class),
		DeletionProtectionEnabled: aws.OrNil(site.Want.DeletionProtection), Tags: aws.Tags(site.Want.Tags, site.Mark),
	}
	if _, err := client.CreateLogGroup(ctx, in); err != nil {
		return LogGroup{}, err
	}
	return groupOf(arnOf(site.Place, site.Name)), nil
}

// deleteGroup takes the protection away first, when there is leave, and returns when the group is no longer listed.
func deleteGroup(ctx context.Context, site groupSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	name := site.Last.Name
	live := liveGroup{arn: site.Last.ARN}
	if live.group, err = groupNamed(ctx, client, name); err != nil {
		return err
	}
	if !site.MayDelete {
		if err := live.readUse(ctx, client); err != nil {
			return err
		}
		if live.protected() {
			return fmt.Errorf("%w: it has deletion protection", reconcile.ErrHoldsData)
		}
		if live.holds() {
			return fmt.Errorf("%w: events", reconcile.ErrHoldsData)
		}
	}
	if live.protected() {
		if _, err := client.PutLogGroupDeletionProtection(ctx, &sdk.PutLogGroupDeletionProtectionInput{
			LogGroupIdentifier: &name, DeletionProtectionEnabled: new(false),
		}); err != nil {
			return err
		}
	}
	if _, err := client.DeleteLogGroup(ctx, &sdk.DeleteLogGroupInput{LogGroupName: &name}); err != nil {
		return err
	}
	if _, err := groupNamed(ctx, client, name); err != nil {
		return err // absent is what is wanted
	}
	return aws.Busy(errGoing)
}

func listGroups(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	var all []reconcile.Found
	pages := sdk.NewDescribeLogGroupsPaginator(describeLogGroupsCall(client.DescribeLogGroups), &sdk.DescribeLogGroupsInput{LogGroupNamePrefix: aws.OrNil(scope.Prefix), Limit: new(int32(50))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, g := range page.LogGroups {
			name := sdkaws.ToString(g.LogGroupName)
			all = append(all, reconcile.Found{Kind: groupType, Place: scope.Place, Identity: string(arnOf(scope.Place, name)), Name: name})
		}
	}
	return all, nil
}

func groupLogs(ctx context.Context, site groupSite, query reconcile.LogQuery) iter.Seq2[reconcile.LogLine, error] {
	return Tail(ctx, site.Cloud, site.Last.Name, query)
}
