package apigatewayv2

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveAPI is an API as it was seen, with what is in it.
type liveAPI struct {
	place        reconcile.Place
	id, endpoint string

	name, description, version string
	disabled                   bool
	addresses                  string
	cors                       *CORS
	tags                       map[string]string

	routes       []types.Route
	integrations []types.Integration
	authorizers  []types.Authorizer
	stages       []types.Stage
	mappings     map[string]mapping // by domain and path
}

type (
	apiSite = reconcile.Site[HTTPAPIProps, HTTPAPI]
	apiDiff = reconcile.Diff[liveAPI]
	apiCall = reconcile.Operation[liveAPI]
)

var apiKind = &reconcile.Kind[HTTPAPIProps, liveAPI, HTTPAPI]{
	Type: apiType,
	Doc: "An HTTP API of API Gateway with its routes, integrations, authorizers and stages, as one thing: what is in it " +
		"and is not declared is removed. Custom domains are an aws.apigatewayv2.DomainName; mappings lead from them to the API. Not " +
		"managed: deployments of stages that do not deploy by themselves, and tags of stages.",

	Observe:  observeAPI,
	Create:   createAPI,
	Compare:  compareAPI,
	Attrs:    apiAttrs,
	Delete:   deleteAPI,
	Identity: func(a HTTPAPI) string { return a.ID },

	Defaults: apiDefaults,
	Check:    checkAPI,
	Late:     []tree.Path{"routes", "bindings", "authorizers", "stages", "cors", "mappings"},
	Moves:    []string{"mappings"},
	MovedBy:  map[string][]tree.Path{"mappings": {"mappings"}},
	AtBirth:  []string{"id", "arn", "endpoint", "executionArn"},
	MaskLive: []tree.Path{"routes.*.parameters", "bindings.*.parameters", "stages.*.variables"},

	Owner: func(live liveAPI) reconcile.Mark { return adopt.MarkOf(live.tags) },
	List:  listAPIs,

	// API Gateway does not say how late reads may be. An API is found again by its tags alone, so that the bound errs on the
	// safe side: a second one would be made.
	Visibility: 30 * time.Second,

	Source: source,
	Calls: []string{
		"ApiGatewayV2.CreateApi", "ApiGatewayV2.GetApi", "ApiGatewayV2.GetApis", "ApiGatewayV2.UpdateApi", "ApiGatewayV2.DeleteApi",
		"ApiGatewayV2.DeleteCorsConfiguration", "ApiGatewayV2.TagResource", "ApiGatewayV2.UntagResource",
		"ApiGatewayV2.CreateRoute", "ApiGatewayV2.GetRoutes", "ApiGatewayV2.UpdateRoute", "ApiGatewayV2.DeleteRoute",
		"ApiGatewayV2.CreateIntegration", "ApiGatewayV2.GetIntegrations", "ApiGatewayV2.GetIntegration", "ApiGatewayV2.DeleteIntegration",
		"ApiGatewayV2.CreateAuthorizer", "ApiGatewayV2.GetAuthorizers", "ApiGatewayV2.GetAuthorizer", "ApiGatewayV2.UpdateAuthorizer",
		"ApiGatewayV2.DeleteAuthorizer",
		"ApiGatewayV2.CreateStage", "ApiGatewayV2.GetStages", "ApiGatewayV2.UpdateStage", "ApiGatewayV2.DeleteStage",
		"ApiGatewayV2.DeleteAccessLogSettings", "ApiGatewayV2.DeleteRouteSettings",
		"ApiGatewayV2.GetDomainNames", "ApiGatewayV2.GetApiMappings", "ApiGatewayV2.CreateApiMapping", "ApiGatewayV2.UpdateApiMapping",
		"ApiGatewayV2.DeleteApiMapping",
	},
	// Actions are named by the method of the request:
	// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonapigatewaymanagementv2.html
	Permissions: reconcile.Permissions{
		Observe: []string{"apigateway:GET"},
		List:    []string{"apigateway:GET"},
		Create:  slices.Concat([]string{"apigateway:POST", "apigateway:TagResource"}, logDelivery),
		Update: slices.Concat([]string{
			"apigateway:POST", "apigateway:PATCH", "apigateway:PUT", "apigateway:DELETE",
			"apigateway:TagResource", "apigateway:UntagResource",
		}, logDelivery),
		Delete:   []string{"apigateway:DELETE", "apigateway:GET"},
		Resource: apiResources,
		Anywhere: logDelivery,
		Passes:   map[string][]tree.Path{"iam:PassRole": {"routes.*.credentials", "authorizers.*.credentials"}},
	},
}

