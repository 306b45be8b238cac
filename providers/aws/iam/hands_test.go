package iam

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// hand is somebody else's call about the role with a name, to which the declaration would fit then.
func (ws worlds) hand(do func(t kindtest.T, w *world, role *string, p RoleProps) error) kindtest.Hand {
	return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
		t.Helper()
		name, _ := to.Attrs["name"].(string)
		var p RoleProps
		if err := props.Load(to.Props, &p); err != nil {
			t.Fatalf("%v", err)
		}
		if err := do(t, ws[w.Dir], &name, roleDefaults(p)); err != nil {
			t.Fatalf("by hand: %v", err)
		}
	}
}

// roleHands change each aspect of a role as somebody else would.
func (ws worlds) roleHands() map[tree.Path]kindtest.Hand {
	ctx := context.Background()
	update := ws.hand(func(_ kindtest.T, w *world, role *string, p RoleProps) error {
		_, err := w.others.UpdateRole(ctx, &sdk.UpdateRoleInput{
			RoleName: role, Description: &p.Description, MaxSessionDuration: new(int32(*p.MaxSessionDuration / time.Second)),
		})
		return err
	})
	return map[tree.Path]kindtest.Hand{
		"description":        update,
		"maxSessionDuration": update,
		"trustPolicy": ws.hand(func(t kindtest.T, w *world, role *string, p RoleProps) error {
			_, err := w.others.UpdateAssumeRolePolicy(ctx, &sdk.UpdateAssumeRolePolicyInput{RoleName: role, PolicyDocument: new(textOf(t, p.TrustPolicy))})
			return err
		}),
		"permissionsBoundary": ws.hand(func(_ kindtest.T, w *world, role *string, p RoleProps) error {
			if p.PermissionsBoundary == "" {
				_, err := w.others.DeleteRolePermissionsBoundary(ctx, &sdk.DeleteRolePermissionsBoundaryInput{RoleName: role})
				return err
			}
			_, err := w.others.PutRolePermissionsBoundary(ctx, &sdk.PutRolePermissionsBoundaryInput{
				RoleName: role, PermissionsBoundary: new(string(p.PermissionsBoundary)),
			})
			return err
		}),
		"managedPolicies": ws.hand(reattach),
		"inline": ws.hand(func(t kindtest.T, w *world, role *string, p RoleProps) error {
			want := map[string]string{}
			for name, document := range p.Inline {
				want[name] = textOf(t, document)
			}
			if kept, ok := w.inline(t, *role)[grantsPolicy]; ok {
				want[grantsPolicy] = kept
			}
			return w.rewrite(t, role, want)
		}),
		"bindings": ws.hand(func(t kindtest.T, w *world, role *string, p RoleProps) error {
			want := w.inline(t, *role)
			delete(want, grantsPolicy)
			if len(p.Bindings) > 0 {
				want[grantsPolicy] = textOf(t, aws.Policy(p.Bindings...))
			}
			return w.rewrite(t, role, want)
		}),
		"tags": ws.hand(retag),
		"": ws.hand(func(t kindtest.T, w *world, role *string, _ RoleProps) error {
			if err := errors.Join(reattach(t, w, role, RoleProps{}), w.rewrite(t, role, nil)); err != nil {
				return err
			}
			_, err := w.others.DeleteRole(ctx, &sdk.DeleteRoleInput{RoleName: role})
			return err
		}),
	}
}

func reattach(_ kindtest.T, w *world, role *string, p RoleProps) error {
	ctx := context.Background()
	out, err := w.others.ListAttachedRolePolicies(ctx, &sdk.ListAttachedRolePoliciesInput{RoleName: role})
	if err != nil {
		return err
	}
	for _, have := range out.AttachedPolicies {
		if _, err := w.others.DetachRolePolicy(ctx, &sdk.DetachRolePolicyInput{RoleName: role, PolicyArn: have.PolicyArn}); err != nil {
			return err
		}
	}
	for _, arn := range p.ManagedPolicies {
		if _, err := w.others.AttachRolePolicy(ctx, &sdk.AttachRolePolicyInput{RoleName: role, PolicyArn: new(string(arn))}); err != nil {
			return err
		}
	}
	return nil
}

