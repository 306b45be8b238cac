package iam

import (
	"context"
	"errors"
	"fmt"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// hand is somebody else's call about the role with a name, to which the declaration would fit then.
func hand(ws awstest.Worlds[*world], do func(t kindtest.T, w *world, role *string, p RoleProps) error) kindtest.Hand {
	return ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		name, _ := to.Attrs["name"].(string)
		var p RoleProps
		if err := props.Load(to.Props, &p); err != nil {
			return err
		}
		roleTable.Default(&p)
		return do(t, w, &name, p)
	})
}

// roleHands change each aspect of a role as somebody else would.
func roleHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	ctx := context.Background()
	update := hand(ws, func(_ kindtest.T, w *world, role *string, p RoleProps) error {
		_, err := w.Others.UpdateRole(ctx, &sdk.UpdateRoleInput{
			RoleName: role, Description: &p.Description, MaxSessionDuration: new(int32(*p.MaxSessionDuration / time.Second)),
		})
		return err
	})
	return map[tree.Path]kindtest.Hand{
		"description":        update,
		"maxSessionDuration": update,
		"trustPolicy": hand(ws, func(t kindtest.T, w *world, role *string, p RoleProps) error {
			_, err := w.Others.UpdateAssumeRolePolicy(ctx, &sdk.UpdateAssumeRolePolicyInput{RoleName: role, PolicyDocument: new(textOf(t, p.TrustPolicy))})
			return err
		}),
		"permissionsBoundary": hand(ws, func(_ kindtest.T, w *world, role *string, p RoleProps) error {
			if p.PermissionsBoundary == "" {
				_, err := w.Others.DeleteRolePermissionsBoundary(ctx, &sdk.DeleteRolePermissionsBoundaryInput{RoleName: role})
				return err
			}
			_, err := w.Others.PutRolePermissionsBoundary(ctx, &sdk.PutRolePermissionsBoundaryInput{
				RoleName: role, PermissionsBoundary: new(string(p.PermissionsBoundary)),
			})
			return err
		}),
		"managedPolicies": hand(ws, reattach),
		"inline": hand(ws, func(t kindtest.T, w *world, role *string, p RoleProps) error {
			want := map[string]string{}
			for name, document := range p.Inline {
				want[name] = textOf(t, document)
			}
			if kept, ok := w.inline(t, *role)[grantsPolicy]; ok {
				want[grantsPolicy] = kept
			}
			return w.rewrite(t, role, want)
		}),
		"bindings": hand(ws, func(t kindtest.T, w *world, role *string, p RoleProps) error {
			want := w.inline(t, *role)
			delete(want, grantsPolicy)
			if len(p.Bindings) > 0 {
				want[grantsPolicy] = textOf(t, aws.Policy(p.Bindings...))
			}
			return w.rewrite(t, role, want)
		}),
		"tags": ws.Hand((*world).retag),
		"": hand(ws, func(t kindtest.T, w *world, role *string, _ RoleProps) error {
			if err := errors.Join(reattach(t, w, role, RoleProps{}), w.rewrite(t, role, nil)); err != nil {
				return err
			}
			_, err := w.Others.DeleteRole(ctx, &sdk.DeleteRoleInput{RoleName: role})
			return err
		}),
	}
}

func reattach(_ kindtest.T, w *world, role *string, p RoleProps) error {
	ctx := context.Background()
	out, err := w.Others.ListAttachedRolePolicies(ctx, &sdk.ListAttachedRolePoliciesInput{RoleName: role})
	if err != nil {
		return err
	}
	for _, have := range out.AttachedPolicies {
		if _, err := w.Others.DetachRolePolicy(ctx, &sdk.DetachRolePolicyInput{RoleName: role, PolicyArn: have.PolicyArn}); err != nil {
			return err
		}
	}
	for _, arn := range p.ManagedPolicies {
		if _, err := w.Others.AttachRolePolicy(ctx, &sdk.AttachRolePolicyInput{RoleName: role, PolicyArn: new(string(arn))}); err != nil {
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
		if _, err := w.Others.DeleteRolePolicy(ctx, &sdk.DeleteRolePolicyInput{RoleName: role, PolicyName: &name}); err != nil {
			return err
		}
	}
	for name, document := range want {
		if _, err := w.Others.PutRolePolicy(ctx, &sdk.PutRolePolicyInput{RoleName: role, PolicyName: &name, PolicyDocument: &document}); err != nil {
			return fmt.Errorf("%s: %w", document, err)
		}
	}
	return nil
}

func (w *world) retag(_ kindtest.T, to kindtest.Edited) error {
	ctx, role := context.Background(), new(to.Attrs["name"].(string))
	have, err := w.Others.ListRoleTags(ctx, &sdk.ListRoleTagsInput{RoleName: role})
	if err != nil {
		return err
	}
	drop := func(keys []string) error {
		_, err := w.Others.UntagRole(ctx, &sdk.UntagRoleInput{RoleName: role, TagKeys: keys})
		return err
	}
	return awstest.Retag(tagMap(have.Tags), to, drop, func(tags map[string]string) error {
		_, err := w.Others.TagRole(ctx, &sdk.TagRoleInput{RoleName: role, Tags: tagList(tags)})
		return err
	})
}

// policyHands change each aspect of a managed policy as somebody else would.
func policyHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	ctx := context.Background()
	hand := func(do func(t kindtest.T, c *sdk.Client, arn *string, to kindtest.Edited) error) kindtest.Hand {
		return ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			arn, _ := to.Attrs["arn"].(string)
			return do(t, w.Others, &arn, to)
		})
	}
	return map[tree.Path]kindtest.Hand{
		"document": hand(func(t kindtest.T, c *sdk.Client, arn *string, to kindtest.Edited) error {
			others, err := versions(ctx, c, *arn)
			for _, id := range others {
				err = errors.Join(err, dropVersion(ctx, c, *arn, id))
			}
			_, made := c.CreatePolicyVersion(ctx, &sdk.CreatePolicyVersionInput{PolicyArn: arn, PolicyDocument: new(textOf(t, to.Value)), SetAsDefault: true})
			return errors.Join(err, made)
		}),
		"tags": hand(func(_ kindtest.T, c *sdk.Client, arn *string, to kindtest.Edited) error {
			have, err := c.ListPolicyTags(ctx, &sdk.ListPolicyTagsInput{PolicyArn: arn})
			if err != nil {
				return err
			}
			drop := func(keys []string) error {
				_, err := c.UntagPolicy(ctx, &sdk.UntagPolicyInput{PolicyArn: arn, TagKeys: keys})
				return err
			}
			return awstest.Retag(tagMap(have.Tags), to, drop, func(tags map[string]string) error {
				_, err := c.TagPolicy(ctx, &sdk.TagPolicyInput{PolicyArn: arn, Tags: tagList(tags)})
				return err
			})
		}),
		"": hand(func(_ kindtest.T, c *sdk.Client, arn *string, _ kindtest.Edited) error {
			others, err := versions(ctx, c, *arn)
			for _, id := range others {
				err = errors.Join(err, dropVersion(ctx, c, *arn, id))
			}
			_, gone := c.DeletePolicy(ctx, &sdk.DeletePolicyInput{PolicyArn: arn})
			return errors.Join(err, gone)
		}),
	}
}
