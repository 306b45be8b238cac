package iam

import (
	"context"
	"fmt"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// compareRole states every aspect. What the role may do comes last, so that a boundary is there before what it bounds.
func compareRole(d *roleDiff, want RoleProps, live liveRole) {
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", name, live.name)
	}
	reconcile.Fixed(d, "path", want.Path, live.path)
	reconcile.Value(d, "trustPolicy", aws.CanonicalPolicy(want.TrustPolicy), aws.CanonicalPolicy(live.trust), putTrust(want))
	update := updateRole(want)
	reconcile.Value(d, "description", want.Description, live.description, update)
	reconcile.Value(d, "maxSessionDuration", *want.MaxSessionDuration, live.maxSession, update)
	reconcile.Value(d, "permissionsBoundary", aws.OrNil(want.PermissionsBoundary), aws.OrNil(live.boundary), bound(want))
	compareInline(d, want, live)
	compareBindings(d, want, live)
	reconcile.Set(d, "managedPolicies", want.ManagedPolicies, live.managed, "AttachRolePolicy", attach)
	aws.CompareTags(d, want.Tags, live.tags, "TagRole", tagRole, untagRole)
}

func compareInline(d *roleDiff, want RoleProps, live liveRole) {
	declared, there := map[string]any{}, map[string]any{}
	for name, document := range want.Inline {
		declared[name] = aws.CanonicalPolicy(document)
	}
	for name, document := range live.inline {
		if name != grantsPolicy {
			there[name] = aws.CanonicalPolicy(document)
		}
	}
	reconcile.Map(d, "inline", declared, there, "PutRolePolicy",
		func(ctx context.Context, on roleOn, put map[string]any, drop []string) error {
			client, err := clientOf(on.Cloud)
			if err != nil {
				return err
			}
			for name := range put {
				if err := putInline(ctx, client, on.Live.name, name, want.Inline[name]); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			for _, name := range drop {
				if err := dropInline(ctx, client, on.Live.name, name); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return nil
		})
}

func putInline(ctx context.Context, client *sdk.Client, role, name string, document any) error {
	text, err := aws.DocumentText(document)
	if err != nil {
		return err
	}
	_, err = client.PutRolePolicy(ctx, &sdk.PutRolePolicyInput{RoleName: &role, PolicyName: &name, PolicyDocument: &text})
	return aws.NotYet(err)
}

func putTrust(want RoleProps) *reconcile.Operation[liveRole] {
	return &reconcile.Operation[liveRole]{Name: "UpdateAssumeRolePolicy", Do: func(ctx context.Context, on roleOn) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		text, err := aws.DocumentText(want.TrustPolicy)
		if err != nil {
			return fmt.Errorf("trustPolicy: %w", err)
		}
		_, err = client.UpdateAssumeRolePolicy(ctx, &sdk.UpdateAssumeRolePolicyInput{RoleName: &on.Live.name, PolicyDocument: &text})
		return untrusted(ctx, client, on.Place, text, aws.NotYet(err))
	}}
}

// updateRole sends both that it can change: of the one that is left alone, what is there.
func updateRole(want RoleProps) *reconcile.Operation[liveRole] {
	return &reconcile.Operation[liveRole]{Name: "UpdateRole", Do: func(ctx context.Context, on roleOn) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		in := &sdk.UpdateRoleInput{RoleName: &on.Live.name, Description: &on.Live.description, MaxSessionDuration: new(inSeconds(on.Live.maxSession))}
		if slices.Contains(on.Changed, "description") {
			in.Description = &want.Description
		}
		if slices.Contains(on.Changed, "maxSessionDuration") {
			in.MaxSessionDuration = new(inSeconds(*want.MaxSessionDuration))
		}
		_, err = client.UpdateRole(ctx, in)
		return aws.NotYet(err)
	}}
}

func bound(want RoleProps) *reconcile.Operation[liveRole] {
	return &reconcile.Operation[liveRole]{Name: "PutRolePermissionsBoundary", Do: func(ctx context.Context, on roleOn) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		if want.PermissionsBoundary == "" {
			_, err := client.DeleteRolePermissionsBoundary(ctx, &sdk.DeleteRolePermissionsBoundaryInput{RoleName: &on.Live.name})
			return aws.NotYet(err)
		}
		_, err = client.PutRolePermissionsBoundary(ctx, &sdk.PutRolePermissionsBoundaryInput{
			RoleName: &on.Live.name, PermissionsBoundary: new(string(want.PermissionsBoundary)),
		})
		return missing(ctx, client, want.PermissionsBoundary, err)
	}}
}

// mostAttached is how many managed policies a role may have, unless its account has leave for more:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
const mostAttached = 10

// attach puts new policies beside the old ones before those go, so that the role can do at every moment what it can do
// before and after; not where there is no room for that.
func attach(ctx context.Context, on roleOn, add, drop []aws.ARN) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	role := on.Live.name
	attach := func() error {
		for _, arn := range add {
			_, err := client.AttachRolePolicy(ctx, &sdk.AttachRolePolicyInput{RoleName: &role, PolicyArn: new(string(arn))})
			if err := missing(ctx, client, arn, err); err != nil {
				return err
			}
		}
		return nil
	}
	detachAll := func() error {
		for _, arn := range drop {
			if err := detach(ctx, client, role, arn); err != nil {
				return err
			}
		}
		return nil
	}
	first, second := attach, detachAll
	if len(on.Live.managed)+len(add) > mostAttached {
		first, second = detachAll, attach
	}
	if err := first(); err != nil {
		return err
	}
	return second()
}

func tagRole(ctx context.Context, on roleOn, tags map[string]string) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	_, err = client.TagRole(ctx, &sdk.TagRoleInput{RoleName: &on.Live.name, Tags: tagList(tags)})
	return aws.NotYet(err)
}

func untagRole(ctx context.Context, on roleOn, keys []string) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	_, err = client.UntagRole(ctx, &sdk.UntagRoleInput{RoleName: &on.Live.name, TagKeys: keys})
	return aws.NotYet(err)
}
