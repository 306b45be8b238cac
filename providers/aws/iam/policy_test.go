package iam

import (
	"errors"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	kindpkg "github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func TestPolicy(t *testing.T) {
	ws := awstest.Worlds[*world]{}
	kindtest.Run(t, kindtest.Derive(policyTable, kindtest.Suite{
		Kind:  policyKind.Erase(),
		World: ws.Make(with(), (*world).policies),
		Base:  obj{"document": allow("s3:Get*", "*"), "tags": obj{"team": "shop"}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"name": "Reader", "path": "/shop/", "description": "reads & lists", "document": allow("s3:List*", "*"), "tags": obj{"team": "web", "cost center": "42"},
			}},
			{Name: "text", Props: obj{"document": `{"Version":"2012-10-17","Statement":{"Effect":"Deny","Action":"s3:*","Resource":"*"}}`}},
		},
		Hands:  policyHands(ws),
		Others: map[tree.Path][]any{"document": {allow("s3:GetObject", "*")}},
		Steady: map[tree.Path]string{"name": "a policy keeps its name for life"},
	}))
}

// TestVersions: the oldest that is not the default makes room, and no other.
func TestVersions(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), policyKind.Erase()
	var last map[string]any
	for _, action := range []string{"s3:A*", "s3:B*", "s3:C*", "s3:D*", "s3:E*", "s3:F*", "s3:G*"} {
		last = w.settle(t, kind, obj{"name": "reader", "document": allow(action, "*")}, last)
	}
	others, err := versions(t.Context(), w.Others, last["arn"].(string))
	if err != nil || strings.Join(others, " ") != "v3 v4 v5 v6" {
		t.Errorf("beside the default: %v %v", others, err)
	}
	// Somebody takes a version back; the oldest then is not the one that was made first.
	if _, err := w.Others.SetDefaultPolicyVersion(t.Context(), &sdk.SetDefaultPolicyVersionInput{PolicyArn: new(last["arn"].(string)), VersionId: new("v3")}); err != nil {
		t.Fatal(err)
	}
	w.settle(t, kind, obj{"name": "reader", "document": allow("s3:G*", "*")}, last)
	if others, err = versions(t.Context(), w.Others, last["arn"].(string)); err != nil || strings.Join(others, " ") != "v3 v5 v6 v7" {
		t.Errorf("beside the default: %v %v", others, err)
	}
}

// TestPolicyInUse is not deleted, and says by whom it is used.
func TestPolicyInUse(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), policyKind.Erase()
	last := w.settle(t, kind, obj{"document": allow("s3:Get*", "*")}, nil)
	last = w.settle(t, kind, obj{"document": allow("s3:List*", "*")}, last)
	w.role0(t, "theirs")
	if _, err := w.Others.AttachRolePolicy(t.Context(), &sdk.AttachRolePolicyInput{RoleName: new("theirs"), PolicyArn: new(last["arn"].(string))}); err != nil {
		t.Fatal(err)
	}
	w.Server.Reset()
	arn, _ := last["arn"].(string)
	site := policySite{Facts: kindpkg.Facts{Cloud: w.Cloud}, Last: &Policy{ARN: aws.ARN(arn)}}
	err := deletePolicy(t.Context(), site)
	if !errors.Is(err, errAttached) || !strings.Contains(err.Error(), "by role theirs") || len(reconcile.Hints(err)) == 0 || w.Cloud.Classify(err) != reconcile.Busy {
		t.Errorf("%v", err)
	}
	if n := len(w.Server.Mutations()); n > 0 {
		t.Errorf("and %d calls changed something", n)
	}
	if _, err := w.Others.DetachRolePolicy(t.Context(), &sdk.DetachRolePolicyInput{RoleName: new("theirs"), PolicyArn: &arn}); err != nil {
		t.Fatal(err)
	}
	gone := w.task(t, kind, nil)
	gone.Last = last
	if err := kind.Delete(t.Context(), gone); err != nil || len(w.policies(t)) > 0 {
		t.Errorf("%v, left %v", err, w.policies(t))
	}
}

// TestOtherPath: a name that a policy of another path has is told, and not waited for.
func TestOtherPath(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t, "read"), policyKind.Erase()
	w.Server.Inject(awstest.Fault{Op: "IAM.CreatePolicy", Kind: awstest.Refuse, Code: "EntityAlreadyExists", Times: -1}) // moto goes by the path too
	_, err := kind.Settle(t.Context(), w.task(t, kind, obj{"name": "Read", "document": allow("s3:Get*", "*")}), reconcile.Hooks{})
	if !errors.Is(err, errOtherPath) || !strings.Contains(err.Error(), managed("read")) {
		t.Errorf("%v", err)
	}
}

func TestPolicyOf(t *testing.T) {
	t.Parallel()
	place := reconcile.Place{Provider: "aws", Account: account, Region: "us-east-1"}
	var have []string
	for _, id := range []string{
		"reader", managed("read"), "arn:aws:iam::aws:policy/ReadOnlyAccess", "arn:aws:iam::999999999999:policy/reader", "arn:aws:iam::" + account + ":role/reader",
	} {
		arn, err := policyOf(policySite{ID: id, Facts: kindpkg.Facts{Location: place}})
		if err != nil {
			arn = ""
		}
		have = append(have, string(arn))
	}
	want := []string{"arn:aws:iam::" + account + ":policy/reader", managed("read"), "arn:aws:iam::aws:policy/ReadOnlyAccess", "", ""}
	if !slices.Equal(have, want) {
		t.Errorf("%q", have)
	}
}
