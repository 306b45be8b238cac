package iam

import (
	"context"
	"encoding/json"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

type (
	obj  = map[string]any
	list = []any
)

type world struct{ awstest.World[sdk.Client] }

// theirs are policies of somebody else's, for roles to have them attached.
var theirs = []string{"read", "write", "bound", "bound-more"}

func newWorld(t *testing.T, policies ...string) *world {
	t.Helper()
	server := awstest.Start(t)
	w := &world{awstest.NewWorld(t, server, startLikeAWS(t, server), sdk.NewFromConfig, nil, "worker")}
	w.Located(t, account)
	for _, name := range policies {
		document := textOf(t, allow("s3:Get*", "*"))
		if _, err := w.Others.CreatePolicy(t.Context(), &sdk.CreatePolicyInput{PolicyName: &name, Path: new("/theirs/"), PolicyDocument: &document}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// managed is one of somebody else's policies.
func managed(name string) string { return "arn:aws:iam::" + account + ":policy/theirs/" + name }

func allow(action, resource string) obj {
	return obj{"Version": "2012-10-17", "Statement": list{obj{"Effect": "Allow", "Action": action, "Resource": resource}}}
}

func trust(service string) obj {
	return obj{"Version": "2012-10-17", "Statement": list{obj{
		"Effect": "Allow", "Principal": obj{"Service": service + ".amazonaws.com"}, "Action": "sts:AssumeRole",
	}}}
}

func textOf(t kindtest.T, document any) string {
	t.Helper()
	text, err := aws.DocumentText(document)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return text
}

// roles are all of the world as others see them.
func (w *world) roles(t kindtest.T) []any {
	t.Helper()
	out, err := w.Others.ListRoles(context.Background(), &sdk.ListRolesInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var all []any
	for _, r := range out.Roles {
		all = append(all, w.role(t, *r.RoleName))
	}
	return all
}

func (w *world) role(t kindtest.T, name string) obj {
	t.Helper()
	ctx := context.Background()
	out, err := w.Others.GetRole(ctx, &sdk.GetRoleInput{RoleName: &name})
	if err != nil {
		t.Fatalf("role: %v", err)
	}
	seen := obj{
		"path": *out.Role.Path, "trust": json.RawMessage(documentIn(out.Role.AssumeRolePolicyDocument)), "tags": awstest.Owned(tagMap(out.Role.Tags)),
		"description": sdkaws.ToString(out.Role.Description), "session": *out.Role.MaxSessionDuration,
	}
	if b := out.Role.PermissionsBoundary; b != nil {
		seen["boundary"] = *b.PermissionsBoundaryArn
	}
	attached, err := w.Others.ListAttachedRolePolicies(ctx, &sdk.ListAttachedRolePoliciesInput{RoleName: &name})
	if err != nil {
		t.Fatalf("attached: %v", err)
	}
	for _, p := range attached.AttachedPolicies {
		seen["attached "+*p.PolicyArn] = true
	}
	for policy, document := range w.inline(t, name) {
		seen["inline "+policy] = json.RawMessage(document)
	}
	return seen
}

// policies are all managed policies of the world as others see them, but for those that others made for roles.
func (w *world) policies(t kindtest.T) []any {
	t.Helper()
	ctx := context.Background()
	var all []any
	for p, err := range localPolicies(ctx, w.Others) {
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		if *p.Path == "/theirs/" {
			continue
		}
		out, err := w.Others.GetPolicy(ctx, &sdk.GetPolicyInput{PolicyArn: p.Arn})
		if err != nil {
			t.Fatalf("policy: %v", err)
		}
		version, err := w.Others.GetPolicyVersion(ctx, &sdk.GetPolicyVersionInput{PolicyArn: p.Arn, VersionId: out.Policy.DefaultVersionId})
		if err != nil {
			t.Fatalf("version: %v", err)
		}
		all = append(all, obj{
			"path": *out.Policy.Path, "description": sdkaws.ToString(out.Policy.Description), "tags": awstest.Owned(tagMap(out.Policy.Tags)),
			"document": json.RawMessage(documentIn(version.PolicyVersion.Document)),
		})
	}
	return all
}

// inline are the inline policies of a role as others see them.
func (w *world) inline(t kindtest.T, role string) map[string]string {
	t.Helper()
	all, err := inlined(context.Background(), w.Others, role)
	if err != nil {
		t.Fatalf("inline: %v", err)
	}
	return all
}

// with makes worlds that have policies of somebody else's.
func with(policies ...string) func(*testing.T) *world {
	return func(t *testing.T) *world {
		t.Helper()
		return newWorld(t, policies...)
	}
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDenied", "Throttling", "ServiceFailure")(class)
}

// task is a resource as it is declared, without state, and with permission to delete data.
func (w *world) task(t *testing.T, kind reconcile.Any, props obj) *reconcile.Job {
	t.Helper()
	job := w.Job(t, kind, props, nil)
	job.MayDelete = true
	return job
}

// settle makes an object as it is declared.
func (w *world) settle(t *testing.T, kind reconcile.Any, props obj, last map[string]any) map[string]any {
	t.Helper()
	job := w.task(t, kind, props)
	job.Last = last
	return kindtest.Settled(t, kind, job).Attrs
}
