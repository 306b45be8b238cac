package iam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// PolicyProps declare a managed policy. Defaults and limits are those of
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreatePolicy.html
type PolicyProps struct {
	// Name of the policy: up to 128 letters, digits and _+=,.@- characters, one in the account whatever the case and the
	// path. Default: none, a name is generated. Changing it replaces the policy.
	Name string
	// Path groups policies, and is part of the ARN: it begins and ends with /. Default: none, which is /.
	Path string `prop:"immutable,maxlen=512" wire:"Path"`
	// Description of the policy: up to 1000 characters. Default: none.
	Description string `prop:"maxlen=1000,immutable" wire:"Description"`
	// Document says what is allowed: a document (see aws.Policy), or JSON text. A change makes a version that is the
	// default from then on. IAM keeps five; the oldest that is not the default goes when room is needed.
	Document any `prop:"required" wire:"PolicyDocument,policy"`
	// Tags of the policy, beside the owner tags. Default: none.
	Tags map[string]string
}

// Policy is what others may refer to of a managed policy.
type Policy struct {
	// ARN of the policy, for roles to have it attached or to be bounded by it.
	ARN aws.ARN `attr:"early"`
	// Name of the policy.
	Name string `attr:"early"`
	// ID is unique: a policy that is made again under the same name has another one.
	ID string `attr:"early"`
}

// livePolicy is an observed managed policy.
type livePolicy struct {
	attrs Policy
	have  PolicyProps // with the document of the default version
	tags  map[string]string
}

type policySite = kind.Site[PolicyProps, Policy]

var policyTable = kind.TableOf[PolicyProps](aws.PolicyCodec()).For(kind.In(sdk.CreatePolicyInput{}))

var policyKind = &kind.Kind[PolicyProps, livePolicy, Policy]{
	Type: policyType,
	Doc: "A managed policy of AWS IAM, for roles to have attached. Policies are the account's, in all regions. One that is " +
		"attached to anything is not deleted: roles of the stack are detached first, and any other user is named. " +
		"Versions that are not the default are not managed.",

	Observe:    observePolicy,
	Create:     createPolicy,
	Compare:    comparePolicy,
	Attributes: func(live livePolicy) Policy { return live.attrs },
	Delete:     deletePolicy,
	Identity:   func(p Policy) string { return string(p.ARN) },
	Global:     aws.Global,

	Props: policyTable,
	Default: func(want PolicyProps) PolicyProps {
		want.Path = cmp.Or(want.Path, "/")
		return want
	},
	Check: func(want PolicyProps) error {
		var problems props.Errors
		checkPath(want.Path, problems.Wrong)
		return problems.OrNil()
	},
	Named: &kind.Named[PolicyProps, livePolicy]{
		Given: func(want PolicyProps) string { return want.Name },
		Rule:  func(PolicyProps) kind.NameRule { return nameRule(128) },
		Live:  func(live livePolicy) string { return live.attrs.Name },
	},
	Owner: aws.Tagged(
		func(want PolicyProps) map[string]string { return want.Tags },
		func(live livePolicy) map[string]string { return live.tags }, "TagPolicy", tagPolicy, untagPolicy),
	List: listPolicies,

	EventuallyVisible: time.Minute, // as of roles
	// A policy in use is waited for as long as IAM may be behind, and no longer.
	Timeouts: kind.Timeouts{Delete: time.Minute},

	API: aws.API("IAM", "iam", aws.Source(source), kind.Permissions{
		Observe: []string{"GetPolicy", "GetPolicyVersion"},
		List:    []string{"ListPolicies"},
		Create:  []string{"CreatePolicy", "TagPolicy"},
		Update: []string{
			"ListPolicyVersions", "CreatePolicyVersion", "DeletePolicyVersion", "TagPolicy", "UntagPolicy",
		},
		Calls:  map[string][]string{"CreatePolicyVersion": {"CreatePolicyVersion", "ListPolicyVersions", "DeletePolicyVersion"}},
		Delete: []string{"DeletePolicy", "ListPolicyVersions", "DeletePolicyVersion", "ListEntitiesForPolicy"},
		Resource: func(location kind.Location, name string) []string {
			return []string{string(arnOf(location, "policy/"+name)), string(arnOf(location, "policy/*/"+name))}
		},
		Anywhere: []string{"ListPolicies"},
	}),
}