// logDelivery is what it takes to have a stage write an access log:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging.html
var logDelivery = []string{
	"logs:CreateLogDelivery", "logs:GetLogDelivery", "logs:UpdateLogDelivery", "logs:DeleteLogDelivery", "logs:ListLogDeliveries",
	"logs:PutResourcePolicy", "logs:DescribeResourcePolicies", "logs:DescribeLogGroups",
}

// apiResources are all APIs of the region: the identity of one is not known before it is made, and has nothing of its name.
// Custom domains are looked through for what leads to it.
func apiResources(place reconcile.Place, _ string) []string {
	at := "arn:" + aws.Partition(place.Region) + ":apigateway:" + place.Region + "::"
	return []string{at + "/apis", at + "/apis/*", at + "/tags/*", at + "/domainnames", at + "/domainnames/*"}
}

func apiAttrs(live liveAPI) HTTPAPI {
	attrs := attrsOf(live.place, live.id)
	attrs.Endpoint = URL(live.endpoint)
	for _, at := range slices.Sorted(maps.Keys(live.mappings)) {
		if live.mappings[at].api == live.id {
			attrs.Mappings = append(attrs.Mappings, at)
		}
	}
	return attrs
}

// attrsOf are the attributes that the identity tells.
func attrsOf(place reconcile.Place, id string) HTTPAPI {
	return HTTPAPI{ID: id, ARN: arnOf(place, id), ExecutionARN: aws.ARNIn(place, "execute-api", id)}
}

// arnOf is how API Gateway names an API: without an account.
func arnOf(place reconcile.Place, id string) aws.ARN {
	place.Account = ""
	return aws.ARNIn(place, "apigateway", "/apis/"+id)
}

// nameOf is the name that is wanted. A name tells nothing apart, so that one that is made up need not be unique.
func nameOf(want HTTPAPIProps, mark reconcile.Mark) string {
	if want.Name != "" {
		return want.Name
	}
	name := strings.Join([]string{mark.Stack, mark.Stage, mark.Address}, "-")
	return name[:min(len(name), 128)]
}

func apiDefaults(want HTTPAPIProps) HTTPAPIProps {
	aws.OrDefault(&want.IPAddressType, string(types.IpAddressTypeIpv4))
	want.Routes, want.Bindings = eachOf(want.Routes, Route.normal), eachOf(want.Bindings, Route.normal)
	want.Authorizers = eachOf(want.Authorizers, Authorizer.normal)
	if want.Stages == nil {
		want.Stages = map[string]Stage{"$default": {}}
	}
	want.Stages = eachOf(want.Stages, Stage.normal)
	want.Mappings = eachOf(want.Mappings, Mapping.normal)
	if want.CORS != nil {
		want.CORS = new(want.CORS.normal())
	}
	return want
}

// normal fills in defaults, and leaves out what is empty.
func (r Route) normal() Route {
	aws.OrDefault(&r.Timeout, 30*time.Second)
	switch {
	case r.Lambda != "":
		aws.OrDefault(&r.PayloadFormat, "2.0")
	case r.URL != "" || r.Listener != "":
		aws.OrDefault(&r.Method, "ANY")
	}
	r.Parameters, r.ResponseParameters = orNil(r.Parameters), orNil(r.ResponseParameters)
	r.Scopes = sorted(r.Scopes)
	return r
}

func (a Authorizer) normal() Authorizer {
	if a.IdentitySources == nil {
		a.IdentitySources = []string{"$request.header.Authorization"}
	}
	if a.Lambda != "" {
		aws.OrDefault(&a.PayloadFormat, "2.0")
	}
	a.Audience = sorted(a.Audience)
	return a
}

func (s Stage) normal() Stage {
	aws.OrDefault(&s.AutoDeploy, true)
	s.Variables, s.Routes = orNil(s.Variables), orNil(s.Routes)
	return s
}

// normal brings methods and headers into one case, which does not count, and lists into one order.
func (c CORS) normal() CORS {
	c.AllowOrigins = sorted(c.AllowOrigins)
	c.AllowMethods = sorted(inCase(c.AllowMethods, strings.ToUpper))
	c.AllowHeaders = sorted(inCase(c.AllowHeaders, strings.ToLower))
	c.ExposeHeaders = sorted(inCase(c.ExposeHeaders, strings.ToLower))
	return c
}

// eachOf is a map with f applied to every entry.
func eachOf[T any](in map[string]T, f func(T) T) map[string]T {
	out := make(map[string]T, len(in))
	for k, v := range in {
		out[k] = f(v)
	}
	return out
}

func orNil[V any](in map[string]V) map[string]V {
	if len(in) == 0 {
		return nil
	}
	return maps.Clone(in)
}

// sorted is a copy in order, nil when empty.
func sorted(in []string) []string {
	if len(in) == 0 {
		return nil
	}
	return slices.Sorted(slices.Values(in))
}
