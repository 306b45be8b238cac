package apigatewayv2

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveAPI is an observed API: itself in the shape of its props, and what is in it, by key, as the trees of
// declarations.
type liveAPI struct {
	location     kind.Location
	id, endpoint string
	have         HTTPAPIProps
	tags         map[string]string

	routes, authorizers, stages object
	mappings                    map[string]mapping
	integrations                map[string]Route  // by identity
	targets                     map[string]string // of routes, by their key: identities of integrations
	routeIDs, authorizerIDs     map[string]string
}

var (
	errNothing = errors.New("an API is found by its identity, its owner tag or its name, and there is none")
	errOther   = fmt.Errorf("%w: it is no HTTP API", reconcile.ErrAbsent)
)

// observeAPI reads an API and, at once, all that is in it.
func observeAPI(ctx context.Context, s apiSite) (live liveAPI, err error) {
	client := clientOf(s.Cloud)
	id, err := identify(ctx, client, s)
	if err != nil {
		return live, err
	}
	out, err := client.GetApi(ctx, &sdk.GetApiInput{ApiId: &id})
	if err != nil {
		return live, aws.Absent(err)
	}
	if out.ProtocolType != types.ProtocolTypeHttp {
		return live, errOther
	}
	live = liveAPI{location: s.Location, id: id, endpoint: sdkaws.ToString(out.ApiEndpoint), tags: out.Tags}
	if live.have, err = apiTable.Read(kind.Struct(out)); err != nil {
		return live, err
	}
	live.have.CORS = live.have.CORS.normal()
	inside, err := contentsOf(ctx, client, s, &live)
	if err != nil {
		return live, err
	}
	return live, live.show(inside)
}

// contents is what is in an API as the service shows it.
type contents struct {
	routes       []types.Route
	integrations []types.Integration
	authorizers  []types.Authorizer
	stages       []types.Stage
}

func contentsOf(ctx context.Context, client *sdk.Client, s apiSite, live *liveAPI) (c contents, err error) {
	group, all := errgroup.WithContext(ctx)
	for _, read := range []func() error{
		func() (err error) {
			c.routes, err = listed(all, client.GetRoutes, &sdk.GetRoutesInput{ApiId: &live.id},
				func(in *sdk.GetRoutesInput, out *sdk.GetRoutesOutput) ([]types.Route, *string) {
					in.NextToken = out.NextToken
					return out.Items, out.NextToken
				})
			return err
		},
		func() (err error) {
			c.integrations, err = listed(all, client.GetIntegrations, &sdk.GetIntegrationsInput{ApiId: &live.id},
				func(in *sdk.GetIntegrationsInput, out *sdk.GetIntegrationsOutput) ([]types.Integration, *string) {
					in.NextToken = out.NextToken
					return out.Items, out.NextToken
				})
			return err
		},
		func() (err error) {
			if !asksAuthorizers(s) {
				return nil
			}
			c.authorizers, err = listed(all, client.GetAuthorizers, &sdk.GetAuthorizersInput{ApiId: &live.id},
				func(in *sdk.GetAuthorizersInput, out *sdk.GetAuthorizersOutput) ([]types.Authorizer, *string) {
					in.NextToken = out.NextToken
					return out.Items, out.NextToken
				})
			return err
		},
		func() (err error) {
			c.stages, err = listed(all, client.GetStages, &sdk.GetStagesInput{ApiId: &live.id},
				func(in *sdk.GetStagesInput, out *sdk.GetStagesOutput) ([]types.Stage, *string) {
					in.NextToken = out.NextToken
					return out.Items, out.NextToken
				})
			return err
		},
		func() (err error) { live.mappings, err = mappingsOf(all, client, s, live.id); return err },
	} {
		group.Go(func() error { return aws.NotYet(read()) })
	}
	if err := group.Wait(); err != nil {
		return c, err
	}
	return c, c.fill(ctx, client, live.id)
}

// asksAuthorizers reports whether authorizers are declared or were. Others are not asked for, since not all that speaks the
// protocol of API Gateway lists them.
func asksAuthorizers(s apiSite) bool {
	return len(s.Want.Authorizers) > 0 || s.Last != nil && len(s.Last.Authorizers) > 0
}

