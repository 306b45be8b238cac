package iam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

var (
	errAttached    = errors.New("the policy is in use")
	errOtherPath   = errors.New("the name is taken by a policy of another path")
	errPolicyGoing = errors.New("the policy is still there")
	errNotAPolicy  = errors.New("it is the ARN of no policy")
)

// policyOf is what a policy is looked for by. IAM knows policies by their ARNs alone, which tell the path.
func policyOf(site policySite) (aws.ARN, error) {
	named := func(name string) aws.ARN { return arnOf(site.Place, "policy"+cmp.Or(site.Want.Path, "/")+name) }
	switch {
	case site.Last != nil:
		return site.Last.ARN, nil
	case site.ID != "":
		p, ok := aws.ARN(site.ID).Parse()
		switch {
		case !ok:
			return named(site.ID), nil
		case p.Service != "iam" || !strings.HasPrefix(p.Resource, "policy/"):
			return "", fmt.Errorf("%w: %s", errNotAPolicy, site.ID)
		case p.Account != site.Place.Account && p.Account != "aws": // as which AWS has policies for everybody
			return "", aws.Foreign(site.ID, site.Place)
		}
		return aws.ARN(site.ID), nil
	case site.Name != "":
		return named(site.Name), nil
	}
	return "", errNoName
}

func observePolicy(ctx context.Context, site policySite) (livePolicy, error) {
	arn, err := policyOf(site)
	if err != nil {
		return livePolicy{}, err
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return livePolicy{}, err
	}
	out, err := client.GetPolicy(ctx, &sdk.GetPolicyInput{PolicyArn: new(string(arn))})
	if err != nil {
		return livePolicy{}, aws.Absent(err)
	}
	live := policyIn(out.Policy)
	version, err := client.GetPolicyVersion(ctx, &sdk.GetPolicyVersionInput{PolicyArn: out.Policy.Arn, VersionId: out.Policy.DefaultVersionId})
	if err != nil {
		return livePolicy{}, aws.NotYet(err) // the version that was just named
	}
	live.document = documentIn(version.PolicyVersion.Document)
	return live, nil
}

func policyIn(p *types.Policy) livePolicy {
	return livePolicy{
		arn: aws.ARN(sdkaws.ToString(p.Arn)), name: sdkaws.ToString(p.PolicyName), path: sdkaws.ToString(p.Path), id: sdkaws.ToString(p.PolicyId),
		description: sdkaws.ToString(p.Description), tags: tagMap(p.Tags),
	}
}

// createPolicy carries everything.
func createPolicy(ctx context.Context, site policySite) (Policy, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return Policy{}, err
	}
	document, err := aws.DocumentText(site.Want.Document)
	if err != nil {
		return Policy{}, fmt.Errorf("document: %w", err)
	}
	out, err := client.CreatePolicy(ctx, &sdk.CreatePolicyInput{
		PolicyName: &site.Name, Path: &site.Want.Path, Description: aws.OrNil(site.Want.Description), PolicyDocument: &document,
		Tags: tagList(aws.Tags(site.Want.Tags, site.Mark)),
	})
	if err != nil {
		return Policy{}, taken(ctx, client, site, err)
	}
	return policyAttrs(policyIn(out.Policy)), nil
}

// taken tells a policy that somebody made between the look and the creation, at which another look comes, from one of
// another path, which no look by this path ever shows.
func taken(ctx context.Context, client *sdk.Client, site policySite, err error) error {
	if !aws.IsExists(err) {
		return err
	}
	for p, look := range localPolicies(ctx, client) {
		name, path := sdkaws.ToString(p.PolicyName), sdkaws.ToString(p.Path)
		if look == nil && strings.EqualFold(name, site.Name) && path != site.Want.Path {
			return fmt.Errorf("%w: %s", errOtherPath, sdkaws.ToString(p.Arn))
		}
	}
	return err
}

