package apigatewayv2

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Integrations have no names, and are never changed: a route that is to lead elsewhere is turned to another one, in one
// call, and the one that nothing leads to any more is deleted. One that a cut run has left behind is found here as well.

func (w *work) createRoutes() *apiCall {
	return call("CreateRoute", func(ctx context.Context, client *sdk.Client, on reconcile.On[liveAPI]) error {
		return w.each(w.routes, on.Changed, func(key string) error {
			route, err := settled[Route](w.routes.path(key), w.routes.want[key], nil, on.Changed)
			if err != nil {
				return err
			}
			to, err := w.integration(ctx, client, route)
			if err != nil {
				return err
			}
			in := &sdk.CreateRouteInput{
				ApiId: &w.live.id, RouteKey: &key, Target: new("integrations/" + to), AuthorizationType: w.authorization(route),
				AuthorizerId: aws.OrNil(w.names[route.Authorizer]), AuthorizationScopes: route.Scopes, OperationName: aws.OrNil(route.OperationName),
			}
			if _, err := client.CreateRoute(ctx, in); err != nil {
				return err
			}
			w.targets[key] = to
			return nil
		})
	})
}

func (w *work) updateRoutes() *apiCall {
	return call("UpdateRoute", func(ctx context.Context, client *sdk.Client, on reconcile.On[liveAPI]) error {
		err := w.each(w.routes, on.Changed, func(key string) error {
			return w.updateRoute(ctx, client, key, on.Changed)
		})
		if err != nil {
			return err
		}
		return w.sweep(ctx, client)
	})
}

// updateRoute says what is to change and leaves the rest as it is; empty text clears.
func (w *work) updateRoute(ctx context.Context, client *sdk.Client, key string, changed []tree.Path) error {
	path := w.routes.path(key)
	route, err := settled[Route](path, w.routes.want[key], w.routes.have[key], changed)
	if err != nil {
		return err
	}
	in := &sdk.UpdateRouteInput{ApiId: &w.live.id, RouteId: new(w.routeIDs[key])}
	to := w.targets[key]
	if !sameTarget(route, w.integrations[to]) {
		if to, err = w.integration(ctx, client, route); err != nil {
			return err
		}
		in.Target = new("integrations/" + to)
	}
	if touches(changed, path.Key("authorizer")) || touches(changed, path.Key("iam")) {
		in.AuthorizationType = w.authorization(route)
		if id := w.names[route.Authorizer]; id != "" || touches(changed, path.Key("authorizer")) {
			in.AuthorizerId = &id
		}
	}
	if touches(changed, path.Key("scopes")) {
		in.AuthorizationScopes = said(route.Scopes)
	}
	if touches(changed, path.Key("operationName")) {
		in.OperationName = &route.OperationName
	}
	if _, err := client.UpdateRoute(ctx, in); err != nil {
		return err
	}
	w.targets[key] = to
	return nil
}

func (w *work) deleteRoutes() *apiCall {
	return call("DeleteRoute", func(ctx context.Context, client *sdk.Client, on reconcile.On[liveAPI]) error {
		err := w.each(w.routes, on.Changed, func(key string) error {
			_, err := client.DeleteRoute(ctx, &sdk.DeleteRouteInput{ApiId: &w.live.id, RouteId: new(w.routeIDs[key])})
			if err != nil && !aws.IsAbsent(err) {
				return err
			}
			delete(w.targets, key)
			return nil
		})
		if err != nil {
			return err
		}
		return w.sweep(ctx, client)
	})
}