var (
	errAttached   = errors.New("the policy is in use")
	errOtherPath  = errors.New("the name is taken by a policy of another path")
	errNotAPolicy = errors.New("it is the ARN of no policy")
)

// policyOf is what a policy is looked for by. IAM knows policies by their ARNs alone, which tell the path.
func policyOf(s policySite) (aws.ARN, error) {
	named := func(name string) aws.ARN { return arnOf(s.Location, "policy"+cmp.Or(s.Want.Path, "/")+name) }
	switch {
	case s.Last != nil:
		return s.Last.ARN, nil
	case s.ID != "":
		p, ok := aws.ARN(s.ID).Parse()
		switch {
		case !ok:
			return named(s.ID), nil
		case p.Service != "iam" || !strings.HasPrefix(p.Resource, "policy/"):
			return "", fmt.Errorf("%w: %s", errNotAPolicy, s.ID)
		case p.Account != s.Location.Account && p.Account != "aws": // as which AWS has policies for everybody
			return "", aws.Foreign(s.ID, s.Location)
		}
		return aws.ARN(s.ID), nil
	case s.Name != "":
		return named(s.Name), nil
	}
	return "", errNoName
}

func observePolicy(ctx context.Context, s policySite) (live livePolicy, err error) {
	arn, err := policyOf(s)
	if err != nil {
		return live, err
	}
	client := clientOf(s.Cloud)
	out, err := client.GetPolicy(ctx, &sdk.GetPolicyInput{PolicyArn: new(string(arn))})
	if err != nil {
		return live, aws.Absent(err)
	}
	p := out.Policy
	version, err := client.GetPolicyVersion(ctx, &sdk.GetPolicyVersionInput{PolicyArn: p.Arn, VersionId: p.DefaultVersionId})
	if err != nil {
		return live, aws.NotYet(err) // the version that was just named
	}
	live = livePolicy{attrs: policyIn(p), tags: tagMap(p.Tags)}
	live.have, err = policyTable.Read(kind.Struct(p))
	live.have.Document = documentIn(version.PolicyVersion.Document)
	return live, err
}

func policyIn(p *types.Policy) Policy {
	return Policy{ARN: aws.ARN(sdkaws.ToString(p.Arn)), Name: sdkaws.ToString(p.PolicyName), ID: sdkaws.ToString(p.PolicyId)}
}

// createPolicy carries everything.
func createPolicy(ctx context.Context, s policySite) (Policy, error) {
	in := &sdk.CreatePolicyInput{PolicyName: &s.Name, Tags: tagList(aws.Tags(s.Cloud, s.Want.Tags, s.Owner))}
	if err := policyTable.Created(s.Want, kind.Struct(in)); err != nil {
		return Policy{}, err
	}
	client := clientOf(s.Cloud)
	out, err := client.CreatePolicy(ctx, in)
	if err != nil {
		return Policy{}, taken(ctx, client, s, err)
	}
	return policyIn(out.Policy), nil
}

// taken tells a policy that somebody made between the observation and the creation, after which another observation comes, from one of
// another path, which no observation by this path ever shows.
func taken(ctx context.Context, client *sdk.Client, s policySite, err error) error {
	if !aws.IsExists(err) {
		return err
	}
	for p, look := range localPolicies(ctx, client) {
		name, path := sdkaws.ToString(p.PolicyName), sdkaws.ToString(p.Path)
		if look == nil && strings.EqualFold(name, s.Name) && path != s.Want.Path {
			return fmt.Errorf("%w: %s", errOtherPath, sdkaws.ToString(p.Arn))
		}
	}
	return err
}