// fill reads what routes use and the listings do not show: API Gateway keeps what is in use, so that a listing that
// lacks it is late.
func (c *contents) fill(ctx context.Context, client *sdk.Client, api string) error {
	integrations, authorizers := map[string]bool{"": true}, map[string]bool{"": true}
	for _, i := range c.integrations {
		integrations[sdkaws.ToString(i.IntegrationId)] = true
	}
	for _, a := range c.authorizers {
		authorizers[sdkaws.ToString(a.AuthorizerId)] = true
	}
	for _, r := range c.routes {
		if id := target(r); !integrations[id] {
			integrations[id] = true
			out, err := client.GetIntegration(ctx, &sdk.GetIntegrationInput{ApiId: &api, IntegrationId: &id})
			if err == nil {
				c.integrations = append(c.integrations, types.Integration{
					ConnectionId: out.ConnectionId, ConnectionType: out.ConnectionType, CredentialsArn: out.CredentialsArn,
					Description: out.Description, IntegrationId: out.IntegrationId, IntegrationMethod: out.IntegrationMethod,
					IntegrationSubtype: out.IntegrationSubtype, IntegrationType: out.IntegrationType,
					IntegrationUri: out.IntegrationUri, PayloadFormatVersion: out.PayloadFormatVersion,
					RequestParameters:  out.RequestParameters,
					ResponseParameters: out.ResponseParameters, TimeoutInMillis: out.TimeoutInMillis, TlsConfig: out.TlsConfig,
				})
			} else if !aws.IsAbsent(err) {
				return err
			}
		}
		if id := sdkaws.ToString(r.AuthorizerId); !authorizers[id] {
			authorizers[id] = true
			out, err := client.GetAuthorizer(ctx, &sdk.GetAuthorizerInput{ApiId: &api, AuthorizerId: &id})
			if err == nil {
				c.authorizers = append(c.authorizers, types.Authorizer{
					AuthorizerCredentialsArn: out.AuthorizerCredentialsArn, AuthorizerId: out.AuthorizerId,
					AuthorizerPayloadFormatVersion: out.AuthorizerPayloadFormatVersion, AuthorizerType: out.AuthorizerType,
					AuthorizerUri:                out.AuthorizerUri,
					AuthorizerResultTtlInSeconds: out.AuthorizerResultTtlInSeconds, EnableSimpleResponses: out.EnableSimpleResponses,
					IdentitySource: out.IdentitySource, JwtConfiguration: out.JwtConfiguration, Name: out.Name,
				})
			} else if !aws.IsAbsent(err) {
				return err
			}
		}
	}
	return nil
}

// show makes of what is in an API what one would declare.
func (l *liveAPI) show(c contents) error {
	l.routes, l.authorizers, l.stages, l.integrations = object{}, object{}, object{}, map[string]Route{}
	l.targets, l.routeIDs, l.authorizerIDs = map[string]string{}, map[string]string{}, map[string]string{}
	for _, i := range c.integrations {
		r, err := integrationOf(i)
		if err != nil {
			return err
		}
		l.integrations[sdkaws.ToString(i.IntegrationId)] = r
	}
	for _, r := range c.routes {
		key := sdkaws.ToString(r.RouteKey)
		l.targets[key], l.routeIDs[key] = target(r), sdkaws.ToString(r.RouteId)
		route := l.integrations[target(r)] // nothing when it is missing
		route.Scopes, route.OperationName = r.AuthorizationScopes, sdkaws.ToString(r.OperationName)
		route.IAM = r.AuthorizationType == types.AuthorizationTypeAwsIam
		for _, a := range c.authorizers {
			same := sdkaws.ToString(a.AuthorizerId) == sdkaws.ToString(r.AuthorizerId)
			if same && r.AuthorizationType == authorizationBy(a.AuthorizerType) {
				route.Authorizer = sdkaws.ToString(a.Name)
			}
		}
		l.routes[key] = routeTable.Tree(route)
	}
	for _, in := range c.authorizers {
		a, err := authorizerTable.Read(kind.Struct(&in))
		if err != nil {
			return err
		}
		if in.AuthorizerType != types.AuthorizerTypeJwt { // one that was of tokens before may show them still
			a.Issuer, a.Audience, a.Lambda = "", nil, functionOf(sdkaws.ToString(in.AuthorizerUri))
		}
		name := sdkaws.ToString(in.Name)
		l.authorizers[name], l.authorizerIDs[name] = authorizerTable.Tree(a), sdkaws.ToString(in.AuthorizerId)
	}
	for _, in := range c.stages {
		stage, err := stageOf(in)
		if err != nil {
			return err
		}
		l.stages[sdkaws.ToString(in.StageName)] = stage
	}
	return nil
}

// target is the identity of the integration that a route leads to.
func target(r types.Route) string {
	return strings.TrimPrefix(sdkaws.ToString(r.Target), "integrations/")
}

// authorizationBy is how a route says what kind of authorizer it has.
func authorizationBy(authorizer types.AuthorizerType) types.AuthorizationType {
	if authorizer == types.AuthorizerTypeJwt {
		return types.AuthorizationTypeJwt
	}
	return types.AuthorizationTypeCustom
}

// integrationOf is an integration as a route that leads there.
func integrationOf(in types.Integration) (Route, error) {
	r, err := routeTable.Read(kind.Struct(&in))
	switch uri := sdkaws.ToString(in.IntegrationUri); {
	case r.Service != "":
	case in.IntegrationType == types.IntegrationTypeAwsProxy:
		r.Lambda = functionOf(uri)
	case in.ConnectionType == types.ConnectionTypeVpcLink:
		r.Listener = aws.ARN(uri)
	default:
		r.URL = uri
	}
	return r.normal(), err
}

