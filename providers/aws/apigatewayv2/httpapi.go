// Package apigatewayv2 offers HTTP APIs of Amazon API Gateway.
//
// It knows an API as one resource with its routes, what they lead to, its authorizers and its stages: which of them
// must exist before others, what is deleted after them, and how integrations are shared; and custom domains, which are
// resources of their own, since several APIs share one. It does not know WebSocket and REST APIs, nor what functions
// are: their policies are the business of package lambda.
package apigatewayv2

import (
	"context"
	"embed"
	"errors"
	"maps"
	"slices"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed httpapi_props.go domain.go
var source embed.FS

const (
	apiType    = "aws.apigatewayv2.HTTPAPI"
	domainType = "aws.apigatewayv2.DomainName"
)

// Service is what this package offers. The other types of the registry stay usable: a WebSocket API is an
// AWS::ApiGatewayV2::Api with routes, integrations, stages and mappings of their own.
func Service() aws.Service {
	return aws.Service{
		Kinds:   []reconcile.Any{apiKind.Erase(), domainKind.Erase()},
		Filters: []string{"apigateway"},
		Also: map[string]string{
			"AWS::ApiGatewayV2::Api": apiType, "AWS::ApiGateway::DomainName": domainType, "AWS::ApiGateway::DomainNameV2": domainType,
		},

		Registry: map[string]string{"AWS::ApiGatewayV2::DomainName": domainType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			if id, ok := apiOf(arn); ok {
				return apiType, id, "", true
			}
			name, ok = domainOf(arn)
			return domainType, name, name, ok
		},
	}
}

// apiOf is the identity of an API in its ARN; those of its stages and REST APIs are not meant.
func apiOf(arn aws.ARN) (id string, ok bool) {
	p, ok := arn.Parse()
	id, under := strings.CutPrefix(p.Resource, "/apis/")
	return id, ok && p.Service == "apigateway" && under && id != "" && !strings.Contains(id, "/")
}

// domainOf is the name of a custom domain in its ARN. One for REST APIs alone has the same.
func domainOf(arn aws.ARN) (name string, ok bool) {
	p, ok := arn.Parse()
	name, under := strings.CutPrefix(p.Resource, domainPath)
	return name, ok && p.Service == "apigateway" && under && name != "" && !strings.Contains(name, "/")
}

func clientOf(cloud kind.Cloud) *sdk.Client {
	return aws.ClientIn(cloud, sdk.ServiceID, sdk.NewFromConfig)
}

type (
	apiSite   = kind.Site[HTTPAPIProps, HTTPAPI]
	apiDiff   = kind.Diff[liveAPI]
	apiUpdate = kind.Update[liveAPI]
	apiCall   = kind.Operation[liveAPI]
)

var apiKind = &kind.Kind[HTTPAPIProps, liveAPI, HTTPAPI]{
	Type: apiType,
	Doc: "An HTTP API of API Gateway with its routes, integrations, authorizers and stages, as one resource: what is in " +
		"it and is not declared is removed. Custom domains are an aws.apigatewayv2.DomainName; mappings lead from them to " +
		"the API. Not managed: deployments of stages that do not deploy by themselves, and tags of stages.",

	Observe:    observeAPI,
	Create:     createAPI,
	Compare:    compareAPI,
	Attributes: apiAttrs,
	Delete:     deleteAPI,
	Identity:   func(a HTTPAPI) string { return a.ID },

	Props:   apiTable,
	Default: apiDefaults,
	Check:   checkAPI,
	Owner: tagged(func(want HTTPAPIProps) map[string]string { return want.Tags },
		func(live liveAPI) (map[string]string, aws.ARN) { return live.tags, arnOf(live.location, live.id) }),
	List: listAPIs,

	// API Gateway does not say how late reads may be. An API is found again by its tags alone, so that the bound errs on
	// the safe side: a second one would be created.
	EventuallyVisible: aws.EventuallyVisible,

	API: kind.API{
		Source: source,
		Calls: operations(
			"CreateApi", "GetApi", "GetApis", "UpdateApi", "DeleteApi", "DeleteCorsConfiguration",
			"TagResource", "UntagResource",
			"CreateRoute", "GetRoutes", "UpdateRoute", "DeleteRoute",
			"CreateIntegration", "GetIntegrations", "GetIntegration", "DeleteIntegration",
			"CreateAuthorizer", "GetAuthorizers", "GetAuthorizer", "UpdateAuthorizer", "DeleteAuthorizer",
			"CreateStage", "GetStages", "UpdateStage", "DeleteStage", "DeleteAccessLogSettings", "DeleteRouteSettings",
			"GetDomainNames", "GetApiMappings", "CreateApiMapping", "UpdateApiMapping", "DeleteApiMapping",
		),
		// Actions are named by the method of the request:
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonapigatewaymanagementv2.html
		Permissions: kind.Permissions{
			Observe: []string{"apigateway:GET"},
			List:    []string{"apigateway:GET"},
			Create:  []string{"apigateway:POST", "apigateway:TagResource"},
			Update: []string{
				"apigateway:POST", "apigateway:PATCH", "apigateway:PUT", "apigateway:DELETE",
				"apigateway:TagResource", "apigateway:UntagResource",
			},
			Delete: []string{"apigateway:DELETE", "apigateway:GET"},
			// All APIs of the region: the identity of one is not known before it is created, and has nothing of its name. Custom
			// domains are looked through for what leads to it.
			Resource: func(location kind.Location, _ string) []string {
				return resources(location, "/apis", "/apis/*", "/tags/*", "/domainnames", "/domainnames/*")
			},
			Depends: []kind.Dependence{
				aws.PassRole("apigateway.amazonaws.com", false, nil, "routes.*.credentials", "authorizers.*.credentials"),
				// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging.html
				{
					Actions: logDelivery, Props: []tree.Path{"stages.*.accessLog.destination"},
					Resource: aws.Everything,
				},
			},
		},
	},
}

// operations are calls of this service.
func operations(names ...string) []string {
	for i, name := range names {
		names[i] = "ApiGatewayV2." + name
	}
	return names
}

// resources are those of a region, as policies name them.
func resources(location kind.Location, paths ...string) []string {
	for i, path := range paths {
		paths[i] = "arn:" + aws.Partition(location.Region) + ":apigateway:" + location.Region + "::" + path
	}
	return paths
}

// logDelivery is what it takes to have a stage write an access log:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging.html
var logDelivery = []string{
	"logs:CreateLogDelivery", "logs:GetLogDelivery", "logs:UpdateLogDelivery", "logs:DeleteLogDelivery",
	"logs:ListLogDeliveries", "logs:PutResourcePolicy", "logs:DescribeResourcePolicies", "logs:DescribeLogGroups",
}

// tagged is the ownership of both kinds. live is the tags of an object, and its ARN.
func tagged[P, L any](declared func(P) map[string]string, live func(L) (map[string]string, aws.ARN)) kind.Tagged[P, L] {
	tags := func(l L) map[string]string { tags, _ := live(l); return tags }
	arn := func(l L) *string { _, arn := live(l); return new(string(arn)) }
	return aws.Tagged(declared, tags, "TagResource",
		func(ctx context.Context, u kind.Update[L], tags map[string]string) error {
			_, err := clientOf(u.Cloud).TagResource(ctx, &sdk.TagResourceInput{ResourceArn: arn(u.Live), Tags: tags})
			return err
		},
		func(ctx context.Context, u kind.Update[L], keys []string) error {
			_, err := clientOf(u.Cloud).UntagResource(ctx, &sdk.UntagResourceInput{ResourceArn: arn(u.Live), TagKeys: keys})
			return err
		})
}

func apiAttrs(live liveAPI) HTTPAPI {
	attrs := attrsOf(live.location, live.id)
	attrs.Endpoint = URL(live.endpoint)
	for _, at := range slices.Sorted(maps.Keys(live.mappings)) {
		if live.mappings[at].api == live.id {
			attrs.Mappings = append(attrs.Mappings, at)
		}
	}
	attrs.Authorizers = slices.Sorted(maps.Keys(live.authorizers))
	return attrs
}

// attrsOf are the attributes that follow from the identity.
func attrsOf(location kind.Location, id string) HTTPAPI {
	return HTTPAPI{ID: id, ARN: arnOf(location, id), ExecutionARN: aws.ARNIn(location, "execute-api", id)}
}

// arnOf is how API Gateway names an API: without an account.
func arnOf(location kind.Location, id string) aws.ARN {
	location.Account = ""
	return aws.ARNIn(location, "apigateway", "/apis/"+id)
}

// nameOf is the name that is wanted. API Gateway finds nothing by it, so that a generated one need not be unique.
func nameOf(want HTTPAPIProps, owner kind.OwnerTag) string {
	if want.Name != "" {
		return want.Name
	}
	name := strings.Join([]string{owner.Stack, owner.Stage, owner.Address}, "-")
	return name[:min(len(name), 128)]
}

// apiDefaults has the defaults that depend on other props, and those that are lists or maps.
func apiDefaults(want HTTPAPIProps) HTTPAPIProps {
	want.Routes, want.Bindings = eachOf(want.Routes, Route.normal), eachOf(want.Bindings, Route.normal)
	want.Authorizers = eachOf(want.Authorizers, func(a Authorizer) Authorizer {
		if a.IdentitySources == nil {
			a.IdentitySources = []string{"$request.header.Authorization"}
		}
		return a
	})
	if want.Stages == nil {
		want.Stages = map[string]Stage{"$default": {AutoDeploy: new(true)}}
	}
	want.CORS = want.CORS.normal()
	return want
}

// normal has a method where one counts: others lead to a function or a service, by a method of its own.
func (r Route) normal() Route {
	if r.URL != "" || r.Listener != "" {
		aws.OrDefault(&r.Method, "ANY")
	} else {
		r.Method = nil
	}
	return r
}

// normal brings methods and headers into one case, which does not count, and lists into one order.
func (c *CORS) normal() *CORS {
	if c == nil {
		return nil
	}
	n := *c
	n.AllowOrigins = slices.Sorted(slices.Values(c.AllowOrigins))
	n.AllowMethods = inCase(c.AllowMethods, strings.ToUpper)
	n.AllowHeaders = inCase(c.AllowHeaders, strings.ToLower)
	n.ExposeHeaders = inCase(c.ExposeHeaders, strings.ToLower)
	return &n
}

// inCase is texts in one case, but for references, in order.
func inCase(in []string, to func(string) string) []string {
	var out []string
	for _, text := range in {
		if !token.Has(text) {
			text = to(text)
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

// eachOf is a map with f applied to every entry.
func eachOf[T any](in map[string]T, f func(T) T) map[string]T {
	out := make(map[string]T, len(in))
	for k, v := range in {
		out[k] = f(v)
	}
	return out
}

// createAPI creates the API with its tags and without anything in it; what belongs there follows from the comparison.
func createAPI(ctx context.Context, s apiSite) (HTTPAPI, error) {
	want := s.Want
	want.Name = nameOf(want, s.Owner)
	if want.CORS.isLater() {
		want.CORS = nil
	}
	in := &sdk.CreateApiInput{ProtocolType: types.ProtocolTypeHttp, Tags: aws.Tags(s.Cloud, want.Tags, s.Owner)}
	err := apiTable.Created(want, kind.Struct(in))
	if want.CORS != nil { // what is empty is written too, as an update does
		err = errors.Join(err, apiTable.Changed(want, want, []tree.Path{"cors"}, kind.Struct(in)))
	}
	if err != nil {
		return HTTPAPI{}, err
	}
	out, err := clientOf(s.Cloud).CreateApi(ctx, in)
	if err != nil {
		return HTTPAPI{}, err
	}
	attrs := attrsOf(s.Location, sdkaws.ToString(out.ApiId))
	attrs.Endpoint = URL(sdkaws.ToString(out.ApiEndpoint))
	return attrs, nil
}

// isLater reports that the origins are left out for now: CORS is set when they are known.
func (c *CORS) isLater() bool { return c != nil && len(c.AllowOrigins) == 0 }

// deleteAPI deletes the API with all that is in it and what leads to it from custom domains.
func deleteAPI(ctx context.Context, s apiSite) error {
	client, id := clientOf(s.Cloud), s.Last.ID
	if err := unmap(ctx, client, id, domainsIn(s.Last.Mappings)); err != nil {
		return err
	}
	_, err := client.DeleteApi(ctx, &sdk.DeleteApiInput{ApiId: &id})
	if isBadRequest(err) { // it is mapped on a domain that state does not name
		if err := unmapEverywhere(ctx, client, id, err); err != nil {
			return err
		}
		_, err = client.DeleteApi(ctx, &sdk.DeleteApiInput{ApiId: &id})
	}
	return err
}

// compareAPI states the aspects in the order in which they are changed: authorizers are created before the routes that
// name them, routes before the stages that have settings for them, and stages before the mappings that lead to them;
// what is deleted is in the other order.
func compareAPI(d *apiDiff, want HTTPAPIProps, live liveAPI) {
	want.Name = nameOf(want, d.Mark())
	update := kind.Set("UpdateApi", func(ctx context.Context, u apiUpdate) error {
		in := &sdk.UpdateApiInput{ApiId: &u.Live.id}
		if err := apiTable.Changed(want, u.Live.have, u.Changed, kind.Struct(in)); err != nil {
			return err
		}
		_, err := clientOf(u.Cloud).UpdateApi(ctx, in)
		return aws.NotYet(err)
	})
	compareCORS(d, want, live.have, update)
	c := compared(want, live)
	c.authorizers.declared(d)
	c.routes.declared(d)
	c.stages.declared(d)
	c.mappings.declared(d)
	c.mappings.undeclared(d)
	c.stages.undeclared(d)
	c.routes.undeclared(d)
	c.unused(d)
	c.authorizers.undeclared(d)
}

// compareCORS states the API itself, and whether there is any CORS: that is one difference, and none has a call of its
// own.
func compareCORS(d *apiDiff, want, have HTTPAPIProps, update *apiCall) {
	w, h := want.CORS, have.CORS
	if w == nil || h == nil || w.isLater() {
		want.CORS, have.CORS = nil, nil
	}
	kind.Compare(d, apiTable, want, have, update)
	switch {
	case w == nil:
		reconcile.Value(d, "cors", nil, h, kind.Set("DeleteCorsConfiguration", func(ctx context.Context, u apiUpdate) error {
			_, err := clientOf(u.Cloud).DeleteCorsConfiguration(ctx, &sdk.DeleteCorsConfigurationInput{ApiId: &u.Live.id})
			return aws.NotYet(err)
		}))
	case h == nil && !w.isLater():
		reconcile.Value(d, "cors", w, nil, update)
	}
}
