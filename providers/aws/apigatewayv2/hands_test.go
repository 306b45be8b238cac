package apigatewayv2

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// hand is somebody else at work on an API.
type hand struct {
	*world
	t    kindtest.T
	ctx  context.Context
	id   *string
	want HTTPAPIProps // as one would declare what is to exist, with defaults
}

// hands change each aspect of an API as somebody else would. The bodies that tables and the kind write, TestGolden
// checks.
func hands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{"tags": ws.Hand(func(w *world, _ kindtest.T, to kindtest.Edited) error {
		out, err := w.Others.GetApi(context.Background(), &sdk.GetApiInput{ApiId: new(to.Attrs["id"].(string))})
		if err != nil {
			return err
		}
		return w.retag(out.Tags, to)
	})}
	for path, do := range map[tree.Path]func(h *hand) error{
		"": func(h *hand) error {
			_, err := h.Others.DeleteApi(h.ctx, &sdk.DeleteApiInput{ApiId: h.id})
			return err
		},
		"name": (*hand).update, "description": (*hand).update, "version": (*hand).update, "disableExecuteApiEndpoint": (*hand).update,
		"ipAddressType": (*hand).update, "cors": (*hand).update,
		"authorizers": (*hand).authorizers, "stages": (*hand).stages, "mappings": (*hand).mappings,
		"routes": (*hand).routes, "bindings": (*hand).routes,
	} {
		hands[path] = ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			id, _ := to.Attrs["id"].(string)
			return do(&hand{w, t, context.Background(), &id, apiDefaults(kindtest.PropsOf(t, apiTable, to.Props))})
		})
	}
	return hands
}

// update writes all of the API itself.
func (h *hand) update() error {
	if h.want.CORS == nil {
		if _, err := h.Others.DeleteCorsConfiguration(h.ctx, &sdk.DeleteCorsConfigurationInput{ApiId: h.id}); err != nil {
			return err
		}
	}
	h.want.Name = cmp.Or(h.want.Name, "kindtest-check-thing")
	in := &sdk.UpdateApiInput{ApiId: h.id}
	if err := apiTable.Changed(h.want, h.want, []tree.Path{""}, kind.Struct(in)); err != nil {
		return err
	}
	if h.want.CORS == nil {
		in.CorsConfiguration = nil
	}
	_, err := h.Others.UpdateApi(h.ctx, in)
	return err
}

