package apigatewayv2

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// hand is somebody else at work on an API.
type hand struct {
	*world
	t    kindtest.T
	ctx  context.Context
	id   *string
	want HTTPAPIProps // as one would declare what is to be there
}

// hands change each aspect of an API as somebody else would.
func (ws worlds) hands() map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{}
	for path, do := range map[tree.Path]func(h *hand) error{
		"": func(h *hand) error {
			_, err := h.others.DeleteApi(h.ctx, &sdk.DeleteApiInput{ApiId: h.id})
			return err
		},
		"name": func(h *hand) error {
			return h.update(&sdk.UpdateApiInput{Name: orDefault(h.want.Name, "kindtest-check-thing")})
		},
		"description": func(h *hand) error {
			return h.update(&sdk.UpdateApiInput{Description: &h.want.Description})
		},
		"version": func(h *hand) error { return h.update(&sdk.UpdateApiInput{Version: &h.want.Version}) },
		"disableExecuteApiEndpoint": func(h *hand) error {
			return h.update(&sdk.UpdateApiInput{DisableExecuteApiEndpoint: &h.want.DisableExecuteAPIEndpoint})
		},
		"ipAddressType": func(h *hand) error {
			return h.update(&sdk.UpdateApiInput{IpAddressType: types.IpAddressType(*orDefault(sdkaws.ToString(h.want.IPAddressType), "ipv4"))})
		},
		"cors": (*hand).cors, "tags": (*hand).retag, "authorizers": (*hand).authorizers, "stages": (*hand).stages, "mappings": (*hand).mappings,
		"routes": (*hand).routes, "bindings": (*hand).routes,
	} {
		hands[path] = func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			id, _ := to.Attrs["id"].(string)
			h := &hand{world: ws[w.Dir], t: t, ctx: context.Background(), id: &id}
			if err := props.Decode(to.Props, &h.want); err != nil {
				t.Fatalf("%v", err)
			}
			if err := do(h); err != nil {
				t.Fatalf("change %q: %v", path, err)
			}
		}
	}
	return hands
}

func orDefault(v, otherwise string) *string {
	if v == "" {
		return &otherwise
	}
	return &v
}

func (h *hand) update(in *sdk.UpdateApiInput) error {
	in.ApiId = h.id
	_, err := h.others.UpdateApi(h.ctx, in)
	return err
}

func (h *hand) cors() error {
	if h.want.CORS == nil {
		_, err := h.others.DeleteCorsConfiguration(h.ctx, &sdk.DeleteCorsConfigurationInput{ApiId: h.id})
		return err
	}
	c := h.want.CORS
	return h.update(&sdk.UpdateApiInput{CorsConfiguration: &types.Cors{
		AllowOrigins: c.AllowOrigins, AllowMethods: c.AllowMethods, AllowHeaders: c.AllowHeaders, ExposeHeaders: c.ExposeHeaders,
		AllowCredentials: &c.AllowCredentials, MaxAge: new(int32(c.MaxAge.Seconds())),
	}})
}

// routes makes the routes those that are wanted: what leads elsewhere gets an integration of its own.
func (h *hand) routes() error {
	want := map[string]Route{}
	maps.Copy(want, h.want.Routes)
	maps.Copy(want, h.want.Bindings)
	there, targets := map[string]obj{}, map[string]obj{}
	for _, i := range h.children(h.t, *h.id, "integrations") {
		targets["integrations/"+i["integrationId"].(string)] = i
	}
	for _, r := range h.children(h.t, *h.id, "routes") {
		there[r["routeKey"].(string)] = r
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if err := h.route(key, want[key], there[key], targets); err != nil {
			return err
		}
	}
	for key, r := range there {
		if _, wanted := want[key]; wanted {
			continue
		}
		if _, err := h.others.DeleteRoute(h.ctx, &sdk.DeleteRouteInput{ApiId: h.id, RouteId: new(r["routeId"].(string))}); err != nil {
			return err
		}
	}
	return h.tidy()
}

// tidy deletes integrations that nothing leads to.
func (h *hand) tidy() error {
	used := map[any]bool{}
	for _, r := range h.children(h.t, *h.id, "routes") {
		used[r["target"]] = true
	}
	for _, i := range h.children(h.t, *h.id, "integrations") {
		id := i["integrationId"].(string)
		if used["integrations/"+id] {
			continue
		}
		if _, err := h.others.DeleteIntegration(h.ctx, &sdk.DeleteIntegrationInput{ApiId: h.id, IntegrationId: &id}); err != nil {
			return err
		}
	}
	return nil
}

