package dynamodb

import (
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestGrant is about what a role is allowed by one line: no more than was said, on the table and its indexes.
func TestGrant(t *testing.T) {
	t.Parallel()
	graph, err := athanor.Evaluate(func(s *athanor.Stack) error {
		orders := NewTable(s, "orders", TableProps{PartitionKey: "id", StreamViewType: "KEYS_ONLY"})
		trust := iam.ServiceTrust("lambda.amazonaws.com")
		reader := iam.NewRole(s, "reader", iam.RoleProps{TrustPolicy: trust})
		writer := iam.NewRole(s, "writer", iam.RoleProps{TrustPolicy: trust})
		orders.Grant(reader, Read)
		orders.Grant(reader, Read) // the same twice is one
		orders.Grant(writer, Write, Read, Stream)
		return nil
	}, athanor.Input{Stack: "shop", Stage: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range map[int]struct {
		statements int
		allows     []string
		denies     []string
	}{
		1: {1, []string{"dynamodb:GetItem", "dynamodb:Query", "${orders.arn}/index/*"}, []string{"PutItem", "GetRecords", `"*"`}},
		2: {3, []string{"dynamodb:PutItem", "dynamodb:GetItem", "dynamodb:GetRecords", "${orders.streamArn}"}, []string{"CreateTable", "DeleteTable"}},
	} {
		r := graph.Resources[i]
		bindings, _ := tree.Get(r.Props, "bindings")
		list, _ := bindings.([]any)
		said := token.Show(string(tree.Canonical(bindings)))
		if len(list) != c.statements {
			t.Errorf("%s: %d statements, want %d: %s", r.Address, len(list), c.statements, said)
		}
		missing := slices.DeleteFunc(c.allows, func(a string) bool { return strings.Contains(said, a) })
		more := slices.DeleteFunc(c.denies, func(a string) bool { return !strings.Contains(said, a) })
		if len(missing) > 0 || len(more) > 0 {
			t.Errorf("%s: without %q, with %q: %s", r.Address, missing, more, said)
		}
	}
}
