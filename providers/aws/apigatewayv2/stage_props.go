package apigatewayv2

import "github.com/athanor-dev/athanor/providers/aws"

// Stage is a deployed state of the API under a name.
type Stage struct {
	// Description for people. Default: none.
	Description string
	// AutoDeploy deploys every change at once. When it is false, somebody else deploys: deployments are not managed.
	// Default: true.
	AutoDeploy *bool
	// Variables are names and values that routes may use as ${stageVariables.NAME}. They are no place for secrets.
	// Default: none.
	Variables map[string]string
	// AccessLog writes a line for each request. Left out, none is written.
	AccessLog *AccessLog
	// DetailedMetrics counts requests by route, at CloudWatch's prices. Default: false.
	DetailedMetrics bool
	// Throttle bounds the requests to each route. Left out, only the account's own limits do.
	Throttle *Throttle
	// Routes are other settings for single routes of the API, by their key. Default: none.
	Routes map[string]RouteSettings
}

// RouteSettings are what a stage does for one route in another way than for all.
type RouteSettings struct {
	// DetailedMetrics counts requests to the route. Default: false.
	DetailedMetrics bool
	// Throttle bounds the requests to the route. Left out, only the account's own limits do.
	Throttle *Throttle
}

// Throttle bounds requests. More are answered with status 429.
type Throttle struct {
	// Rate is how many requests come in a second, in the long run.
	Rate int `prop:"required,min=0"`
	// Burst is how many may come at once.
	Burst int `prop:"required,min=0"`
}

// AccessLog is where and how requests are written down.
type AccessLog struct {
	// Destination is a log group, or a delivery stream of Firehose whose name begins with amazon-apigateway-.
	Destination aws.ARN `prop:"required"`
	// Format of a line, with variables such as $context.requestId, on one line.
	// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging-variables.html
	Format string `prop:"required"`
}
