// Command STACKNAME is an HTTP API on AWS: API Gateway calls a function in Go, which keeps items in a DynamoDB table.
//
//	curl -d '{"name":"lamp"}' "$(athanor output url)/items"
//	athanor logs web
package main

import (
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/providers/aws/apigatewayv2"
	"github.com/athanor-dev/athanor/providers/aws/dynamodb"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
)

func main() { cmd.Main(stack, cmd.Stack("STACKNAME")) }

func stack(s *athanor.Stack) error {
	items := dynamodb.NewTable(s, "items", dynamodb.TableProps{PartitionKey: "id"})

	// A function without a role gets one of its own, which may do what is granted here.
	web := lambda.NewFunction(s, "web", lambda.FunctionProps{
		Code:    lambda.GoBuild("./web"),
		Timeout: new(10 * time.Second),
		Env:     map[string]string{"TABLE": string(items.Name)},
	})
	items.Grant(web, dynamodb.Read, dynamodb.Write)

	api := apigatewayv2.NewHTTPAPI(s, "api", apigatewayv2.HTTPAPIProps{})
	api.Route(s, "POST /items", web)
	api.Route(s, "GET /items/{id}", web)

	s.Output("url", api.Endpoint)
	s.Output("table", items.Name)
	return nil
}