// localPolicies goes through the account's own policies. An error ends it.
func localPolicies(ctx context.Context, client *sdk.Client) func(yield func(types.Policy, error) bool) {
	return func(yield func(types.Policy, error) bool) {
		pages := sdk.NewListPoliciesPaginator(listPoliciesCall(client.ListPolicies), &sdk.ListPoliciesInput{Scope: types.PolicyScopeTypeLocal, MaxItems: new(int32(1000))})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(types.Policy{}, err)
				return
			}
			for _, p := range page.Policies {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

func listPolicies(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	var all []reconcile.Found
	for p, err := range localPolicies(ctx, client) {
		if err != nil {
			return nil, err
		}
		if name := sdkaws.ToString(p.PolicyName); strings.HasPrefix(name, scope.Prefix) {
			all = append(all, reconcile.Found{Kind: policyType, Place: scope.Place, Identity: sdkaws.ToString(p.Arn), Name: name})
		}
	}
	return all, nil
}

// mostVersions is how many versions a policy may have.
const mostVersions = 5

// versions are those of a policy that are not the default, the oldest first.
func versions(ctx context.Context, client *sdk.Client, arn string) ([]string, error) {
	var others []string
	for pages := sdk.NewListPolicyVersionsPaginator(listPolicyVersionsCall(client.ListPolicyVersions), &sdk.ListPolicyVersionsInput{PolicyArn: &arn}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, v := range page.Versions {
			if !v.IsDefaultVersion {
				others = append(others, sdkaws.ToString(v.VersionId))
			}
		}
	}
	number := func(id string) int { n, _ := strconv.Atoi(strings.TrimPrefix(id, "v")); return n }
	slices.SortFunc(others, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return others, nil
}

func dropVersion(ctx context.Context, client *sdk.Client, arn, id string) error {
	_, err := client.DeletePolicyVersion(ctx, &sdk.DeletePolicyVersionInput{PolicyArn: &arn, VersionId: &id})
	if aws.IsAbsent(err) {
		return nil
	}
	return err
}

// deletePolicy refuses while something uses the policy: what others attached to theirs is not ours to take away.
func deletePolicy(ctx context.Context, site policySite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	arn := string(site.Last.ARN)
	out, err := client.GetPolicy(ctx, &sdk.GetPolicyInput{PolicyArn: &arn})
	if err != nil {
		return err
	}
	if sdkaws.ToInt32(out.Policy.AttachmentCount)+sdkaws.ToInt32(out.Policy.PermissionsBoundaryUsageCount) > 0 {
		return inUse(ctx, client, arn)
	}
	others, err := versions(ctx, client, arn)
	if err != nil {
		return err
	}
	for _, id := range others {
		if err := dropVersion(ctx, client, arn, id); err != nil {
			return err
		}
	}
	if _, err := client.DeletePolicy(ctx, &sdk.DeletePolicyInput{PolicyArn: &arn}); err != nil {
		return err
	}
	if _, err := client.GetPolicy(ctx, &sdk.GetPolicyInput{PolicyArn: &arn}); err != nil {
		return err // absent is what is wanted
	}
	return aws.Busy(errPolicyGoing)
}

// inUse names what uses a policy. IAM may be behind: what a role has let go of a moment ago goes away by waiting.
func inUse(ctx context.Context, client *sdk.Client, arn string) error {
	var users []string
	for pages := sdk.NewListEntitiesForPolicyPaginator(listEntitiesForPolicyCall(client.ListEntitiesForPolicy), &sdk.ListEntitiesForPolicyInput{PolicyArn: &arn}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, x := range page.PolicyRoles {
			users = append(users, "role "+sdkaws.ToString(x.RoleName))
		}
		for _, x := range page.PolicyUsers {
			users = append(users, "user "+sdkaws.ToString(x.UserName))
		}
		for _, x := range page.PolicyGroups {
			users = append(users, "group "+sdkaws.ToString(x.GroupName))
		}
	}
	slices.Sort(users)
	return aws.Busy(reconcile.WithHint(fmt.Errorf("%w: by %s", errAttached, strings.Join(users, ", ")), "detach it there, and run again"))
}