// localPolicies goes through the account's own policies. An error ends it.
func localPolicies(ctx context.Context, client *sdk.Client) func(yield func(types.Policy, error) bool) {
	return func(yield func(types.Policy, error) bool) {
		next := func(in *sdk.ListPoliciesInput, out *sdk.ListPoliciesOutput) bool {
			in.Marker = out.Marker
			return out.IsTruncated
		}
		for page, err := range aws.Pages(ctx, client.ListPolicies, &sdk.ListPoliciesInput{Scope: types.PolicyScopeTypeLocal, MaxItems: new(int32(1000))}, next) {
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

func listPolicies(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	for p, err := range localPolicies(ctx, clientOf(scope.Cloud)) {
		if err != nil {
			return nil, err
		}
		if name := sdkaws.ToString(p.PolicyName); strings.HasPrefix(name, scope.Prefix) {
			all = append(all, kind.Found{Kind: policyType, Place: scope.Place, Identity: sdkaws.ToString(p.Arn), Name: name})
		}
	}
	return all, nil
}

// comparePolicy states every aspect. A new version makes room first where there is none.
func comparePolicy(d *kind.Diff[livePolicy], want PolicyProps, live livePolicy) {
	kind.Compare(d, policyTable, want, live.have, kind.Set("CreatePolicyVersion", func(ctx context.Context, u kind.Update[livePolicy]) error {
		client, arn := clientOf(u.Cloud), string(u.Live.attrs.ARN)
		others, err := versions(ctx, client, arn)
		if err != nil {
			return aws.NotYet(err)
		}
		for len(others)+1 >= mostVersions {
			if err := dropVersion(ctx, client, arn, others[0]); err != nil {
				return err
			}
			others = others[1:]
		}
		_, err = client.CreatePolicyVersion(ctx, &sdk.CreatePolicyVersionInput{PolicyArn: &arn, PolicyDocument: aws.Text(want.Document), SetAsDefault: true})
		return aws.NotYet(err)
	}))
}

// mostVersions is how many versions a policy may have.
const mostVersions = 5

// versions are those of a policy that are not the default, the oldest first.
func versions(ctx context.Context, client *sdk.Client, arn string) ([]string, error) {
	var others []string
	next := func(in *sdk.ListPolicyVersionsInput, out *sdk.ListPolicyVersionsOutput) bool {
		in.Marker = out.Marker
		return out.IsTruncated
	}
	for page, err := range aws.Pages(ctx, client.ListPolicyVersions, &sdk.ListPolicyVersionsInput{PolicyArn: &arn}, next) {
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
	return aws.OrNone(err)
}

// deletePolicy refuses while something uses the policy: what others attached to theirs is not ours to take away.
func deletePolicy(ctx context.Context, s policySite) error {
	client, arn := clientOf(s.Cloud), string(s.Last.ARN)
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
	_, err = client.DeletePolicy(ctx, &sdk.DeletePolicyInput{PolicyArn: &arn})
	return err
}

// inUse names what uses a policy. IAM may be behind: a role that dropped the policy a moment ago stops to be listed
// after a wait.
func inUse(ctx context.Context, client *sdk.Client, arn string) error {
	var users []string
	next := func(in *sdk.ListEntitiesForPolicyInput, out *sdk.ListEntitiesForPolicyOutput) bool {
		in.Marker = out.Marker
		return out.IsTruncated
	}
	for page, err := range aws.Pages(ctx, client.ListEntitiesForPolicy, &sdk.ListEntitiesForPolicyInput{PolicyArn: &arn}, next) {
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

func tagPolicy(ctx context.Context, u kind.Update[livePolicy], tags map[string]string) error {
	_, err := clientOf(u.Cloud).TagPolicy(ctx, &sdk.TagPolicyInput{PolicyArn: new(string(u.Live.attrs.ARN)), Tags: tagList(tags)})
	return err
}

func untagPolicy(ctx context.Context, u kind.Update[livePolicy], keys []string) error {
	_, err := clientOf(u.Cloud).UntagPolicy(ctx, &sdk.UntagPolicyInput{PolicyArn: new(string(u.Live.attrs.ARN)), TagKeys: keys})
	return err
}