func (h *hand) route(key string, want Route, there obj, targets map[string]obj) error {
	in := towards(want)
	in.ApiId = h.id
	target, _ := there["target"].(string)
	if have := targets[target]; have == nil || !covers(have, plain(in)) {
		out, err := h.others.CreateIntegration(h.ctx, in)
		if err != nil {
			return err
		}
		target = "integrations/" + *out.IntegrationId
	}
	by, kind := "", types.AuthorizationTypeNone
	for _, a := range h.children(h.t, *h.id, "authorizers") {
		if a["name"] == want.Authorizer {
			by, kind = a["authorizerId"].(string), types.AuthorizationTypeCustom
			if a["authorizerType"] == "JWT" {
				kind = types.AuthorizationTypeJwt
			}
		}
	}
	if want.IAM {
		kind = types.AuthorizationTypeAwsIam
	}
	scopes := append([]string{}, want.Scopes...)
	if there == nil {
		_, err := h.others.CreateRoute(h.ctx, &sdk.CreateRouteInput{
			ApiId: h.id, RouteKey: &key, Target: &target, AuthorizationType: kind, AuthorizerId: &by, AuthorizationScopes: scopes,
			OperationName: &want.OperationName,
		})
		return err
	}
	_, err := h.others.UpdateRoute(h.ctx, &sdk.UpdateRouteInput{
		ApiId: h.id, RouteId: new(there["routeId"].(string)), Target: &target, AuthorizationType: kind, AuthorizerId: &by,
		AuthorizationScopes: scopes, OperationName: &want.OperationName,
	})
	return err
}

// covers reports whether an integration is one that would be made so.
func covers(have, want obj) bool {
	for _, k := range []string{
		"integrationType", "integrationUri", "integrationSubtype", "integrationMethod", "connectionId", "payloadFormatVersion", "credentialsArn",
		"description", "requestParameters", "responseParameters", "timeoutInMillis", "tlsConfig",
	} {
		a, _ := json.Marshal(have[k])
		b, _ := json.Marshal(want[k])
		if string(a) != string(b) && !(k == "integrationMethod" && want[k] == nil) && len(strings.Trim(string(a)+string(b), "{}nul")) > 0 {
			return false
		}
	}
	return true
}

// towards is an integration that leads where a route is to.
func towards(r Route) *sdk.CreateIntegrationInput {
	in := &sdk.CreateIntegrationInput{
		IntegrationType: types.IntegrationTypeHttpProxy, PayloadFormatVersion: new("1.0"), TimeoutInMillis: new(int32(30000)),
		RequestParameters: r.Parameters, ResponseParameters: r.ResponseParameters,
	}
	if r.Credentials != "" {
		in.CredentialsArn = new(string(r.Credentials))
	}
	if r.Description != "" {
		in.Description = &r.Description
	}
	if r.Timeout != nil {
		in.TimeoutInMillis = new(int32(r.Timeout.Milliseconds()))
	}
	method := sdkaws.String("ANY")
	if r.Method != nil {
		method = r.Method
	}
	switch {
	case r.Service != "":
		in.IntegrationType, in.IntegrationSubtype = types.IntegrationTypeAwsProxy, &r.Service
	case r.Lambda != "":
		in.IntegrationType, in.IntegrationUri, in.PayloadFormatVersion = types.IntegrationTypeAwsProxy, new(string(r.Lambda)), new("2.0")
		if r.PayloadFormat != nil {
			in.PayloadFormatVersion = r.PayloadFormat
		}
	case r.URL != "":
		in.IntegrationUri, in.IntegrationMethod = &r.URL, method
	default:
		in.ConnectionType, in.ConnectionId, in.IntegrationUri = types.ConnectionTypeVpcLink, &r.VPCLink, new(string(r.Listener))
		in.IntegrationMethod = method
		if r.TLSServerName != "" {
			in.TlsConfig = &types.TlsConfigInput{ServerNameToVerify: &r.TLSServerName}
		}
	}
	return in
}

func (h *hand) authorizers() error {
	there := map[string]string{}
	for _, a := range h.children(h.t, *h.id, "authorizers") {
		there[a["name"].(string)] = a["authorizerId"].(string)
	}
	for _, name := range slices.Sorted(maps.Keys(h.want.Authorizers)) {
		if err := h.authorizer(name, there[name], h.want.Authorizers[name]); err != nil {
			return err
		}
	}
	for name, id := range there {
		if _, wanted := h.want.Authorizers[name]; wanted {
			continue
		}
		if _, err := h.others.DeleteAuthorizer(h.ctx, &sdk.DeleteAuthorizerInput{ApiId: h.id, AuthorizerId: &id}); err != nil {
			return err
		}
	}
	return nil
}