// rewrite makes the inline policies those that are wanted.
func (w *world) rewrite(t kindtest.T, role *string, want map[string]string) error {
	t.Helper()
	ctx := context.Background()
	for name := range w.inline(t, *role) {
		if _, kept := want[name]; kept {
			continue
		}
		if _, err := w.others.DeleteRolePolicy(ctx, &sdk.DeleteRolePolicyInput{RoleName: role, PolicyName: &name}); err != nil {
			return err
		}
	}
	for name, document := range want {
		if _, err := w.others.PutRolePolicy(ctx, &sdk.PutRolePolicyInput{RoleName: role, PolicyName: &name, PolicyDocument: &document}); err != nil {
			return fmt.Errorf("%s: %w", document, err)
		}
	}
	return nil
}

// retag makes the tags those that are wanted, and leaves the marks alone.
func retag(_ kindtest.T, w *world, role *string, p RoleProps) error {
	ctx := context.Background()
	have, err := w.others.ListRoleTags(ctx, &sdk.ListRoleTagsInput{RoleName: role})
	if err != nil {
		return err
	}
	drop := unwanted(tagMap(have.Tags), p.Tags)
	if len(drop) > 0 {
		if _, err := w.others.UntagRole(ctx, &sdk.UntagRoleInput{RoleName: role, TagKeys: drop}); err != nil {
			return err
		}
	}
	if len(p.Tags) == 0 {
		return nil
	}
	_, err = w.others.TagRole(ctx, &sdk.TagRoleInput{RoleName: role, Tags: tagList(p.Tags)})
	return err
}

// policyHands change each aspect of a managed policy as somebody else would.
func (ws worlds) policyHands() map[tree.Path]kindtest.Hand {
	ctx := context.Background()
	hand := func(do func(t kindtest.T, c *sdk.Client, arn *string, p PolicyProps) error) kindtest.Hand {
		return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			arn, _ := to.Attrs["arn"].(string)
			var p PolicyProps
			err := props.Load(to.Props, &p)
			if err == nil {
				err = do(t, ws[w.Dir].others, &arn, p)
			}
			if err != nil {
				t.Fatalf("by hand: %v", err)
			}
		}
	}
	return map[tree.Path]kindtest.Hand{
		"document": hand(func(t kindtest.T, c *sdk.Client, arn *string, p PolicyProps) error {
			others, err := versions(ctx, c, *arn)
			for _, id := range others {
				err = errors.Join(err, dropVersion(ctx, c, *arn, id))
			}
			_, made := c.CreatePolicyVersion(ctx, &sdk.CreatePolicyVersionInput{PolicyArn: arn, PolicyDocument: new(textOf(t, p.Document)), SetAsDefault: true})
			return errors.Join(err, made)
		}),
		"tags": hand(func(_ kindtest.T, c *sdk.Client, arn *string, p PolicyProps) error {
			have, err := c.ListPolicyTags(ctx, &sdk.ListPolicyTagsInput{PolicyArn: arn})
			if err != nil {
				return err
			}
			if drop := unwanted(tagMap(have.Tags), p.Tags); len(drop) > 0 {
				if _, err := c.UntagPolicy(ctx, &sdk.UntagPolicyInput{PolicyArn: arn, TagKeys: drop}); err != nil {
					return err
				}
			}
			if len(p.Tags) == 0 {
				return nil
			}
			_, err = c.TagPolicy(ctx, &sdk.TagPolicyInput{PolicyArn: arn, Tags: tagList(p.Tags)})
			return err
		}),
		"": hand(func(_ kindtest.T, c *sdk.Client, arn *string, _ PolicyProps) error {
			others, err := versions(ctx, c, *arn)
			for _, id := range others {
				err = errors.Join(err, dropVersion(ctx, c, *arn, id))
			}
			_, gone := c.DeletePolicy(ctx, &sdk.DeletePolicyInput{PolicyArn: arn})
			return errors.Join(err, gone)
		}),
	}
}

// unwanted are the keys of tags that are there, and neither wanted nor marks.
func unwanted(have, want map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(have)), func(k string) bool {
		_, wanted := want[k]
		return wanted || adopt.IsMark(k)
	})
}
