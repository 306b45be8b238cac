package apigatewayv2

import (
	"context"
	"maps"
	"slices"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// operations are those of what is in the API.
func (c *comparison) operations() {
	c.authorizers.create = c.each("CreateAuthorizer", &c.authorizers, c.createAuthorizer)
	c.authorizers.update = c.each("UpdateAuthorizer", &c.authorizers, c.updateAuthorizer)
	c.authorizers.remove = c.each("DeleteAuthorizer", &c.authorizers, c.deleteAuthorizer)
	c.routes.create = c.each("CreateRoute", &c.routes, c.createRoute)
	c.routes.update = c.sweeping(c.each("UpdateRoute", &c.routes, c.updateRoute))
	c.routes.remove = c.sweeping(c.each("DeleteRoute", &c.routes, c.deleteRoute))
	c.stages.create = c.each("CreateStage", &c.stages, c.createStage)
	c.stages.update = c.each("UpdateStage", &c.stages, c.updateStage)
	c.stages.remove = c.each("DeleteStage", &c.stages, c.deleteStage)
	c.mappings.create = c.each("CreateApiMapping", &c.mappings, c.createMapping)
	c.mappings.update = c.each("UpdateApiMapping", &c.mappings, c.updateMapping)
	c.mappings.remove = c.each("DeleteApiMapping", &c.mappings, c.deleteMapping)
}

// unlessAbsent is the error of a deletion: what is missing is deleted.
func unlessAbsent(err error) error {
	if aws.IsAbsent(err) {
		return nil
	}
	return err
}

func (c *comparison) createAuthorizer(ctx context.Context, client *sdk.Client, name string, u apiUpdate) error {
	a, err := written[Authorizer](&c.authorizers, name, u.Changed)
	if err != nil {
		return err
	}
	in := &sdk.CreateAuthorizerInput{ApiId: &c.live.id, Name: &name}
	if err := a.into(in, c.live.location); err != nil {
		return err
	}
	out, err := client.CreateAuthorizer(ctx, in)
	if err == nil {
		c.authorizerIDs[name] = sdkaws.ToString(out.AuthorizerId)
	}
	return err
}

func (c *comparison) updateAuthorizer(ctx context.Context, client *sdk.Client, name string, u apiUpdate) error {
	a, err := written[Authorizer](&c.authorizers, name, u.Changed)
	if err != nil {
		return err
	}
	all := &sdk.CreateAuthorizerInput{}
	if err := a.into(all, c.live.location); err != nil {
		return err
	}
	in := &sdk.UpdateAuthorizerInput{
		ApiId: &c.live.id, AuthorizerId: new(c.authorizerIDs[name]), AuthorizerType: all.AuthorizerType,
		IdentitySource: all.IdentitySource, JwtConfiguration: all.JwtConfiguration, AuthorizerUri: all.AuthorizerUri,
		AuthorizerPayloadFormatVersion: all.AuthorizerPayloadFormatVersion, EnableSimpleResponses: all.EnableSimpleResponses,
		AuthorizerResultTtlInSeconds: all.AuthorizerResultTtlInSeconds,
	}
	if a.Issuer == "" && touches(u.Changed, c.authorizers.path(name).Key("credentials")) {
		in.AuthorizerCredentialsArn = new(string(a.Credentials)) // empty text clears
	}
	_, err = client.UpdateAuthorizer(ctx, in)
	return err
}

// deleteAuthorizer comes after the routes that name it were changed or deleted: API Gateway keeps one that is in use.
func (c *comparison) deleteAuthorizer(ctx context.Context, client *sdk.Client, name string, _ apiUpdate) error {
	in := &sdk.DeleteAuthorizerInput{ApiId: &c.live.id, AuthorizerId: new(c.authorizerIDs[name])}
	_, err := client.DeleteAuthorizer(ctx, in)
	return unlessAbsent(err)
}

// into writes all of an authorizer, so that nothing is left of an earlier one.
func (a Authorizer) into(in *sdk.CreateAuthorizerInput, location kind.Location) error {
	if err := authorizerTable.Created(a, kind.Struct(in)); err != nil {
		return err
	}
	in.IdentitySource = append([]string{}, a.IdentitySources...)
	if in.AuthorizerType = types.AuthorizerTypeJwt; a.Issuer == "" {
		in.AuthorizerType, in.AuthorizerUri = types.AuthorizerTypeRequest, new(invoking(location.Region, a.Lambda))
	} else {
		in.JwtConfiguration.Audience = append([]string{}, a.Audience...)
	}
	return nil
}

// Integrations have no names, and are never changed: a route that is to lead elsewhere is led to another one, in one
// call, and the one that nothing leads to any more is deleted. One that an interrupted run has left behind is found
// here too.

// target is a route without what is said of it alone: two that are equal so share an integration.
func (r Route) target() object {
	r.Authorizer, r.IAM, r.Scopes, r.OperationName = "", false, nil, ""
	return routeTable.Tree(r)
}

// isLater reports that a route leads nowhere. One that is declared always leads somewhere, unless that is left out for
// now.
func (r Route) isLater() bool {
	return r.Lambda == "" && r.URL == "" && r.Service == "" && r.Listener == ""
}

// sameTarget reports whether two routes lead to the same in every respect.
func sameTarget(a, b Route) bool { return tree.Equal(a.target(), b.target()) }

func (c *comparison) createRoute(ctx context.Context, client *sdk.Client, key string, u apiUpdate) error {
	route, err := written[Route](&c.routes, key, u.Changed)
	if err != nil {
		return err
	}
	to, err := c.integration(ctx, client, route)
	if err != nil {
		return err
	}
	_, err = client.CreateRoute(ctx, &sdk.CreateRouteInput{
		ApiId: &c.live.id, RouteKey: &key, Target: new("integrations/" + to), AuthorizationType: c.authorization(route),
		AuthorizerId: aws.OrNil(c.authorizerIDs[route.Authorizer]), AuthorizationScopes: route.Scopes,
		OperationName: aws.OrNil(route.OperationName),
	})
	if err == nil {
		c.targets[key] = to
	}
	return err
}

// updateRoute writes what is to change and leaves the rest as it is; empty text clears.
func (c *comparison) updateRoute(ctx context.Context, client *sdk.Client, key string, u apiUpdate) error {
	route, err := written[Route](&c.routes, key, u.Changed)
	if err != nil {
		return err
	}
	changes := func(prop string) bool { return touches(u.Changed, c.routes.path(key).Key(prop)) }
	in := &sdk.UpdateRouteInput{ApiId: &c.live.id, RouteId: new(c.live.routeIDs[key])}
	to := c.targets[key]
	if !sameTarget(route, c.integrations[to]) {
		if to, err = c.integration(ctx, client, route); err != nil {
			return err
		}
		in.Target = new("integrations/" + to)
	}
	if changes("authorizer") || changes("iam") {
		in.AuthorizationType = c.authorization(route)
		if id := c.authorizerIDs[route.Authorizer]; id != "" || changes("authorizer") {
			in.AuthorizerId = &id
		}
	}
	if changes("scopes") {
		in.AuthorizationScopes = append([]string{}, route.Scopes...)
	}
	if changes("operationName") {
		in.OperationName = &route.OperationName
	}
	if _, err = client.UpdateRoute(ctx, in); err == nil {
		c.targets[key] = to
	}
	return err
}

func (c *comparison) deleteRoute(ctx context.Context, client *sdk.Client, key string, _ apiUpdate) error {
	_, err := client.DeleteRoute(ctx, &sdk.DeleteRouteInput{ApiId: &c.live.id, RouteId: new(c.live.routeIDs[key])})
	if err = unlessAbsent(err); err == nil {
		delete(c.targets, key)
	}
	return err
}

func (c *comparison) authorization(r Route) types.AuthorizationType {
	by, _ := c.authorizers.want[r.Authorizer].(object)
	switch {
	case r.IAM:
		return types.AuthorizationTypeAwsIam
	case r.Authorizer == "":
		return types.AuthorizationTypeNone
	case by["lambda"] != nil:
		return types.AuthorizationTypeCustom
	}
	return types.AuthorizationTypeJwt
}

// integration is one that leads where a route is to lead: an existing one, or a new one.
func (c *comparison) integration(ctx context.Context, client *sdk.Client, r Route) (id string, err error) {
	for _, id := range slices.Sorted(maps.Keys(c.integrations)) {
		if sameTarget(r, c.integrations[id]) {
			return id, nil
		}
	}
	in, err := r.integration()
	if err != nil {
		return "", err
	}
	in.ApiId = &c.live.id
	out, err := client.CreateIntegration(ctx, in)
	if err != nil {
		return "", err
	}
	id = sdkaws.ToString(out.IntegrationId)
	c.integrations[id] = r
	return id, nil
}

// integration is where a route leads, as API Gateway takes it.
func (r Route) integration() (*sdk.CreateIntegrationInput, error) {
	in := &sdk.CreateIntegrationInput{
		IntegrationType: types.IntegrationTypeHttpProxy, ConnectionType: types.ConnectionTypeInternet,
		PayloadFormatVersion: new("1.0"),
	}
	switch {
	case r.Lambda != "":
		in.IntegrationType, in.IntegrationUri = types.IntegrationTypeAwsProxy, new(string(r.Lambda))
	case r.Service != "":
		in.IntegrationType = types.IntegrationTypeAwsProxy
	case r.Listener != "":
		in.ConnectionType, in.IntegrationUri = types.ConnectionTypeVpcLink, new(string(r.Listener))
	default:
		in.IntegrationUri = &r.URL
	}
	return in, routeTable.Created(r, kind.Struct(in))
}

// unused states the integrations that nothing leads to and nothing is about to: what an interrupted run, or somebody
// else, has left.
func (c *comparison) unused(d *apiDiff) {
	remove := kind.Set("DeleteIntegration", func(ctx context.Context, u apiUpdate) error {
		return aws.NotYet(c.sweep(ctx, clientOf(u.Cloud)))
	})
	used := c.used()
	for _, id := range slices.Sorted(maps.Keys(c.integrations)) {
		if i := c.integrations[id]; !used[id] && !c.isAwaited(i) {
			i.Parameters = nil // a value may be a secret
			reconcile.Value(d, tree.Path("integrations").Key(id), nil, any(routeTable.Tree(i)), remove)
		}
	}
}

// used are the integrations that routes lead to.
func (c *comparison) used() map[string]bool {
	used := map[string]bool{}
	for _, id := range c.targets {
		used[id] = true
	}
	return used
}

// isAwaited reports whether a route is about to be led to an integration.
func (c *comparison) isAwaited(integration Route) bool {
	for key, want := range c.routes.want {
		route, err := decoded[Route](want)
		if err == nil && want != nil && sameTarget(route, integration) && !sameTarget(route, c.integrations[c.targets[key]]) {
			return true
		}
	}
	return false
}

// sweeping is a call after which the integrations that nothing leads to are deleted.
func (c *comparison) sweeping(call *apiCall) *apiCall {
	do := call.Do
	call.Do = func(ctx context.Context, on kind.Update[liveAPI]) error {
		if err := do(ctx, on); err != nil {
			return err
		}
		return aws.NotYet(c.sweep(ctx, clientOf(on.Cloud)))
	}
	return call
}

// sweep deletes the integrations that nothing leads to.
func (c *comparison) sweep(ctx context.Context, client *sdk.Client) error {
	used := c.used()
	for _, id := range slices.Sorted(maps.Keys(c.integrations)) {
		if used[id] {
			continue
		}
		_, err := client.DeleteIntegration(ctx, &sdk.DeleteIntegrationInput{ApiId: &c.live.id, IntegrationId: &id})
		if err = unlessAbsent(err); err != nil {
			return err
		}
		delete(c.integrations, id)
	}
	return nil
}

func (c *comparison) createStage(ctx context.Context, client *sdk.Client, name string, u apiUpdate) error {
	s, err := written[Stage](&c.stages, name, u.Changed)
	if err != nil {
		return err
	}
	in := &sdk.CreateStageInput{ApiId: &c.live.id, StageName: &name}
	if err := s.into(in); err != nil {
		return err
	}
	_, err = client.CreateStage(ctx, in)
	return err
}

// updateStage writes all of a stage. What a stage merges with what it has is taken away first: an access log and the
// settings of routes by a call of their own, variables by an empty value.
func (c *comparison) updateStage(ctx context.Context, client *sdk.Client, name string, u apiUpdate) error {
	s, err := written[Stage](&c.stages, name, u.Changed)
	if err != nil {
		return err
	}
	had, _ := c.stages.have[name].(object)
	if err := c.takeAway(ctx, client, name, had, s); err != nil {
		return err
	}
	all := &sdk.CreateStageInput{}
	if err := s.into(all); err != nil {
		return err
	}
	variables, _ := had["variables"].(object)
	for key := range variables {
		if _, kept := s.Variables[key]; !kept {
			if all.StageVariables == nil {
				all.StageVariables = map[string]string{}
			}
			all.StageVariables[key] = ""
		}
	}
	_, err = client.UpdateStage(ctx, &sdk.UpdateStageInput{
		ApiId: &c.live.id, StageName: &name, Description: &s.Description, AutoDeploy: all.AutoDeploy,
		StageVariables: all.StageVariables, AccessLogSettings: all.AccessLogSettings,
		DefaultRouteSettings: all.DefaultRouteSettings, RouteSettings: all.RouteSettings,
	})
	return err
}

func (c *comparison) deleteStage(ctx context.Context, client *sdk.Client, name string, _ apiUpdate) error {
	_, err := client.DeleteStage(ctx, &sdk.DeleteStageInput{ApiId: &c.live.id, StageName: &name})
	return unlessAbsent(err)
}

// into writes all of a stage. A limit that is not set is that of the account; zero would let nothing through.
func (s Stage) into(in *sdk.CreateStageInput) error {
	if s.AccessLog != nil && s.AccessLog.Destination == "" {
		s.AccessLog = nil
	}
	if err := stageTable.Created(s, kind.Struct(in)); err != nil {
		return err
	}
	for key, r := range s.Routes {
		one := types.RouteSettings{}
		if err := settingsTable.Created(r, kind.Struct(&one)); err != nil {
			return err
		}
		if in.RouteSettings == nil {
			in.RouteSettings = map[string]types.RouteSettings{}
		}
		in.RouteSettings[key] = one
	}
	return nil
}

// takeAway removes what is no longer to exist. Settings of a route that are to lose a throttle are removed first too.
func (c *comparison) takeAway(ctx context.Context, client *sdk.Client, name string, had object, s Stage) error {
	if had["accessLog"] != nil && s.AccessLog == nil {
		_, err := client.DeleteAccessLogSettings(ctx, &sdk.DeleteAccessLogSettingsInput{ApiId: &c.live.id, StageName: &name})
		if err = unlessAbsent(err); err != nil {
			return err
		}
	}
	routes, _ := had["routes"].(object)
	for _, key := range slices.Sorted(maps.Keys(routes)) {
		before, _ := routes[key].(object)
		if kept, ok := s.Routes[key]; ok && (kept.Throttle != nil || before["throttle"] == nil) {
			continue
		}
		in := &sdk.DeleteRouteSettingsInput{ApiId: &c.live.id, StageName: &name, RouteKey: &key}
		_, err := client.DeleteRouteSettings(ctx, in)
		if err = unlessAbsent(err); err != nil {
			return err
		}
	}
	return nil
}