// routes makes the routes those that are wanted: each gets an integration of its own, unless it has one that leads
// there.
func (h *hand) routes() error {
	want := map[string]Route{}
	maps.Copy(want, h.want.Routes)
	maps.Copy(want, h.want.Bindings)
	existing, targets := map[string]obj{}, map[string]obj{}
	for _, i := range h.children(h.t, *h.id, "integrations") {
		targets["integrations/"+i["integrationId"].(string)] = i
	}
	for _, r := range h.children(h.t, *h.id, "routes") {
		existing[r["routeKey"].(string)] = r
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if err := h.route(key, want[key], existing[key], targets); err != nil {
			return err
		}
	}
	for key, r := range existing {
		if _, wanted := want[key]; wanted {
			continue
		}
		if _, err := h.Others.DeleteRoute(h.ctx, &sdk.DeleteRouteInput{ApiId: h.id, RouteId: new(r["routeId"].(string))}); err != nil {
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
		if _, err := h.Others.DeleteIntegration(h.ctx, &sdk.DeleteIntegrationInput{ApiId: h.id, IntegrationId: &id}); err != nil {
			return err
		}
	}
	return nil
}

func (h *hand) route(key string, want Route, existing obj, targets map[string]obj) error {
	in, err := want.integration()
	if err != nil {
		return err
	}
	in.ApiId = h.id
	target, _ := existing["target"].(string)
	if have := targets[target]; have == nil || !covers(have, plain(in)) {
		out, err := h.Others.CreateIntegration(h.ctx, in)
		if err != nil {
			return err
		}
		target = "integrations/" + *out.IntegrationId
	}
	by, how := "", types.AuthorizationTypeNone
	for _, a := range h.children(h.t, *h.id, "authorizers") {
		if a["name"] == want.Authorizer {
			by, how = a["authorizerId"].(string), authorizationBy(types.AuthorizerType(a["authorizerType"].(string)))
		}
	}
	if want.IAM {
		how = types.AuthorizationTypeAwsIam
	}
	scopes := append([]string{}, want.Scopes...)
	if existing == nil {
		_, err := h.Others.CreateRoute(h.ctx, &sdk.CreateRouteInput{
			ApiId: h.id, RouteKey: &key, Target: &target, AuthorizationType: how, AuthorizerId: &by, AuthorizationScopes: scopes,
			OperationName: &want.OperationName,
		})
		return err
	}
	_, err = h.Others.UpdateRoute(h.ctx, &sdk.UpdateRouteInput{
		ApiId: h.id, RouteId: new(existing["routeId"].(string)), Target: &target, AuthorizationType: how, AuthorizerId: &by,
		AuthorizationScopes: scopes, OperationName: &want.OperationName,
	})
	return err
}

// covers reports whether an integration is one that would be created so.
func covers(have, want obj) bool {
	have = maps.Clone(have)
	for _, own := range []string{"integrationId", "integrationMethod"} {
		if want[own] == nil { // API Gateway gives one
			delete(have, own)
		}
	}
	want = maps.Clone(want)
	delete(want, "apiId")
	empty(have)
	empty(want)
	return tree.Equal(have, want)
}

func (h *hand) authorizers() error {
	existing := map[string]string{}
	for _, a := range h.children(h.t, *h.id, "authorizers") {
		existing[a["name"].(string)] = a["authorizerId"].(string)
	}
	for _, name := range slices.Sorted(maps.Keys(h.want.Authorizers)) {
		if err := h.authorizer(name, existing[name], h.want.Authorizers[name]); err != nil {
			return err
		}
	}
	for name, id := range existing {
		if _, wanted := h.want.Authorizers[name]; wanted {
			continue
		}
		if _, err := h.Others.DeleteAuthorizer(h.ctx, &sdk.DeleteAuthorizerInput{ApiId: h.id, AuthorizerId: &id}); err != nil {
			return err
		}
	}
	return nil
}

func (h *hand) authorizer(name, id string, a Authorizer) error {
	in := &sdk.CreateAuthorizerInput{ApiId: h.id, Name: &name}
	if err := a.into(in, kind.Location{Region: "us-east-1"}); err != nil {
		return err
	}
	if id == "" {
		_, err := h.Others.CreateAuthorizer(h.ctx, in)
		return err
	}
	_, err := h.Others.UpdateAuthorizer(h.ctx, &sdk.UpdateAuthorizerInput{
		ApiId: h.id, AuthorizerId: &id, AuthorizerType: in.AuthorizerType, IdentitySource: in.IdentitySource, JwtConfiguration: in.JwtConfiguration,
		AuthorizerPayloadFormatVersion: in.AuthorizerPayloadFormatVersion, AuthorizerUri: in.AuthorizerUri,
		EnableSimpleResponses: in.EnableSimpleResponses, AuthorizerResultTtlInSeconds: in.AuthorizerResultTtlInSeconds,
		AuthorizerCredentialsArn: new(string(a.Credentials)),
	})
	return err
}

// stages creates all of them again.
func (h *hand) stages() error {
	for _, s := range h.children(h.t, *h.id, "stages") {
		if _, err := h.Others.DeleteStage(h.ctx, &sdk.DeleteStageInput{ApiId: h.id, StageName: new(s["stageName"].(string))}); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.want.Stages)) {
		in := &sdk.CreateStageInput{ApiId: h.id, StageName: &name}
		if err := h.want.Stages[name].into(in); err != nil {
			return err
		}
		if _, err := h.Others.CreateStage(h.ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// mappings makes what leads to the API what is wanted, on domains that are created where they are missing.
func (h *hand) mappings() error {
	var existing []string
	for _, d := range h.domains(h.t) {
		existing = append(existing, d.(obj)["domainName"].(string))
	}
	for _, name := range existing {
		for _, m := range h.children(h.t, name, "mappings") {
			if m["apiId"] != *h.id {
				continue
			}
			_, err := h.Others.DeleteApiMapping(h.ctx, &sdk.DeleteApiMappingInput{DomainName: &name, ApiMappingId: new(m["apiMappingId"].(string))})
			if err != nil {
				return err
			}
		}
	}
	for _, at := range slices.Sorted(maps.Keys(h.want.Mappings)) {
		name, key, _ := strings.Cut(at, "/")
		if !slices.Contains(existing, name) {
			h.serve(h.t, name)
			existing = append(existing, name)
		}
		in := &sdk.CreateApiMappingInput{DomainName: &name, ApiMappingKey: &key, ApiId: h.id, Stage: h.want.Mappings[at].Stage}
		if _, err := h.Others.CreateApiMapping(h.ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// domainHands change each aspect of a domain as somebody else would.
func domainHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	name := func(to kindtest.Edited) *string { return new(to.Attrs["name"].(string)) }
	update := ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		var body domainWire
		if err := domainTable.Created(kindtest.PropsOf(t, domainTable, to.Props), kind.Struct(&body)); err != nil {
			return err
		}
		in := body.input(*name(to))
		if in.MutualTlsAuthentication == nil {
			in.MutualTlsAuthentication = &types.MutualTlsAuthenticationInput{TruststoreUri: new("")}
		}
		_, err := w.Others.UpdateDomainName(context.Background(), in)
		return err
	})
	return map[tree.Path]kindtest.Hand{
		"": ws.Hand(func(w *world, _ kindtest.T, to kindtest.Edited) error {
			_, err := w.Others.DeleteDomainName(context.Background(), &sdk.DeleteDomainNameInput{DomainName: name(to)})
			return err
		}),
		"certificateArn": update, "ownershipVerificationCertificateArn": update, "securityPolicy": update, "ipAddressType": update,
		"routingMode": update, "mutualTls": update,
		"tags": ws.Hand(func(w *world, _ kindtest.T, to kindtest.Edited) error {
			out, err := w.Others.GetDomainName(context.Background(), &sdk.GetDomainNameInput{DomainName: name(to)})
			if err != nil {
				return err
			}
			return w.retag(out.Tags, to)
		}),
	}
}

// retag makes the tags those that are wanted. Owner tags stay.
func (w *world) retag(have map[string]string, to kindtest.Edited) error {
	ctx, arn := context.Background(), new(to.Attrs["arn"].(string))
	drop := func(keys []string) error {
		_, err := w.Others.UntagResource(ctx, &sdk.UntagResourceInput{ResourceArn: arn, TagKeys: keys})
		return err
	}
	return awstest.Retag(have, to, drop, func(tags map[string]string) error {
		_, err := w.Others.TagResource(ctx, &sdk.TagResourceInput{ResourceArn: arn, Tags: tags})
		return err
	})
}
