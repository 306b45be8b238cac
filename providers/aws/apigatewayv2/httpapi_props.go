package apigatewayv2

import (
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
)

// HTTPAPIProps declare an HTTP API with all that is in it. What is in the API and is not declared is removed. Defaults and
// limits are those of https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/apis.html and
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
type HTTPAPIProps struct {
	// Name is what people read: up to 128 characters, not unique. Default: none, it is made of stack, stage and address.
	Name string
	// Description for people, up to 1,024 characters. Default: none.
	Description string
	// Version for people, up to 64 characters. Default: none.
	Version string
	// Routes say where requests go, by their method and path, such as "GET /items/{id}", "ANY /{proxy+}", or "$default"
	// for all that no other route takes. Default: none.
	Routes map[string]Route
	// Bindings are routes that constructors add. Default: none.
	Bindings map[string]Route
	// Authorizers decide about the requests of routes that name them. Default: none.
	Authorizers map[string]Authorizer
	// Stages are what is deployed, by their name; the stage "$default" is served at the root of the endpoint. Left out,
	// there is that stage alone; empty, there is none.
	Stages map[string]Stage
	// Mappings serve stages at custom domains, by the domain and a path below it: "api.example.com", or
	// "api.example.com/orders/v2". What leads elsewhere there already is never taken. Other paths of a domain, and domains
	// that no mapping names, are left alone, but for what leads to this API where one does. Default: none.
	Mappings map[string]Mapping
	// CORS is answered to browsers from other origins, in place of what a route answers. Left out, nothing is.
	CORS *CORS
	// DisableExecuteAPIEndpoint serves the API by custom domains alone. Default: false.
	DisableExecuteAPIEndpoint bool
	// IPAddressType is what addresses may call the API: those of IPv4, or both. Default: ipv4.
	IPAddressType *string `prop:"enum=ipv4|dualstack"`
	// Tags of the API, beside the marks of ownership. Those of stages are not managed. Default: none.
	Tags map[string]string
}

// Route says where requests go: to one of lambda, url, service or listener. Routes that lead to the same in every respect
// share an integration.
type Route struct {
	// Lambda is the function, version or alias that is invoked. Its policy must let apigateway.amazonaws.com do so, for
	// this API's executionArn, unless credentials are given.
	Lambda aws.ARN
	// URL is where requests are sent through the internet, such as https://example.com/{proxy}.
	URL string
	// Service is an action of a service of AWS, such as SQS-SendMessage. It needs credentials, and its parameters.
	// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-aws-services-reference.html
	Service string
	// Listener is that of a load balancer, or a service of Cloud Map, which is reached through vpcLink.
	Listener aws.ARN
	// VPCLink is the identity of the link through which the listener is reached.
	VPCLink string
	// Method of the requests to a url or listener, or ANY for that of the caller's. Default: ANY.
	Method *string `prop:"enum=ANY|GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS"`
	// TLSServerName is the name that the listener's certificate must have; with it requests are sent by HTTPS. Default: none.
	TLSServerName string
	// PayloadFormat of the event that a function gets. Default: 2.0.
	PayloadFormat *string `prop:"enum=1.0|2.0"`
	// Credentials are a role that API Gateway takes on, or "arn:aws:iam::*:user/*" for the caller's own. Default: none, what
	// is called must allow it by its own policy.
	Credentials aws.ARN
	// Parameters are what a service's action takes, or, for others, changes of the request: {"append:header.x": "$context.stage"}.
	// Default: none.
	Parameters map[string]string
	// ResponseParameters are changes of the response, by its status: {"200": {"overwrite:statuscode": "201"}}. Default: none.
	ResponseParameters map[string]map[string]string
	// Timeout is how long an answer is waited for, from 50 ms to 30 s. Default: 30s.
	Timeout *time.Duration `prop:"min=50ms,max=30s"`
	// Description of the integration, for people. Default: none.
	Description string
	// Authorizer is the name of the one in authorizers that decides about requests. Default: none, unless iam is set
	// everybody may call.
	Authorizer string
	// IAM lets in only callers that sign their requests and may execute-api:Invoke the route. Default: false.
	IAM bool
	// Scopes are those of which a token must have one, where the authorizer is one of tokens. Their order does not count.
	// Default: none.
	Scopes []string
	// OperationName is the route's name in exported definitions. Default: none.
	OperationName string
}

// Authorizer decides about requests: by their token, which issuer and audience say who gives for whom, or by asking the
// function in lambda.
type Authorizer struct {
	// Issuer of the tokens, the URL under which its keys are found.
	Issuer string
	// Audience are the recipients of which a token must name one. Their order does not count.
	Audience []string
	// Lambda is the function that is asked. Its policy must let apigateway.amazonaws.com invoke it, unless credentials are
	// given.
	Lambda aws.ARN
	// IdentitySources are where the token is, or what a request must have before the function is asked, and by which its
	// answers are kept. Left out, it is $request.header.Authorization; a function can do with none.
	IdentitySources []string
	// PayloadFormat of the event that the function gets. Default: 2.0.
	PayloadFormat *string `prop:"enum=1.0|2.0"`
	// SimpleResponses lets the function answer true or false in place of a policy; it needs the payload format 2.0.
	// Default: false.
	SimpleResponses bool
	// CacheTTL is how long an answer of the function is kept, in whole seconds up to an hour. Default: 0s, it is not.
	CacheTTL time.Duration `prop:"min=0s,max=1h"`
	// Credentials are a role that API Gateway takes on to invoke the function. Default: none.
	Credentials aws.ARN
}

// Mapping is a stage that is served at a custom domain.
type Mapping struct {
	// Stage that is served. Default: $default.
	Stage *string
}

// CORS is what browsers are told about requests from other origins.
type CORS struct {
	// AllowOrigins are origins such as https://example.com, or "*".
	AllowOrigins []string `prop:"required"`
	// AllowMethods are methods, or "*". Default: none.
	AllowMethods []string
	// AllowHeaders are the headers that requests may have, or "*". Default: none.
	AllowHeaders []string
	// ExposeHeaders are the headers of answers that scripts may read, or "*". Default: none.
	ExposeHeaders []string
	// AllowCredentials lets requests carry cookies and the like. Default: false.
	AllowCredentials bool
	// MaxAge is how long a browser may keep the answer, in whole seconds up to a day. Default: 0s.
	MaxAge time.Duration `prop:"min=0s,max=24h"`
}

// URL is an address on the web.
type URL string

// HTTPAPI is what others may refer to of an HTTP API.
type HTTPAPI struct {
	// ID that API Gateway gave the API.
	ID string
	// ARN of the API, for tags and permissions to manage it.
	ARN aws.ARN
	// Endpoint that the API is served at, https://ID.execute-api.REGION.amazonaws.com. Stages other than $default have
	// their name as the first part of the path.
	Endpoint URL
	// ExecutionARN stands for requests: with "/STAGE/METHOD/PATH" after it, or "/*/*" for all, in the policy of a function or
	// of a caller.
	ExecutionARN aws.ARN
	// Mappings are where the API is served at custom domains, such as api.example.com/orders.
	Mappings []string
}
