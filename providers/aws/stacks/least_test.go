package stacks_test

import (
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func TestLeastPolicy(t *testing.T) {
	needs := []reconcile.Need{
		{Provider: "aws", Actions: []string{"sts:GetCallerIdentity"}},
		{Provider: "aws", Actions: []string{"sqs:CreateQueue", "sqs:TagQueue"}, Resources: []string{"arn:aws:sqs:eu-west-1:1:a"}},
		{Provider: "aws", Actions: []string{"sqs:TagQueue", "sqs:CreateQueue"}, Resources: []string{"arn:aws:sqs:eu-west-1:1:b", "arn:aws:sqs:eu-west-1:1:a"}},
		{Provider: "aws", Actions: []string{"sqs:DeleteQueue"}, Resources: []string{"arn:aws:sqs:eu-west-1:1:b", "arn:aws:sqs:eu-west-1:1:*"}},
		{Provider: "aws", Actions: []string{"sqs:ListQueues"}, Resources: []string{"arn:aws:sqs:eu-west-1:1:b"}},
		{Provider: "aws", Actions: []string{"sqs:ListQueues"}},
		{Provider: "world", Actions: []string{"world:Move"}},
	}
	want := aws.Policy(
		aws.Statement{Actions: []string{"sqs:ListQueues", "sts:GetCallerIdentity"}, Resources: []string{"*"}},
		aws.Statement{Actions: []string{"sqs:DeleteQueue"}, Resources: []string{"arn:aws:sqs:eu-west-1:1:*"}},
		aws.Statement{Actions: []string{"sqs:CreateQueue", "sqs:TagQueue"}, Resources: []string{"arn:aws:sqs:eu-west-1:1:a", "arn:aws:sqs:eu-west-1:1:b"}},
	)
	for range len(needs) {
		needs = append(needs[1:], needs[0])
		have, wanted := treeOf(aws.LeastPolicy(needs)), treeOf(want)
		if !tree.Equal(have, wanted) {
			t.Fatalf("%s\nwant %s", tree.Canonical(have), tree.Canonical(wanted))
		}
	}
	if have := treeOf(aws.LeastPolicy(nil)); string(tree.Canonical(have)) != `{"Statement":[],"Version":"2012-10-17"}` {
		t.Errorf("of nothing: %s", tree.Canonical(have))
	}
}

func treeOf(v any) any {
	t, err := tree.Of(v)
	if err != nil {
		panic(err)
	}
	return t
}

// TestCovering: a pattern takes the place of what it fits, and of nothing else.
func TestCovering(t *testing.T) {
	for _, c := range []struct{ all, left []string }{
		{[]string{"arn:a", "arn:*"}, []string{"arn:*"}},
		{[]string{"role/*/x", "role/x", "role/a/x"}, []string{"role/*/x", "role/x"}},
		{[]string{"*", "arn:a", "b*"}, []string{"*"}},
		{[]string{"a*b*c", "axbyc", "axc", "acb"}, []string{"a*b*c", "acb", "axc"}},
		{[]string{"ab*ba", "aba"}, []string{"ab*ba", "aba"}},
		{[]string{"a*", "a"}, []string{"a*"}},
	} {
		have := resourcesOf(aws.LeastPolicy([]reconcile.Need{{Provider: "aws", Actions: []string{"x:Y"}, Resources: c.all}}))
		if !slices.Equal(have, c.left) {
			t.Errorf("%v: left %v, want %v", c.all, have, c.left)
		}
	}
}

func resourcesOf(policy map[string]any) []string {
	statement := policy["Statement"].([]any)[0].(map[string]any)
	return statement["Resource"].([]string)
}
