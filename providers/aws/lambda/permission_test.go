package lambda

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// statements are those of all functions as others see them, without their ids.
func (w *world) statements(t kindtest.T) []any {
	t.Helper()
	var all []any
	for _, name := range []string{"theirs", "another"} {
		out, err := w.Others.GetPolicy(context.Background(), &sdk.GetPolicyInput{FunctionName: &name})
		if aws.IsAbsent(err) {
			continue
		}
		if err != nil {
			t.Fatalf("policy: %v", err)
		}
		var policy struct{ Statement []obj }
		if err := json.Unmarshal([]byte(sdkaws.ToString(out.Policy)), &policy); err != nil {
			t.Fatalf("policy: %v", err)
		}
		for _, s := range policy.Statement {
			if s["Sid"] != "foreign" {
				delete(s, "Sid")
				all = append(all, s)
			}
		}
	}
	return all
}

// withForeign has a statement of somebody else in a policy.
func (w *world) withForeign(t *testing.T) {
	t.Helper()
	w.withFunctions(t)
	if _, err := w.Others.AddPermission(t.Context(), &sdk.AddPermissionInput{
		FunctionName: new("theirs"), StatementId: new("foreign"), Action: new("lambda:InvokeFunction"), Principal: new("sns.amazonaws.com"),
	}); err != nil {
		t.Fatal(err)
	}
}

func permissionSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	base := obj{"function": functionNamed("theirs"), "principal": "events.amazonaws.com"}
	return kindtest.Suite{
		Kind: permissionKind.Erase(), World: ws.Make(having((*world).withForeign), (*world).statements), Fault: fault, Base: base, Hands: permissionHands(ws),
		Variants: []kindtest.Variant{
			{Name: "narrow", Props: with(base, obj{
				"sourceArn": "arn:aws:events:us-east-1:" + account + ":rule/shop-*", "sourceAccount": account, "action": "lambda:GetFunction",
				"principalOrgId": "o-a1b2c3d4e5", "eventSourceToken": "skill",
			})},
			{Name: "URL", Props: obj{
				"function": functionNamed("another"), "principal": "arn:aws:iam::" + account + ":root", "action": "lambda:InvokeFunctionUrl",
				"functionUrlAuth": "AWS_IAM", "invokedViaUrl": true, "statementId": "by-url",
			}},
			{Name: "account", Props: with(base, obj{"principal": account})},
		},
		Others: map[tree.Path][]any{"principal": {"s3.amazonaws.com", account}, "sourceAccount": {"444455556666"}},
		Steady: map[tree.Path]string{
			"function":    "a statement is in one policy for life",
			"statementId": "a statement keeps its id for life",
		},
	}
}

func TestPermission(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, permissionSuite())
}

// TestForeignStatements is about what others wrote into the policy: it stays.
func TestForeignStatements(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withForeign(t)
	kind := permissionKind.Erase()
	job := w.Job(t, kind, obj{"function": functionNamed("theirs"), "principal": "events.amazonaws.com"}, nil)
	out, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	ids := func() []string {
		statements, err := statementsOf(t.Context(), clientOf(w.Cloud), "theirs")
		if err != nil {
			t.Fatal(err)
		}
		return slices.Sorted(maps.Keys(statements))
	}
	if have := ids(); !slices.Equal(have, []string{"foreign", "shop-test-worker"}) {
		t.Errorf("statements %v", have)
	}
	if err := kind.Delete(t.Context(), w.Job(t, kind, nil, &out)); err != nil {
		t.Fatal(err)
	}
	if have := ids(); !slices.Equal(have, []string{"foreign"}) {
		t.Errorf("statements after deletion %v", have)
	}
}

// TestPermissionNotYet is about a function that is only known later: nothing is asked.
func TestPermissionNotYet(t *testing.T) {
	t.Parallel()
	w, kind := newWorld(t), permissionKind.Erase()
	later := token.Plain.Ref(token.Ref{Address: "worker", Path: "arn"})
	look, err := kind.Look(t.Context(), w.Job(t, kind, obj{"function": later, "principal": "events.amazonaws.com"}, nil))
	if err != nil || !look.Absent || len(w.Server.Calls()) != 0 {
		t.Errorf("%+v (%v), asked %v", look, err, w.Server.Calls())
	}
}
