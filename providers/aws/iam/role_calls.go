package iam

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

var (
	errNoName = errors.New("it is found by its name, and there is none")
	errGoing  = errors.New("the role is still there")
)

// arnOf is how IAM names a thing: in no region.
func arnOf(place reconcile.Place, resource string) aws.ARN {
	return aws.Parts{Partition: aws.Partition(place.Region), Service: "iam", Account: place.Account, Resource: resource}.ARN()
}

// roleNamed is the name by which a role is looked for.
func roleNamed(site roleSite) (string, error) {
	switch {
	case site.Last != nil:
		return site.Last.Name, nil
	case site.ID != "":
		p, ok := aws.ARN(site.ID).Parse()
		if !ok {
			return site.ID, nil
		}
		if aws.ARN(site.ID) != arnOf(site.Place, p.Resource) || !strings.HasPrefix(p.Resource, "role/") {
			return "", aws.Foreign(site.ID, site.Place)
		}
		return nameIn(p.Resource), nil
	case site.Name != "":
		return site.Name, nil
	}
	return "", errNoName
}

// observeRole asks for the role, and then for all that hangs on it at once.
func observeRole(ctx context.Context, site roleSite) (liveRole, error) {
	name, err := roleNamed(site)
	if err != nil {
		return liveRole{}, err
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveRole{}, err
	}
	out, err := client.GetRole(ctx, &sdk.GetRoleInput{RoleName: &name})
	if err != nil {
		return liveRole{}, aws.Absent(err)
	}
	live := roleIn(out.Role)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		var err error
		live.managed, err = attached(ctx, client, name)
		return aws.NotYet(err)
	})
	group.Go(func() error {
		var err error
		live.inline, err = inlined(ctx, client, name)
		return aws.NotYet(err)
	})
	return live, group.Wait()
}

func roleIn(r *types.Role) liveRole {
	live := liveRole{
		arn: aws.ARN(sdkaws.ToString(r.Arn)), name: sdkaws.ToString(r.RoleName), path: sdkaws.ToString(r.Path), id: sdkaws.ToString(r.RoleId),
		trust: documentIn(r.AssumeRolePolicyDocument), description: sdkaws.ToString(r.Description),
		maxSession: time.Duration(sdkaws.ToInt32(r.MaxSessionDuration)) * time.Second, tags: tagMap(r.Tags),
	}
	if b := r.PermissionsBoundary; b != nil {
		live.boundary = aws.ARN(sdkaws.ToString(b.PermissionsBoundaryArn))
	}
	return live
}

// attached are the managed policies of a role.
func attached(ctx context.Context, client *sdk.Client, role string) ([]aws.ARN, error) {
	var all []aws.ARN
	for pages := sdk.NewListAttachedRolePoliciesPaginator(listAttachedRolePoliciesCall(client.ListAttachedRolePolicies), &sdk.ListAttachedRolePoliciesInput{RoleName: &role}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, p := range page.AttachedPolicies {
			all = append(all, aws.ARN(sdkaws.ToString(p.PolicyArn)))
		}
	}
	return all, nil
}

// inlineNames are the names of the inline policies of a role.
func inlineNames(ctx context.Context, client *sdk.Client, role string) ([]string, error) {
	var names []string
	for pages := sdk.NewListRolePoliciesPaginator(listRolePoliciesCall(client.ListRolePolicies), &sdk.ListRolePoliciesInput{RoleName: &role}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		names = append(names, page.PolicyNames...)
	}
	return names, nil
}

