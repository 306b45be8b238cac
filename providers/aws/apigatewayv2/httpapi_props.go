package apigatewayv2

import (
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// HTTPAPIProps declare an HTTP API with all that is in it. What is in the API and is not declared is removed. Defaults
// and limits are those of https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/apis.html and
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
type HTTPAPIProps struct {
	// Name is what people read. It is not unique. Default: none, it is made of stack, stage and address.
	Name string `prop:"maxlen=128" wire:"Name"`
	// Description for people. Default: none.
	Description string `prop:"maxlen=1024" wire:"Description"`
	// Version for people. Default: none.
	Version string `prop:"maxlen=64" wire:"Version"`
	// Routes say where requests go, by their method and path, such as "GET /items/{id}", "ANY /{proxy+}", or "$default"
	// for all that no other route takes. Default: none.
	Routes map[string]Route `prop:"deferrable" wire:",elements"`
	// Bindings are routes that constructors add. Default: none.
	Bindings map[string]Route `prop:"deferrable" wire:",elements"`
	// Authorizers decide about the requests of routes that name them. Default: none. An API that declares none, and had none, is
	// asked for those alone that its routes use.
	Authorizers map[string]Authorizer `prop:"deferrable" wire:",elements"`
	// Stages are what is deployed, by their name; the stage "$default" is served at the root of the endpoint. Left out,
	// there is that stage alone; empty, there is none.
	Stages map[string]Stage `prop:"deferrable" wire:",elements"`
	// Mappings serve stages at custom domains, by the domain and a path below it: "api.example.com", or
	// "api.example.com/orders/v2". What leads elsewhere there already is never taken. Other paths of a domain, and domains
	// that no mapping names, are left alone, but for what leads to this API where one does. Default: none.
	Mappings map[string]Mapping `prop:"deferrable" wire:",elements"`
	// CORS is answered to browsers from other origins, in place of what a route answers. Left out, nothing is.
	CORS *CORS `prop:"each" wire:"CorsConfiguration"`
	// DisableExecuteAPIEndpoint serves the API by custom domains alone.
	DisableExecuteAPIEndpoint bool `prop:"default=false" wire:"DisableExecuteApiEndpoint"`
	// IPAddressType is what addresses may call the API: those of IPv4, or both.
	IPAddressType *string `prop:"enum=ipv4|dualstack,default=ipv4" wire:"IpAddressType"`
	// Tags of the API, beside the owner tags. Those of stages are not managed. Default: none.
	Tags map[string]string
}

// Route says where requests go: to one of lambda, url, service or listener. Routes that lead to the same in every
// respect share an integration.
type Route struct {
	// Lambda is the function, version or alias that is invoked. Its policy must let apigateway.amazonaws.com do so, for
	// this API's executionArn, unless credentials are given.
	Lambda aws.ARN `wire:"-"`
	// URL is where requests are sent through the internet, such as https://example.com/{proxy}.
	URL string `wire:"-"`
	// Service is an action of a service of AWS, such as SQS-SendMessage. It needs credentials, and its parameters.
	// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-aws-services-reference.html
	Service string `wire:"IntegrationSubtype"`
	// Listener is that of a load balancer, or a service of Cloud Map, which is reached through vpcLink.
	Listener aws.ARN `prop:"needs=vpcLink" wire:"-"`
	// VPCLink is the identity of the link through which the listener is reached.
	VPCLink string `prop:"needs=listener" wire:"ConnectionId"`
	// Method of the requests to a url or listener, or ANY for that of the caller's. Default: ANY.
	Method *string `prop:"enum=ANY|GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS" wire:"IntegrationMethod"`
	// TLSServerName is the name that the listener's certificate must have; with it requests are sent by HTTPS. Default:
	// none.
	TLSServerName string `prop:"needs=listener" wire:"TlsConfig.ServerNameToVerify"`
	// PayloadFormat of the event that a function gets.
	PayloadFormat *string `prop:"enum=1.0|2.0,default=2.0,needs=lambda" wire:"PayloadFormatVersion"`
	// Credentials are a role that API Gateway takes on, or "arn:aws:iam::*:user/*" for the caller's own. Default: none,
	// what is called must allow it by its own policy.
	Credentials aws.ARN `wire:"CredentialsArn"`
	// Parameters are what a service's action takes, or, for others, changes of the request: {"append:header.x":
	// "$context.stage"}. Default: none.
	Parameters map[string]string `prop:"masklive" wire:"RequestParameters"`
	// ResponseParameters are changes of the response, by its status: {"200": {"overwrite:statuscode": "201"}}. Default:
	// none.
	ResponseParameters map[string]map[string]string `wire:"ResponseParameters"`
	// Timeout is how long an answer is waited for, from 50 ms to 30 s.
	Timeout *time.Duration `prop:"min=50ms,max=30s,default=30s,unit=1ms" wire:"TimeoutInMillis"`
	// Description of the integration, for people. Default: none.
	Description string `wire:"Description"`
	// Authorizer is the name of the one in authorizers that decides about requests. Default: none, unless iam is set
	// everybody may call.
	Authorizer string `wire:"-"`
	// IAM lets in only callers that sign their requests and may execute-api:Invoke the route.
	IAM bool `prop:"default=false,excludes=authorizer" wire:"-"`
	// Scopes are those of which a token must have one, where the authorizer is one of tokens. Their order does not count.
	// Default: none.
	Scopes []string `prop:"set,needs=authorizer" wire:"-"`
	// OperationName is the route's name in exported definitions. Default: none.
	OperationName string `wire:"-"`
}

// Authorizer decides about requests: by their token, which issuer and audience say who gives for whom, or by asking the
// function in lambda.
type Authorizer struct {
	// Issuer of the tokens, the URL under which its keys are found.
	Issuer string `wire:"JwtConfiguration.Issuer"`
	// Audience are the recipients of which a token must name one. Their order does not count.
	Audience []string `prop:"set,needs=issuer" wire:"JwtConfiguration.Audience"`
	// Lambda is the function that is asked. Its policy must let apigateway.amazonaws.com invoke it, unless credentials are
	// given.
	Lambda aws.ARN `wire:"-"`
	// IdentitySources are where the token is, or what a request must have before the function is asked, and by which its
	// answers are kept. Left out, it is $request.header.Authorization; a function can do with none.
	IdentitySources []string `prop:"set" wire:"IdentitySource"`
	// PayloadFormat of the event that the function gets.
	PayloadFormat *string `prop:"enum=1.0|2.0,default=2.0,needs=lambda" wire:"AuthorizerPayloadFormatVersion"`
	// SimpleResponses lets the function answer true or false in place of a policy; it needs the payload format 2.0.
	SimpleResponses bool `prop:"default=false,needs=lambda" wire:"EnableSimpleResponses"`
	// CacheTTL is how long an answer of the function is kept, in whole seconds up to an hour. Default: 0s, it is not.
	CacheTTL time.Duration `prop:"min=0s,max=1h,needs=lambda" wire:"AuthorizerResultTtlInSeconds"`
	// Credentials are a role that API Gateway takes on to invoke the function. Default: none.
	Credentials aws.ARN `prop:"needs=lambda" wire:"AuthorizerCredentialsArn"`
}

// Stage is a deployed state of the API under a name.
type Stage struct {
	// Description for people. Default: none.
	Description string `wire:"Description"`
	// AutoDeploy deploys every change at once. When it is false, somebody else deploys: deployments are not managed.
	AutoDeploy *bool `prop:"default=true" wire:"AutoDeploy"`
	// Variables are names and values that routes may use as ${stageVariables.NAME}. They are no place for secrets.
	// Default: none.
	Variables map[string]string `prop:"masklive" wire:"StageVariables"`
	// AccessLog writes a line for each request. Left out, none is written.
	AccessLog *AccessLog `prop:"each" wire:"AccessLogSettings"`
	// DetailedMetrics counts requests by route, at CloudWatch's prices.
	DetailedMetrics bool `prop:"default=false" wire:"DefaultRouteSettings.DetailedMetricsEnabled"`
	// Throttle bounds the requests to each route. Left out, only the account's own limits do.
	Throttle *Throttle `prop:"each" wire:"DefaultRouteSettings"`
	// Routes are other settings for single routes of the API, by their key. Default: none.
	Routes map[string]RouteSettings `wire:",elements"`
}

// RouteSettings are what a stage does for one route in another way than for all.
type RouteSettings struct {
	// DetailedMetrics counts requests to the route.
	DetailedMetrics bool `prop:"default=false" wire:"DetailedMetricsEnabled"`
	// Throttle bounds the requests to the route. Left out, only the account's own limits do.
	Throttle *Throttle `prop:"each" wire:"*"`
}

// Throttle bounds requests. More are answered with status 429.
type Throttle struct {
	// Rate is how many requests come in a second, in the long run.
	Rate int `prop:"required,min=0" wire:"ThrottlingRateLimit,rate"`
	// Burst is how many may come at once.
	Burst int `prop:"required,min=0" wire:"ThrottlingBurstLimit"`
}

// AccessLog is where and how requests are written down.
type AccessLog struct {
	// Destination is a log group, or a delivery stream of Firehose whose name begins with amazon-apigateway-.
	Destination aws.ARN `prop:"required" wire:"DestinationArn"`
	// Format of a line, with variables such as $context.requestId, on one line.
	// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging-variables.html
	Format string `prop:"required" wire:"Format"`
}

// Mapping is a stage that is served at a custom domain.
type Mapping struct {
	// Stage that is served.
	Stage *string `prop:"default=$default" wire:"-"`
}

// CORS is what browsers read about requests from other origins.
type CORS struct {
	// AllowOrigins are origins such as https://example.com, or "*".
	AllowOrigins []string `prop:"required,deferrable" wire:"AllowOrigins"`
	// AllowMethods are methods, or "*". Default: none.
	AllowMethods []string `prop:"deferrable" wire:"AllowMethods"`
	// AllowHeaders are the headers that requests may have, or "*". Default: none.
	AllowHeaders []string `prop:"deferrable" wire:"AllowHeaders"`
	// ExposeHeaders are the headers of answers that scripts may read, or "*". Default: none.
	ExposeHeaders []string `prop:"deferrable" wire:"ExposeHeaders"`
	// AllowCredentials lets requests carry cookies and the like.
	AllowCredentials bool `prop:"default=false" wire:"AllowCredentials"`
	// MaxAge is how long a browser may keep the answer, in whole seconds up to a day.
	MaxAge time.Duration `prop:"min=0s,max=24h,default=0s" wire:"MaxAge"`
}

// URL is an address on the web.
type URL string

// HTTPAPI is what others may refer to of an HTTP API.
type HTTPAPI struct {
	// ID that API Gateway gave the API.
	ID string `attr:"early"`
	// ARN of the API, for tags and permissions to manage it.
	ARN aws.ARN `attr:"early"`
	// Endpoint that the API is served at, https://ID.execute-api.REGION.amazonaws.com. Stages other than $default have
	// their name as the first part of the path.
	Endpoint URL `attr:"early"`
	// ExecutionARN stands for requests: with "/STAGE/METHOD/PATH" after it, or "/*/*" for all, in the policy of a function
	// or of a caller.
	ExecutionARN aws.ARN `attr:"early"`
	// Mappings are where the API is served at custom domains, such as api.example.com/orders.
	Mappings []string `attr:"mutable=mappings"`
	// Authorizers are the names of those that the API was last seen to have.
	Authorizers []string `attr:"mutable=authorizers"`
}

// rateCodec reads a rate as a whole number. Somebody else may have set one that is not: see stageOf.
func rateCodec() kind.Codec {
	return kind.Codec{Name: "rate", Read: func(rate any) (any, error) {
		if part, ok := rate.(float64); ok {
			return int64(part), nil
		}
		return rate, nil
	}}
}

// The table of an API, and those of what is in it. A route's table is that of its integration: what a route says
// beside, code reads and writes.
var (
	apiTable = kind.TableOf[HTTPAPIProps](rateCodec()).
			For(kind.In(sdk.CreateApiInput{}), kind.Out(sdk.GetApiOutput{}))
	routeTable      = kind.TableOf[Route]().For(kind.In(sdk.CreateIntegrationInput{}), kind.Out(types.Integration{}))
	authorizerTable = kind.TableOf[Authorizer]().For(kind.In(sdk.CreateAuthorizerInput{}), kind.Out(types.Authorizer{}))
	stageTable      = kind.TableOf[Stage](rateCodec()).For(kind.In(sdk.CreateStageInput{}), kind.Out(types.Stage{}))
	settingsTable   = kind.TableOf[RouteSettings](rateCodec()).For(kind.Both(types.RouteSettings{}))
	mappingTable    = kind.TableOf[Mapping]()
)