func (h *hand) authorizer(name, id string, a Authorizer) error {
	in := sdk.CreateAuthorizerInput{ApiId: h.id, Name: &name, AuthorizerType: types.AuthorizerTypeJwt, IdentitySource: a.IdentitySources}
	if in.IdentitySource == nil {
		in.IdentitySource = []string{"$request.header.Authorization"}
	}
	if a.Issuer != "" {
		in.JwtConfiguration = &types.JWTConfiguration{Issuer: &a.Issuer, Audience: a.Audience}
	} else {
		in.AuthorizerType, in.AuthorizerPayloadFormatVersion = types.AuthorizerTypeRequest, new("2.0")
		if a.PayloadFormat != nil {
			in.AuthorizerPayloadFormatVersion = a.PayloadFormat
		}
		in.AuthorizerUri = new("arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/" + string(a.Lambda) + "/invocations")
		in.EnableSimpleResponses, in.AuthorizerResultTtlInSeconds = &a.SimpleResponses, new(int32(a.CacheTTL/time.Second))
		in.AuthorizerCredentialsArn = new(string(a.Credentials))
	}
	if id == "" {
		_, err := h.others.CreateAuthorizer(h.ctx, &in)
		return err
	}
	_, err := h.others.UpdateAuthorizer(h.ctx, &sdk.UpdateAuthorizerInput{
		ApiId: h.id, AuthorizerId: &id, AuthorizerType: in.AuthorizerType, IdentitySource: in.IdentitySource, JwtConfiguration: in.JwtConfiguration,
		AuthorizerPayloadFormatVersion: in.AuthorizerPayloadFormatVersion, AuthorizerUri: in.AuthorizerUri,
		EnableSimpleResponses: in.EnableSimpleResponses, AuthorizerResultTtlInSeconds: in.AuthorizerResultTtlInSeconds,
		AuthorizerCredentialsArn: in.AuthorizerCredentialsArn,
	})
	return err
}

// stages makes all of them again.
func (h *hand) stages() error {
	for _, s := range h.children(h.t, *h.id, "stages") {
		if _, err := h.others.DeleteStage(h.ctx, &sdk.DeleteStageInput{ApiId: h.id, StageName: new(s["stageName"].(string))}); err != nil {
			return err
		}
	}
	want := h.want.Stages
	if want == nil {
		want = map[string]Stage{"$default": {}}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		s := want[name]
		in := &sdk.CreateStageInput{
			ApiId: h.id, StageName: &name, AutoDeploy: sdkaws.Bool(true), StageVariables: s.Variables,
			DefaultRouteSettings: bounds(s.DetailedMetrics, s.Throttle), RouteSettings: map[string]types.RouteSettings{},
		}
		if s.Description != "" {
			in.Description = &s.Description
		}
		if s.AutoDeploy != nil {
			in.AutoDeploy = s.AutoDeploy
		}
		if s.AccessLog != nil {
			in.AccessLogSettings = &types.AccessLogSettings{DestinationArn: new(string(s.AccessLog.Destination)), Format: &s.AccessLog.Format}
		}
		for key, r := range s.Routes {
			in.RouteSettings[key] = *bounds(r.DetailedMetrics, r.Throttle)
		}
		if _, err := h.others.CreateStage(h.ctx, in); err != nil {
			return err
		}
	}
	return nil
}

func bounds(metrics bool, by *Throttle) *types.RouteSettings {
	s := &types.RouteSettings{DetailedMetricsEnabled: &metrics}
	if by != nil {
		s.ThrottlingBurstLimit, s.ThrottlingRateLimit = new(int32(by.Burst)), new(float64(by.Rate))
	}
	return s
}

// retag makes the tags those that are wanted, and leaves the marks alone.
func (h *hand) retag() error {
	out, err := h.others.GetApi(h.ctx, &sdk.GetApiInput{ApiId: h.id})
	if err != nil {
		return err
	}
	arn := "arn:aws:apigateway:us-east-1::/apis/" + *h.id
	var drop []string
	for k := range out.Tags {
		if _, wanted := h.want.Tags[k]; !wanted && !adopt.IsMark(k) {
			drop = append(drop, k)
		}
	}
	if len(drop) > 0 {
		if _, err := h.others.UntagResource(h.ctx, &sdk.UntagResourceInput{ResourceArn: &arn, TagKeys: drop}); err != nil {
			return err
		}
	}
	if len(h.want.Tags) == 0 {
		return nil
	}
	_, err = h.others.TagResource(h.ctx, &sdk.TagResourceInput{ResourceArn: &arn, Tags: h.want.Tags})
	return err
}
