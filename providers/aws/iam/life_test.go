package iam

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	kindpkg "github.com/athanor-dev/athanor/reconcile/kind"
)

// TestCalls counts what a creation, a look without change, and changes cost.
func TestCalls(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t, theirs...), roleKind.Erase()
	made := obj{
		"trustPolicy": trust("lambda"), "managedPolicies": list{managed("read")}, "inline": obj{"logs": allow("logs:PutLogEvents", "*")},
		"bindings": list{grant("sqs:SendMessage", "queue"), grant("sns:Publish", "topic")},
	}
	last := w.settle(t, kind, made, nil)
	if have := mutations(w); have != "IAM.CreateRole IAM.PutRolePolicy IAM.PutRolePolicy IAM.AttachRolePolicy" {
		t.Errorf("made by %s", have)
	}
	w.Server.Reset()
	w.settle(t, kind, made, last)
	have := awstest.NamesOf(w.Server.Calls())
	slices.Sort(have)
	if s := strings.Join(have, " "); s != "IAM.GetRole IAM.GetRolePolicy IAM.GetRolePolicy IAM.ListAttachedRolePolicies IAM.ListRolePolicies" {
		t.Errorf("looked at by %s", s)
	}
	w.Server.Reset()
	changed := obj{"trustPolicy": trust("lambda"), "managedPolicies": list{managed("write")}, "description": "d", "maxSessionDuration": "2h"}
	w.settle(t, kind, changed, last)
	if have := mutations(w); have != "IAM.UpdateRole IAM.DeleteRolePolicy IAM.DeleteRolePolicy IAM.AttachRolePolicy IAM.DetachRolePolicy" {
		t.Errorf("changed by %s", have)
	}
}

func mutations(w *world) string { return strings.Join(w.Wrote(), " ") }

// TestDelete takes off all that hangs on a role, also what others put there.
func TestDelete(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t, theirs...), roleKind.Erase()
	last := w.settle(t, kind, obj{"name": "worker", "trustPolicy": trust("ec2")}, nil)
	for _, err := range []error{
		second(w.Others.PutRolePolicy(t.Context(), &sdk.PutRolePolicyInput{RoleName: new("worker"), PolicyName: new("theirs"), PolicyDocument: new(textOf(t, allow("s3:*", "*")))})),
		second(w.Others.AttachRolePolicy(t.Context(), &sdk.AttachRolePolicyInput{RoleName: new("worker"), PolicyArn: new(managed("read"))})),
		second(w.Others.CreateInstanceProfile(t.Context(), &sdk.CreateInstanceProfileInput{InstanceProfileName: new("machine")})),
		second(w.Others.AddRoleToInstanceProfile(t.Context(), &sdk.AddRoleToInstanceProfileInput{InstanceProfileName: new("machine"), RoleName: new("worker")})),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	// Somebody puts more onto it in between: what IAM refuses then is tried again from the start.
	w.Server.Inject(awstest.Fault{Op: "IAM.DeleteRole", Kind: awstest.Refuse, Code: "DeleteConflict"})
	gone := w.task(t, kind, nil)
	gone.Last = last
	if err := kind.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if left := w.roles(t); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	profile, err := w.Others.GetInstanceProfile(t.Context(), &sdk.GetInstanceProfileInput{InstanceProfileName: new("machine")})
	if err != nil || len(profile.InstanceProfile.Roles) > 0 {
		t.Errorf("the profile has %v: %v", profile, err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestManyPages: a role with more policies than a page holds is seen whole.
func TestManyPages(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t, theirs...), roleKind.Erase()
	var arns list
	for i := range 105 {
		name := fmt.Sprintf("many-%03d", i)
		if _, err := w.Others.CreatePolicy(t.Context(), &sdk.CreatePolicyInput{PolicyName: &name, PolicyDocument: new(textOf(t, allow("s3:Get*", "*")))}); err != nil {
			t.Fatal(err)
		}
		arns = append(arns, "arn:aws:iam::"+account+":policy/"+name)
	}
	props := obj{"trustPolicy": trust("ec2"), "managedPolicies": arns}
	last := w.settle(t, kind, props, nil)
	w.Server.Reset()
	w.settle(t, kind, props, last)
	if n := w.Server.Count("IAM.ListAttachedRolePolicies"); n != 2 || len(w.Server.Mutations()) > 0 {
		t.Errorf("%d pages, and %s", n, mutations(w))
	}
}

// TestMissingPolicy fails at once: no waiting makes a policy that nobody declared.
func TestMissingPolicy(t *testing.T) {
	t.Parallel()
	for prop, value := range map[string]any{"managedPolicies": list{managed("nowhere")}, "permissionsBoundary": managed("nowhere")} {
		w, kind := newWorld(t, theirs...), roleKind.Erase()
		last := w.settle(t, kind, obj{"trustPolicy": trust("ec2")}, nil)
		if prop == "permissionsBoundary" { // which moto takes as it is
			w.Server.Inject(awstest.Fault{Op: "IAM.PutRolePermissionsBoundary", Kind: awstest.Refuse, Code: "NoSuchEntity", Times: -1})
		}
		job := w.task(t, kind, obj{"trustPolicy": trust("ec2"), prop: value})
		job.Last = last
		_, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
		if !errors.Is(err, errNoPolicy) || !strings.Contains(err.Error(), "policy/theirs/nowhere") {
			t.Errorf("%s: %v", prop, err)
		}
	}
}

// TestNewPrincipal waits for a role that was made a moment ago to be known as a principal, and for no mistake.
func TestNewPrincipal(t *testing.T) {
	t.Parallel()
	by := func(arn string) obj {
		return obj{"Version": "2012-10-17", "Statement": list{obj{"Effect": "Allow", "Principal": obj{"AWS": arn}, "Action": "sts:AssumeRole"}}}
	}
	refuse := awstest.Fault{Op: "IAM.CreateRole", Kind: awstest.Refuse, Code: "MalformedPolicyDocument", Times: 2}
	t.Run("new", func(t *testing.T) {
		w, kind := newWorld(t, theirs...), roleKind.Erase()
		w.role0(t, "caller")
		w.Server.Inject(refuse)
		w.settle(t, kind, obj{"trustPolicy": by("arn:aws:iam::" + account + ":role/caller")}, nil)
		if n := w.Server.Count("IAM.CreateRole"); n != 3 {
			t.Errorf("asked %d times", n)
		}
	})
	t.Run("none", func(t *testing.T) {
		w, kind := newWorld(t, theirs...), roleKind.Erase()
		w.Server.Inject(refuse)
		_, err := kind.Settle(t.Context(), w.task(t, kind, obj{"trustPolicy": by("arn:aws:iam::" + account + ":role/nobody")}), reconcile.Hooks{})
		if err == nil || !strings.Contains(err.Error(), "MalformedPolicyDocument") || w.Server.Count("IAM.CreateRole") != 1 {
			t.Errorf("%v, asked %d times", err, w.Server.Count("IAM.CreateRole"))
		}
	})
}

// role0 is a role of somebody else's.
func (w *world) role0(t *testing.T, name string) {
	t.Helper()
	if _, err := w.Others.CreateRole(t.Context(), &sdk.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: new(textOf(t, trust("ec2")))}); err != nil {
		t.Fatal(err)
	}
}

func TestRoleNamed(t *testing.T) {
	t.Parallel()
	place := reconcile.Place{Provider: "aws", Account: account, Region: "us-east-1"}
	for id, want := range map[string]string{
		"worker": "worker", "arn:aws:iam::" + account + ":role/worker": "worker", "arn:aws:iam::" + account + ":role/jobs/night/worker": "worker",
		"arn:aws:iam::999999999999:role/worker": "", "arn:aws:iam::" + account + ":user/worker": "", "arn:aws-cn:iam::" + account + ":role/worker": "",
	} {
		name, err := roleNamed(roleSite{ID: id, Facts: kindpkg.Facts{Location: place}})
		if name != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, aws.ErrForeign) {
			t.Errorf("%s: %q, %v", id, name, err)
		}
	}
}

