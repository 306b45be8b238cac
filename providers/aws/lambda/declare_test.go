package lambda_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/dynamodb"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/providers/aws/logs"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// declared is what a program declares, by address.
func declared(t *testing.T, spelling athanor.Spelling, program func(*athanor.Stack)) map[string]engine.Resource {
	t.Helper()
	g, err := athanor.Evaluate(func(s *athanor.Stack) error { program(s); return nil },
		athanor.Input{Stack: "shop", Stage: "dev", Dir: t.TempDir(), Spelling: spelling})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]engine.Resource{}
	for _, r := range g.Resources {
		all[r.Address] = r
	}
	return all
}

// does are the actions that a role is granted.
func does(r engine.Resource) []string {
	var all []string
	rows, _ := r.Props["bindings"].([]any)
	for _, row := range rows {
		actions, _ := row.(map[string]any)["actions"].([]any)
		for _, a := range actions {
			all = append(all, a.(string))
		}
	}
	slices.Sort(all)
	return all
}

func TestConsume(t *testing.T) {
	t.Parallel()
	program := func(s *athanor.Stack) {
		in := s.Scope("shop")
		orders := sqs.NewQueue(in, "orders", sqs.QueueProps{})
		done := sqs.NewQueue(s, "done", sqs.QueueProps{})
		fn := lambda.NewFunction(in, "worker", lambda.FunctionProps{Code: lambda.GoBuild("./worker"), VPC: &lambda.VPC{Subnets: []string{"a"}, SecurityGroups: []string{"b"}}})
		done.Grant(fn, sqs.Send)
		lambda.Consume(in, fn, orders, lambda.With(lambda.EventSourceMappingProps{BatchSize: new(5)}), lambda.Options(athanor.Timeout(time.Minute)))
		table := dynamodb.NewTable(in, "items", dynamodb.TableProps{StreamViewType: "KEYS_ONLY"})
		lambda.Consume(in, fn, table)
		fn.AllowInvoke(s, "events.amazonaws.com", "arn:aws:events:eu-west-1:111122223333:rule/nightly")
	}
	all := declared(t, athanor.Plain, program)
	want := []string{
		"done", "shop/items", "shop/orders", "shop/worker", "shop/worker/events/nightly", "shop/worker/items", "shop/worker/logs", "shop/worker/orders", "shop/worker/role",
	}
	if have := slices.Sorted(maps.Keys(all)); !slices.Equal(have, want) {
		t.Fatalf("declared %v\nwant %v", have, want)
	}
	actions := []string{
		"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams", "ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets",
		"ec2:UnassignPrivateIpAddresses", "logs:CreateLogStream", "logs:PutLogEvents", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage", "sqs:SendMessage",
	}
	if have := does(all["shop/worker/role"]); !slices.Equal(have, actions) {
		t.Errorf("the role does %v\nwant %v", have, actions)
	}
	mapping := all["shop/worker/orders"]
	if mapping.Props["batchSize"] != int64(5) || !slices.Contains(mapping.Options.DependsOn, "shop/worker/role") {
		t.Errorf("mapping %s, after %v", tree.Canonical(mapping.Props), mapping.Options.DependsOn)
	}
	if start := all["shop/worker/items"].Props["startingPosition"]; start != "TRIM_HORIZON" {
		t.Errorf("the stream is read from %v", start)
	}
	if group, _ := tree.Get(all["shop/worker"].Props, "logging.group"); !strings.Contains(group.(string), "shop/worker/logs") {
		t.Errorf("the function logs to %v", group)
	}
	// Tokens in another spelling make the same graph.
	if other := slices.Sorted(maps.Keys(declared(t, athanor.Shifted, program))); !slices.Equal(other, want) {
		t.Errorf("in another spelling %v", other)
	}
}

