package dynamodb

import (
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func evaluated(t *testing.T, program athanor.Program) map[string]engine.Resource {
	t.Helper()
	graph, err := athanor.Evaluate(program, athanor.Input{Stack: "shop", Stage: "test"})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]engine.Resource{}
	for _, r := range graph.Resources {
		all[r.Address] = r
	}
	return all
}

// TestGrant is about what a role is allowed by one line: no more than was said, on the table and its indexes.
func TestGrant(t *testing.T) {
	t.Parallel()
	all := evaluated(t, func(s *athanor.Stack) error {
		orders := NewTable(s, "orders", TableProps{PartitionKey: "id", StreamViewType: "KEYS_ONLY"})
		trust := iam.ServiceTrust("lambda.amazonaws.com")
		reader := iam.NewRole(s, "reader", iam.RoleProps{TrustPolicy: trust})
		writer := iam.NewRole(s, "writer", iam.RoleProps{TrustPolicy: trust})
		orders.Grant(reader, Read)
		orders.Grant(reader, Read) // the same twice is one
		orders.Grant(writer, Write, Read, Stream)
		return nil
	})
	for address, c := range map[string]struct {
		statements int
		allows     []string
		denies     []string
	}{
		"reader": {1, []string{`"dynamodb:GetItem"`, `"dynamodb:Query"`, `"${orders.arn}/index/*"`}, []string{"PutItem", "GetRecords", `"*"`}},
		"writer": {2, []string{`"dynamodb:PutItem"`, `"dynamodb:GetItem"`, `"dynamodb:GetRecords"`, `"${orders.streamArn}"`}, []string{"CreateTable", "DeleteTable", `"*"`}},
	} {
		bindings, _ := tree.Get(all[address].Props, "bindings")
		list, _ := bindings.([]any)
		said := token.Show(string(tree.Canonical(bindings)))
		if len(list) != c.statements {
			t.Errorf("%s: %d statements, want %d: %s", address, len(list), c.statements, said)
		}
		missing := slices.DeleteFunc(c.allows, func(a string) bool { return strings.Contains(said, a) })
		more := slices.DeleteFunc(c.denies, func(a string) bool { return !strings.Contains(said, a) })
		if len(missing) > 0 || len(more) > 0 {
			t.Errorf("%s: without %q, with %q: %s", address, missing, more, said)
		}
	}
}

// TestConsume: a function reads the table's stream by one line.
func TestConsume(t *testing.T) {
	t.Parallel()
	all := evaluated(t, func(s *athanor.Stack) error {
		orders := NewTable(s, "orders", TableProps{PartitionKey: "id", StreamViewType: "NEW_IMAGE"})
		fn := lambda.NewFunction(s, "work", lambda.FunctionProps{Code: lambda.Image("work:1")})
		lambda.Consume(s, fn, orders)
		return nil
	})
	mapping := all["work/orders"]
	if said := token.Show(string(tree.Canonical(mapping.Props))); !strings.Contains(said, "${orders.streamArn}") || !strings.Contains(said, "TRIM_HORIZON") {
		t.Errorf("mapping %q: %s", mapping.Kind, said)
	}
}