// each calls for every child that is to change, in order.
func (w *work) each(c children, changed []tree.Path, do func(key string) error) error {
	for _, key := range slices.Sorted(maps.Keys(union(c.want, c.have))) {
		if !touches(changed, c.path(key)) {
			continue
		}
		if err := do(key); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) authorization(r Route) types.AuthorizationType {
	by, _ := w.authorizers.want[r.Authorizer].(object)
	switch {
	case r.IAM:
		return types.AuthorizationTypeAwsIam
	case r.Authorizer == "":
		return types.AuthorizationTypeNone
	case by["lambda"] != nil:
		return authorizationBy(types.AuthorizerTypeRequest)
	default:
		return authorizationBy(types.AuthorizerTypeJwt)
	}
}

// sameTarget reports whether a route leads where an integration does.
func sameTarget(r, integration Route) bool {
	return reflect.DeepEqual(r.normal().leadsTo(), integration.normal().leadsTo())
}

// integration is one that leads where a route is to lead: there already, or made.
func (w *work) integration(ctx context.Context, client *sdk.Client, r Route) (id string, err error) {
	for _, id := range slices.Sorted(maps.Keys(w.integrations)) {
		if sameTarget(r, w.integrations[id]) {
			return id, nil
		}
	}
	in := r.normal().integration()
	in.ApiId = &w.live.id
	out, err := client.CreateIntegration(ctx, in)
	if err != nil {
		return "", err
	}
	id = sdkaws.ToString(out.IntegrationId)
	w.integrations[id] = r.leadsTo()
	return id, nil
}

// integration is how API Gateway is told where a route leads.
func (r Route) integration() *sdk.CreateIntegrationInput {
	in := &sdk.CreateIntegrationInput{
		IntegrationType: types.IntegrationTypeHttpProxy, ConnectionType: types.ConnectionTypeInternet, PayloadFormatVersion: new("1.0"),
		CredentialsArn: aws.OrNil(string(r.Credentials)), Description: aws.OrNil(r.Description),
		RequestParameters: r.Parameters, ResponseParameters: r.ResponseParameters, TimeoutInMillis: new(int32(*r.Timeout / time.Millisecond)),
	}
	switch {
	case r.Lambda != "":
		in.IntegrationType, in.IntegrationUri, in.PayloadFormatVersion = types.IntegrationTypeAwsProxy, new(string(r.Lambda)), r.PayloadFormat
	case r.Service != "":
		in.IntegrationType, in.IntegrationSubtype = types.IntegrationTypeAwsProxy, &r.Service
	case r.Listener != "":
		in.ConnectionType, in.ConnectionId = types.ConnectionTypeVpcLink, &r.VPCLink
		in.IntegrationUri, in.IntegrationMethod = new(string(r.Listener)), r.Method
		if r.TLSServerName != "" {
			in.TlsConfig = &types.TlsConfigInput{ServerNameToVerify: &r.TLSServerName}
		}
	default:
		in.IntegrationUri, in.IntegrationMethod = &r.URL, r.Method
	}
	return in
}

// strays states the integrations that nothing leads to and nothing is about to: what a cut run, or somebody else, has left.
func (w *work) strays(d *apiDiff) {
	remove := call("DeleteIntegration", func(ctx context.Context, client *sdk.Client, _ reconcile.On[liveAPI]) error {
		return w.sweep(ctx, client)
	})
	used := w.used()
	for _, id := range slices.Sorted(maps.Keys(w.integrations)) {
		if i := w.integrations[id]; !used[id] && !w.awaited(i) {
			i.Parameters = nil // a value may be a secret
			reconcile.Value(d, tree.Path("integrations").Key(id), nil, treeOf(&i), remove)
		}
	}
}

// used are the integrations that routes lead to.
func (w *work) used() map[string]bool {
	used := map[string]bool{}
	for _, id := range w.targets {
		used[id] = true
	}
	return used
}

// awaited reports whether a route is about to be turned to an integration.
func (w *work) awaited(integration Route) bool {
	for key, want := range w.routes.want {
		route, err := decoded[Route](want)
		if err == nil && want != nil && sameTarget(route, integration) && !sameTarget(route, w.integrations[w.targets[key]]) {
			return true
		}
	}
	return false
}

// sweep deletes the integrations that nothing leads to.
func (w *work) sweep(ctx context.Context, client *sdk.Client) error {
	used := w.used()
	for _, id := range slices.Sorted(maps.Keys(w.integrations)) {
		if used[id] {
			continue
		}
		_, err := client.DeleteIntegration(ctx, &sdk.DeleteIntegrationInput{ApiId: &w.live.id, IntegrationId: &id})
		if err != nil && !aws.IsAbsent(err) {
			return err
		}
		delete(w.integrations, id)
	}
	return nil
}