// TestRoleOfOnesOwn is about functions that are given a role, or a log group.
func TestRoleOfOnesOwn(t *testing.T) {
	t.Parallel()
	all := declared(t, athanor.Plain, func(s *athanor.Stack) {
		role := iam.NewRole(s, "shared", iam.RoleProps{TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com")})
		one := lambda.NewFunction(s, "one", lambda.FunctionProps{Code: lambda.Bundle("one.ts"), Role: role.ARN})
		sqs.NewQueue(s, "orders", sqs.QueueProps{}).Grant(one, sqs.Send)
		lambda.NewFunction(s, "two", lambda.FunctionProps{
			Code: lambda.Zip("two.zip"), Runtime: new("python3.14"), Handler: new("a.b"), Tracing: new("Active"),
			Logging: &lambda.Logging{Group: logs.NewLogGroup(s, "lines", logs.LogGroupProps{}).Name},
		})
		lambda.NewFunction(s, "three", lambda.FunctionProps{Code: lambda.Image("uri"), Role: aws.ARN("arn:aws:iam::111122223333:role/theirs")})
	})
	want := []string{"lines", "one", "orders", "shared", "three", "two", "two/role"}
	if have := slices.Sorted(maps.Keys(all)); !slices.Equal(have, want) {
		t.Fatalf("declared %v\nwant %v", have, want)
	}
	if have := does(all["shared"]); !slices.Equal(have, []string{"sqs:SendMessage"}) {
		t.Errorf("the shared role does %v", have)
	}
	traced := []string{"logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents", "xray:PutTelemetryRecords", "xray:PutTraceSegments"}
	if have := does(all["two/role"]); !slices.Equal(have, traced) {
		t.Errorf("the role of two does %v, want %v", have, traced)
	}
}

// TestRenamesTakeAlong is about resources whose address is made of others': they are renamed together with those.
func TestRenamesTakeAlong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		program func(*athanor.Stack)
		want    map[string][]string
	}{
		"the source": {
			func(s *athanor.Stack) {
				orders := sqs.NewQueue(s, "inbox", sqs.QueueProps{}, athanor.RenamedFrom("orders"))
				fn := lambda.NewFunction(s, "worker", lambda.FunctionProps{Code: lambda.Bundle("a.ts")})
				lambda.Consume(s, fn, orders)
			},
			map[string][]string{"worker/inbox": {"worker/orders"}, "worker/role": nil, "worker/logs": nil},
		},
		"the function": {
			func(s *athanor.Stack) {
				orders := sqs.NewQueue(s, "orders", sqs.QueueProps{})
				fn := lambda.NewFunction(s, "worker", lambda.FunctionProps{Code: lambda.Bundle("a.ts")}, athanor.RenamedFrom("older", "old"))
				lambda.Consume(s, fn, orders)
				fn.AllowInvoke(s, "events.amazonaws.com", "arn:aws:events:eu-west-1:111122223333:rule/nightly")
			},
			map[string][]string{
				"worker/orders": {"older/orders", "old/orders"}, "worker/role": {"older/role", "old/role"}, "worker/logs": {"older/logs", "old/logs"},
				"worker/events/nightly": {"older/events/nightly", "old/events/nightly"},
			},
		},
		"both": {
			func(s *athanor.Stack) {
				orders := sqs.NewQueue(s, "inbox", sqs.QueueProps{}, athanor.RenamedFrom("orders"))
				fn := lambda.NewFunction(s, "worker", lambda.FunctionProps{Code: lambda.Bundle("a.ts")}, athanor.RenamedFrom("old"))
				lambda.Consume(s, fn, orders)
			},
			map[string][]string{"worker/inbox": {"old/inbox", "worker/orders", "old/orders"}},
		},
		"into a scope": {
			func(s *athanor.Stack) {
				in := s.Scope("shop")
				orders := sqs.NewQueue(in, "orders", sqs.QueueProps{}, athanor.RenamedFrom("orders"))
				fn := lambda.NewFunction(in, "worker", lambda.FunctionProps{Code: lambda.Bundle("a.ts")}, athanor.RenamedFrom("worker"))
				lambda.Consume(in, fn, orders)
			},
			map[string][]string{"shop/worker/orders": {"worker/orders"}, "shop/worker/role": {"worker/role"}},
		},
		"nothing": {
			func(s *athanor.Stack) {
				orders := sqs.NewQueue(s, "orders", sqs.QueueProps{})
				lambda.Consume(s, lambda.NewFunction(s, "worker", lambda.FunctionProps{Code: lambda.Bundle("a.ts")}), orders)
			},
			map[string][]string{"worker/orders": nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := declared(t, athanor.Plain, c.program)
			for address, want := range c.want {
				r, ok := all[address]
				missing := slices.ContainsFunc(want, func(old string) bool { return !slices.Contains(r.Options.RenamedFrom, old) })
				if have := r.Options.RenamedFrom; !ok || missing || (len(want) == 0) != (len(have) == 0) {
					t.Errorf("%s was %v, want %v", address, have, want)
				}
			}
		})
	}
}
