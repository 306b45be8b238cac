package samples

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws/apigatewayv2"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/typed/ec2"
	"github.com/athanor-dev/athanor/providers/aws/eventbridge"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
	"github.com/athanor-dev/athanor/providers/aws/s3"
	"github.com/athanor-dev/athanor/providers/aws/sns"
	"github.com/athanor-dev/athanor/providers/aws/sqs"
	"github.com/athanor-dev/athanor/providers/aws/website"
)

// Roles, policies and grants: `aws.iam.Role`, `aws.iam.Policy`
func aws1(s *athanor.Stack) error {
	orders := sqs.NewQueue(s, "orders", sqs.QueueProps{})
	assets := s3.NewBucket(s, "assets", s3.BucketProps{})
	events := sns.NewTopic(s, "events", sns.TopicProps{})
	worker := iam.NewRole(s, "worker", iam.RoleProps{TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com")})
	orders.Grant(worker, sqs.Send)         // or a function, which runs as its role
	assets.Grant(worker, s3.Read, s3.List) // objects, and the bucket
	events.Grant(worker, sns.Publish, "sns:GetTopicAttributes")
	return nil
}

// Functions: `aws.lambda.Function`
func aws2(s *athanor.Stack) error {
	done := sqs.NewQueue(s, "done", sqs.QueueProps{})
	rule := eventbridge.NewRule(s, "nightly", eventbridge.RuleProps{ScheduleExpression: "cron(0 2 * * ? *)"})
	orders := sqs.NewQueue(s, "orders", sqs.QueueProps{})
	fn := lambda.NewFunction(s, "worker", lambda.FunctionProps{Code: lambda.GoBuild("./worker"), URL: &lambda.URL{Auth: "AWS_IAM"}})
	lambda.Consume(s, fn, orders) // grants and mapping, at worker/orders; tables too, by their stream
	done.Grant(fn, sqs.Send)
	fn.AllowInvoke(s, "events.amazonaws.com", rule.ARN) // a statement of its policy, at worker/events/…
	return nil
}

// HTTP APIs: `aws.apigatewayv2.HTTPAPI`
func aws3(s *athanor.Stack) error {
	items := lambda.NewFunction(s, "items", lambda.FunctionProps{Code: lambda.GoBuild("./items")})
	sender := iam.NewRole(s, "sender", iam.RoleProps{TrustPolicy: iam.ServiceTrust("apigateway.amazonaws.com")})
	jobs := sqs.NewQueue(s, "jobs", sqs.QueueProps{})
	api := apigatewayv2.NewHTTPAPI(s, "api", apigatewayv2.HTTPAPIProps{Routes: map[string]apigatewayv2.Route{
		"GET /items":  {Lambda: items.ARN},
		"POST /items": {Service: "SQS-SendMessage", Credentials: sender.ARN, Parameters: map[string]string{"QueueUrl": string(jobs.URL), "MessageBody": "$request.body"}},
		"$default":    {URL: "https://example.com", Method: new("GET")},
	}})
	_ = api
	return nil
}

// Websites: `aws.Website`
func aws4(s *athanor.Stack) error {
	site := website.NewWebsite(s, "site", website.WebsiteProps{Files: "dist", SinglePage: true, Immutable: []string{"assets/*"}})
	s.Output("url", site.URL)
	return nil
}

// Every other type
func aws5(s *athanor.Stack) error {
	vpc := ec2.NewVPC(s, "vpc", ec2.VPCProps{CidrBlock: "10.0.0.0/16"}) // providers/aws/cloudcontrol/typed/ec2
	cloudcontrol.NewResource(s, "flow", "AWS::EC2::FlowLog", cloudcontrol.Props{"ResourceId": vpc.VpcId, "ResourceType": "VPC"})
	return nil
}
