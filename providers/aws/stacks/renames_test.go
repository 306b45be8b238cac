package stacks_test

import (
	"maps"
	"testing"
	"time"

	sdklambda "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/aws/eventbridge"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
)

// named are the addresses that a rename changes, each with the options that say what it was.
type named struct {
	scope, queue, function, bucket        string
	queueWas, functionWas, bucketWas, was []athanor.Option // was is that of the other queue
}

// consuming is a function with all that is declared below its address, called with two queues.
func consuming(n named) athanor.Program {
	return func(s *athanor.Stack) error {
		in := s
		if n.scope != "" {
			in = s.Scope(n.scope)
		}
		orders := sqs.NewQueue(in, n.queue, sqs.QueueProps{}, n.queueWas...)
		returned := sqs.NewQueue(in, "returned", sqs.QueueProps{}, n.was...)
		fn := lambda.NewFunction(in, n.function, lambda.FunctionProps{
			Code: lambda.Zip("code.zip"), Runtime: new("python3.14"), Handler: new("main.handler"),
		}, n.functionWas...)
		lambda.Consume(in, fn, orders)
		lambda.Consume(in, fn, returned)
		rule := eventbridge.NewRule(s, "nightly", eventbridge.RuleProps{
			ScheduleExpression: "rate(1 day)", Targets: map[string]eventbridge.Target{"work": {ARN: fn.ARN}},
		})
		fn.AllowInvoke(in, "events.amazonaws.com", rule.ARN)
		files := s3.NewBucket(s, n.bucket, s3.BucketProps{ForceDestroy: true}, n.bucketWas...)
		files.Notify(s, "resize", fn, s3.Notification{Events: []string{"s3:ObjectCreated:*"}})
		return nil
	}
}

// TestRenamesAreUndisturbed renames what a function is called with, the function, both, and all into another scope. What is declared
// below their addresses is renamed with them: one deploy is enough, and every object is the one that it was.
func TestRenamesAreUndisturbed(t *testing.T) {
	was := func(addresses ...string) []athanor.Option { return []athanor.Option{athanor.RenamedFrom(addresses...)} }
	inStage(t, awstest.Documented{Latency: 50 * time.Millisecond}, func(s *stage) {
		for _, c := range []struct {
			name          string
			before, after named
			moved         int // resources that get another address, beside the function's role
		}{
			{
				"the source",
				named{queue: "orders", function: "worker", bucket: "files"},
				named{queue: "inbox", function: "worker", bucket: "files", queueWas: was("orders")},
				2,
			},
			{
				"the function",
				named{queue: "orders", function: "worker", bucket: "files"},
				named{queue: "orders", function: "sender", bucket: "files", functionWas: was("older", "worker")},
				5,
			},
			{
				"both, and a bucket",
				named{queue: "orders", function: "worker", bucket: "files"},
				named{queue: "inbox", function: "sender", bucket: "uploads", queueWas: was("orders"), functionWas: was("worker"), bucketWas: was("files")},
				8,
			},
			{
				"the scope",
				named{scope: "shop", queue: "orders", function: "worker", bucket: "files"},
				named{
					scope: "store", queue: "orders", function: "worker", bucket: "files",
					queueWas: was("shop/orders"), functionWas: was("shop/worker"), was: was("shop/returned"),
				},
				7,
			},
		} {
			name := c.name
			s.deploy(consuming(c.before))
			objects := s.mappings()
			time.Sleep(time.Hour)
			s.server.Reset()
			p := s.plan(consuming(c.after))
			s.onlyRenames(name, p)
			// The description of the role shows the function's address, and the names of its statements show those of the queues.
			want := engine.Summary{Moved: c.moved, Updated: 1, Unchanged: len(p.Actions) - c.moved - 1}
			if r := s.apply(p, "deploy").Summary; r != want {
				s.Errorf("%s: %+v, want %+v", name, r, want)
			}
			for _, op := range []string{
				"Lambda.CreateEventSourceMapping", "Lambda.DeleteEventSourceMapping", "Lambda.AddPermission", "Lambda.RemovePermission", "Lambda.CreateFunction",
				"IAM.CreateRole", "SQS.CreateQueue", "CloudWatchLogs.CreateLogGroup",
			} {
				if n := s.server.Count(op); n > 0 {
					s.Errorf("%s: %s is called %d times", name, op, n)
				}
			}
			have := s.mappings()
			if len(have) != 2 || !maps.Equal(have, objects) {
				s.Errorf("%s: mappings %v, and before %v", name, have, objects)
			}
			for id, state := range have {
				if state != "Enabled" {
					s.Errorf("%s: mapping %s is %s", name, id, state)
				}
			}
			time.Sleep(time.Hour)
			if p := s.plan(consuming(c.after)); p.Pending() {
				s.Errorf("%s: after it %+v", name, p.Summary)
			}
			s.destroy()
		}
	})
}

// onlyRenames holds that a plan announces renames alone, and of a role what shows an address: its description, and the names of the
// statements that were granted to it.
func (s *stage) onlyRenames(name string, p *engine.Plan) {
	s.Helper()
	for _, a := range p.Actions {
		switch a.Action {
		case engine.Move, engine.Unchanged:
		case engine.Update:
			if a.Kind == "aws.iam.Role" {
				continue
			}
			fallthrough
		default:
			s.Errorf("%s: %s of %s %v", name, a.Action, a.Address, a.Reasons)
		}
	}
}

// mappings are the states of all mappings, by their id.
func (s *stage) mappings() map[string]string {
	s.Helper()
	out, err := sdklambda.NewFromConfig(s.played.Outside(s)).ListEventSourceMappings(s.Context(), &sdklambda.ListEventSourceMappingsInput{})
	if err != nil {
		s.Fatal(err)
	}
	states := map[string]string{}
	for _, m := range out.EventSourceMappings {
		states[*m.UUID] = *m.State
	}
	return states
}