// stageOf is a live stage as the tree of its declaration.
func stageOf(in types.Stage) (object, error) {
	s, err := stageTable.Read(kind.Struct(&in))
	if err != nil {
		return nil, err
	}
	rates := map[tree.Path]*float64{}
	if all := in.DefaultRouteSettings; all != nil {
		rates["throttle"] = all.ThrottlingRateLimit
	}
	s.Routes = map[string]RouteSettings{}
	for key, one := range in.RouteSettings {
		if s.Routes[key], err = settingsTable.Read(kind.Struct(&one)); err != nil {
			return nil, err
		}
		rates[tree.Path("routes").Key(key).Key("throttle")] = one.ThrottlingRateLimit
	}
	stage := any(stageTable.Tree(s))
	for path, rate := range rates { // somebody else may have set one that is no whole number
		if rate != nil && *rate != float64(int(*rate)) {
			stage = tree.With(stage, path.Key("rate"), *rate)
		}
	}
	return stage.(object), nil
}

const invocation = ":lambda:path/2015-03-31/functions/"

// functionOf is the function in an address by which API Gateway invokes it; other text stays as it is.
func functionOf(uri string) aws.ARN {
	if _, rest, ok := strings.Cut(uri, invocation); ok {
		if arn, ok := strings.CutSuffix(rest, "/invocations"); ok {
			return aws.ARN(arn)
		}
	}
	return aws.ARN(uri)
}

// invoking is the address by which API Gateway invokes a function.
func invoking(region string, function aws.ARN) string {
	return "arn:" + aws.Partition(region) + ":apigateway:" + region + invocation + string(function) + "/invocations"
}

// identify is the identity to look for: what was named or is in state, else what carries the owner tag, else, for what
// is only read, what has the name.
func identify(ctx context.Context, client *sdk.Client, s apiSite) (string, error) {
	switch {
	case s.ID != "":
		return idIn(s.ID, s.Location)
	case s.Last != nil:
		return s.Last.ID, nil
	case !s.Owner.IsZero():
		return findOwned(ctx, client, s)
	case s.Want.Name != "":
		return findNamed(ctx, client, s.Want.Name)
	}
	return "", errNothing
}

// idIn takes an ARN for what it names, since that is what people paste.
func idIn(id string, location kind.Location) (string, error) {
	bare, ok := apiOf(aws.ARN(id))
	if !ok {
		return id, nil
	}
	if aws.ARN(id) != arnOf(location, bare) {
		return "", aws.Foreign(id, location)
	}
	return bare, nil
}

// findOwned looks through all APIs. While one generation is being created, only that one counts: the other is what it
// replaces.
func findOwned(ctx context.Context, client *sdk.Client, s apiSite) (string, error) {
	apis, err := apisOf(ctx, client)
	if err != nil {
		return "", err
	}
	ours, _, err := adopt.Find(s.Facts, apis, func(api types.Api) (types.Api, error) { return api, nil },
		func(api types.Api) (kind.OwnerTag, string) { return adopt.MarkOf(api.Tags), sdkaws.ToString(api.ApiId) })
	switch {
	case err != nil:
		return "", err
	case ours == nil:
		return "", fmt.Errorf("%w: no API carries the owner tag", reconcile.ErrAbsent)
	}
	return *ours.ApiId, nil
}

func findNamed(ctx context.Context, client *sdk.Client, name string) (string, error) {
	apis, err := apisOf(ctx, client)
	if err != nil {
		return "", err
	}
	found := ""
	for _, api := range apis {
		switch id := sdkaws.ToString(api.ApiId); {
		case sdkaws.ToString(api.Name) != name:
		case found != "":
			return "", fmt.Errorf("%w: the APIs %s and %s are named %s", reconcile.ErrAmbiguous, found, id, name)
		default:
			found = id
		}
	}
	if found == "" {
		return "", fmt.Errorf("%w: no API is named %s", reconcile.ErrAbsent, name)
	}
	return found, nil
}

// listAPIs lists the HTTP APIs of a region with their owner tags.
func listAPIs(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	apis, err := apisOf(ctx, clientOf(scope.Cloud))
	for _, api := range apis {
		all = append(all, kind.Found{
			Kind: apiType, Place: scope.Place, Identity: sdkaws.ToString(api.ApiId), Mark: new(adopt.MarkOf(api.Tags)),
		})
	}
	return all, err
}

func apisOf(ctx context.Context, client *sdk.Client) ([]types.Api, error) {
	all, err := listed(ctx, client.GetApis, &sdk.GetApisInput{},
		func(in *sdk.GetApisInput, out *sdk.GetApisOutput) ([]types.Api, *string) {
			in.NextToken = out.NextToken
			return out.Items, out.NextToken
		})
	return slices.DeleteFunc(all, func(api types.Api) bool { return api.ProtocolType != types.ProtocolTypeHttp }), err
}

// listed is all that a listing shows. page is what one answer shows, and prepares the call for the next one.
func listed[I, O, T any](
	ctx context.Context, call func(context.Context, *I, ...func(*sdk.Options)) (*O, error), in *I,
	page func(*I, *O) ([]T, *string),
) (all []T, err error) {
	for {
		out, err := call(ctx, in)
		if err != nil {
			return nil, err
		}
		items, next := page(in, out)
		if all = append(all, items...); sdkaws.ToString(next) == "" {
			return all, nil
		}
	}
}