func TestCheckRole(t *testing.T) {
	t.Parallel()
	for says, p := range map[string]RoleProps{
		"name: want up to 64":                      {Name: strings.Repeat("n", 65)},
		"path: want up to 512":                     {Path: "/jobs"},
		"inline.athanor-grants: it is where":       {Inline: map[string]any{grantsPolicy: allow("s3:*", "*")}},
		`inline["a b"]: want up to 128`:            {Inline: map[string]any{"a b": allow("s3:*", "*")}},
		"bindings[0]: a grant has no principals":   {Bindings: []aws.Statement{{Everybody: true}}},
		"bindings[0]: a grant needs actions":       {Bindings: []aws.Statement{{Actions: []string{"s3:*"}}}},
		"bindings[1].sid: another one has it":      {Bindings: []aws.Statement{{Sid: "a", Actions: []string{"s3:*"}, Resources: []string{"*"}}, {Sid: "a", Actions: []string{"s3:*"}, Resources: []string{"*"}}}},
		"bindings[0].conditions.Like: want an ope": {Bindings: []aws.Statement{{Actions: []string{"s3:*"}, Resources: []string{"*"}, Conditions: map[string]map[string][]string{"Like": {}}}}},
		`tags["athanor:stack"]`:                    {Tags: map[string]string{"athanor:stack": "x"}},
	} {
		if err := roleKind.CheckAll(p); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q, have %v", says, err)
		}
	}
	kindtest.Refuses(t, roleKind.Erase(), kindtest.Refusals{
		{obj{"trustPolicy": trust("ec2"), "description": strings.Repeat("d", 1001)}, "description: want at most 1000"},
		{obj{"trustPolicy": trust("ec2"), "maxSessionDuration": "3600500ms"}, "whole seconds"},
	})
	if err := roleKind.CheckAll(RoleProps{Name: "a+b=c,d.e@f-g_h", Path: "/x/y/", Bindings: []aws.Statement{{Actions: []string{"s3:*"}, Resources: []string{"*"}}}}); err != nil {
		t.Error(err)
	}
}

// TestGranted reads back as statements what statements can say, and nothing else.
func TestGranted(t *testing.T) {
	t.Parallel()
	both := aws.Policy(
		aws.Statement{Sid: "B", Effect: "Deny", Actions: []string{"a:b"}, Resources: []string{"*"}},
		aws.Statement{Sid: "A", Actions: []string{"a:b", "a:c"}, Resources: []string{"*"}, Conditions: map[string]map[string][]string{"Bool": {"k": {"true"}}}},
	)
	statements, ok := granted(textOf(t, both))
	if !ok || len(statements) != 2 || statements[0].Sid != "A" || statements[0].Effect != "" || statements[1].Effect != "Deny" || statements[0].Conditions["Bool"]["k"][0] != "true" {
		t.Errorf("%v %v", statements, ok)
	}
	for _, other := range []string{
		`{"Statement":{"Effect":"Allow","NotAction":"a:b","Resource":"*"}}`, `{"Statement":["x"]}`, `x`, `{"Statement":{"Action":[1]}}`,
		`{"Statement":{"Action":"a:b","Condition":{"Bool":{"k":true}}}}`,
	} {
		if statements, ok := granted(other); ok {
			t.Errorf("%s: %v", other, statements)
		}
	}
}