// inlined are the inline policies of a role, each asked for by itself: no call shows them all.
func inlined(ctx context.Context, client *sdk.Client, role string) (map[string]string, error) {
	names, err := inlineNames(ctx, client, role)
	if err != nil {
		return nil, err
	}
	documents := make([]string, len(names))
	group, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		group.Go(func() error {
			out, err := client.GetRolePolicy(ctx, &sdk.GetRolePolicyInput{RoleName: &role, PolicyName: &name})
			if err == nil {
				documents[i] = documentIn(out.PolicyDocument)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := make(map[string]string, len(names))
	for i, name := range names {
		all[name] = documents[i]
	}
	return all, nil
}

// createRole carries all that CreateRole takes, the mark included. What the role may do comes by itself afterwards.
func createRole(ctx context.Context, site roleSite) (Role, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return Role{}, err
	}
	trust, err := aws.DocumentText(site.Want.TrustPolicy)
	if err != nil {
		return Role{}, fmt.Errorf("trustPolicy: %w", err)
	}
	out, err := client.CreateRole(ctx, &sdk.CreateRoleInput{
		RoleName: &site.Name, Path: &site.Want.Path, AssumeRolePolicyDocument: &trust,
		Description: aws.OrNil(site.Want.Description), MaxSessionDuration: new(inSeconds(*site.Want.MaxSessionDuration)),
		PermissionsBoundary: aws.OrNil(string(site.Want.PermissionsBoundary)),
		Tags:                tagList(aws.Tags(site.Want.Tags, site.Mark)),
	})
	if err != nil {
		return Role{}, untrusted(ctx, client, site.Place, trust, err)
	}
	return roleAttrs(roleIn(out.Role)), nil
}

func inSeconds(d time.Duration) int32 { return int32(d / time.Second) }

// deleteRole takes off all that hangs on a role first, which IAM does not do by itself, and returns when the role is
// no longer shown.
func deleteRole(ctx context.Context, site roleSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	name := site.Last.Name
	if err := leaveProfiles(ctx, client, name); err != nil {
		return err
	}
	managed, err := attached(ctx, client, name)
	if err != nil {
		return err
	}
	for _, arn := range managed {
		if err := detach(ctx, client, name, arn); err != nil {
			return err
		}
	}
	inline, err := inlineNames(ctx, client, name)
	if err != nil {
		return err
	}
	for _, policy := range inline {
		if err := dropInline(ctx, client, name, policy); err != nil {
			return err
		}
	}
	if _, err := client.DeleteRole(ctx, &sdk.DeleteRoleInput{RoleName: &name}); err != nil {
		return err
	}
	if _, err := client.GetRole(ctx, &sdk.GetRoleInput{RoleName: &name}); err != nil {
		return err // absent is what is wanted
	}
	return aws.Busy(errGoing)
}

func leaveProfiles(ctx context.Context, client *sdk.Client, role string) error {
	for pages := sdk.NewListInstanceProfilesForRolePaginator(listInstanceProfilesForRoleCall(client.ListInstanceProfilesForRole), &sdk.ListInstanceProfilesForRoleInput{RoleName: &role}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, p := range page.InstanceProfiles {
			_, err := client.RemoveRoleFromInstanceProfile(ctx, &sdk.RemoveRoleFromInstanceProfileInput{
				InstanceProfileName: p.InstanceProfileName, RoleName: &role,
			})
			if err != nil && !aws.IsAbsent(err) {
				return err
			}
		}
	}
	return nil
}

// detach and dropInline take what is not there as taken off: somebody else may have been faster.
func detach(ctx context.Context, client *sdk.Client, role string, policy aws.ARN) error {
	_, err := client.DetachRolePolicy(ctx, &sdk.DetachRolePolicyInput{RoleName: &role, PolicyArn: new(string(policy))})
	if aws.IsAbsent(err) {
		return nil
	}
	return err
}

func dropInline(ctx context.Context, client *sdk.Client, role, policy string) error {
	_, err := client.DeleteRolePolicy(ctx, &sdk.DeleteRolePolicyInput{RoleName: &role, PolicyName: &policy})
	if aws.IsAbsent(err) {
		return nil
	}
	return err
}

// linked begins the paths of roles that services of AWS own, and nobody else can change.
var linked = []string{"/aws-service-role/", "/aws-reserved/"}

func listRoles(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	var all []reconcile.Found
	for pages := sdk.NewListRolesPaginator(listRolesCall(client.ListRoles), &sdk.ListRolesInput{MaxItems: new(int32(1000))}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Roles {
			name, path := sdkaws.ToString(r.RoleName), sdkaws.ToString(r.Path)
			if !strings.HasPrefix(name, scope.Prefix) || strings.HasPrefix(path, linked[0]) || strings.HasPrefix(path, linked[1]) {
				continue
			}
			all = append(all, reconcile.Found{Kind: roleType, Place: scope.Place, Identity: sdkaws.ToString(r.Arn), Name: name})
		}
	}
	return all, nil
}
