// Command api is a small web service on AWS without servers: requests come in through an HTTP API, a function in Go keeps
// items in a table and puts work into a queue, and another function does the work, and looks after the table each night.
//
//	athanor deploy examples/api
//	curl -d '{"name":"lamp"}' "$(athanor output url examples/api)/items"
//	athanor logs web examples/api --follow
//
// Nobody writes a role or a policy here: each function has a role of its own, which may do what it is granted.
package main

import (
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/providers/aws/apigatewayv2"
	"github.com/athanor-dev/athanor/providers/aws/dynamodb"
	"github.com/athanor-dev/athanor/providers/aws/eventbridge"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/providers/aws/logs"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/reconcile/props"
)

func main() { cmd.Main(API) }

const day = 24 * time.Hour

// API declares the whole service.
func API(s *athanor.Stack) error {
	items := dynamodb.NewTable(s, "items", dynamodb.TableProps{PartitionKey: "id", TTLAttribute: "expires", PointInTimeRecovery: true})
	failed := sqs.NewQueue(s, "failed", sqs.QueueProps{MessageRetention: new(14 * day)})
	work := sqs.NewQueue(s, "work", sqs.QueueProps{VisibilityTimeout: new(3 * time.Minute), DeadLetter: failed.ARN, MaxReceives: new(3)})

	web := function(s, "web", lambda.FunctionProps{
		Timeout: new(10 * time.Second), Memory: new(props.Size(athanor.Config(s, "memory", athanor.Default(256))) * props.MiB),
		Env: map[string]string{"TABLE": string(items.Name), "QUEUE": string(work.URL)},
	})
	items.Grant(web, dynamodb.Read, dynamodb.Write)
	work.Grant(web, sqs.Send)

	worker := function(s, "worker", lambda.FunctionProps{
		Timeout: new(30 * time.Second), Env: map[string]string{"TABLE": string(items.Name)},
	})
	items.Grant(worker, dynamodb.Read, dynamodb.Write)
	lambda.Consume(s, worker, work)

	eventbridge.Schedule(s, "nightly", "cron(0 3 * * ? *)", worker)

	api := apigatewayv2.NewHTTPAPI(s, "api", apigatewayv2.HTTPAPIProps{})
	api.Route(s, "POST /items", web)
	api.Route(s, "GET /items/{id}", web)

	s.Output("url", api.Endpoint)
	s.Output("table", items.Name)
	s.Output("queue", work.URL)
	s.Output("web", web.Name)
	s.Output("worker", worker.Name)
	return nil
}

// function is one whose code is the folder of its name, for the processor that costs less, with logs that are kept for two
// weeks and go with it.
func function(s *athanor.Stack, name string, p lambda.FunctionProps) lambda.Function {
	group := logs.NewLogGroup(s, name+"-logs", logs.LogGroupProps{Retention: 14 * day}, athanor.AllowDelete())
	p.Code, p.Architecture = lambda.GoBuild("./"+name), new("arm64")
	p.Logging = &lambda.Logging{Group: group.Name}
	return lambda.NewFunction(s, name, p)
}
