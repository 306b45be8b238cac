package apigatewayv2

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

var (
	errNothing = errors.New("an API is found by its identity, its mark or its name, and there is none")
	errGoing   = errors.New("the API is still there")
	errOther   = fmt.Errorf("%w: it is no HTTP API", reconcile.ErrAbsent)
)

// observeAPI reads an API and, at once, all that is in it.
func observeAPI(ctx context.Context, site apiSite) (liveAPI, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveAPI{}, err
	}
	id, err := identify(ctx, client, site)
	if err != nil {
		return liveAPI{}, err
	}
	live, err := readAPI(ctx, client, site.Place, id)
	if err != nil {
		return liveAPI{}, err
	}
	group, all := errgroup.WithContext(ctx)
	for _, read := range []func() error{
		func() (err error) { live.routes, err = routesOf(all, client, id); return err },
		func() (err error) { live.integrations, err = integrationsOf(all, client, id); return err },
		func() (err error) { live.authorizers, err = authorizersOf(all, client, id); return err },
		func() (err error) { live.stages, err = stagesOf(all, client, id); return err },
		func() (err error) { live.mappings, err = mappingsOf(all, client, site, id); return err },
	} {
		group.Go(func() error { return aws.NotYet(read()) })
	}
	if err := group.Wait(); err != nil {
		return liveAPI{}, err
	}
	return live, fill(ctx, client, &live)
}

// identify is the identity to look for: what was named or is on record, else what carries the mark, else, for what is only
// read, what has the name.
func identify(ctx context.Context, client *sdk.Client, site apiSite) (string, error) {
	switch {
	case site.ID != "":
		return idIn(site.ID, site.Place)
	case site.Last != nil:
		return site.Last.ID, nil
	case !site.Mark.IsZero():
		return findMarked(ctx, client, site)
	case site.Want.Name != "":
		return findNamed(ctx, client, site.Want.Name)
	}
	return "", errNothing
}

// idIn takes an ARN for what it names, since that is what people paste.
func idIn(id string, place reconcile.Place) (string, error) {
	bare, ok := apiOf(aws.ARN(id))
	if !ok {
		return id, nil
	}
	if aws.ARN(id) != arnOf(place, bare) {
		return "", aws.Foreign(id, place)
	}
	return bare, nil
}

// findMarked looks through all APIs. While one generation is being made, only that one counts: the other is what it
// replaces.
func findMarked(ctx context.Context, client *sdk.Client, site apiSite) (string, error) {
	apis, err := apisOf(ctx, client)
	if err != nil {
		return "", err
	}
	best, generation := "", uint64(0)
	for _, api := range apis {
		mark, id := adopt.MarkOf(api.Tags), sdkaws.ToString(api.ApiId)
		switch {
		case mark.Stack != site.Mark.Stack || mark.Stage != site.Mark.Stage || mark.Address != site.Mark.Address:
		case site.Nonce != "" && mark.Generation != site.Mark.Generation:
		case best == "" || mark.Generation > generation:
			best, generation = id, mark.Generation
		case mark.Generation == generation:
			return "", fmt.Errorf("%w: the APIs %s and %s carry the same mark", reconcile.ErrAmbiguous, best, id)
		}
	}
	if best == "" {
		return "", fmt.Errorf("%w: no API carries the mark", reconcile.ErrAbsent)
	}
	return best, nil
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

func readAPI(ctx context.Context, client *sdk.Client, place reconcile.Place, id string) (liveAPI, error) {
	out, err := client.GetApi(ctx, &sdk.GetApiInput{ApiId: &id})
	if err != nil {
		return liveAPI{}, aws.Absent(err)
	}
	if out.ProtocolType != types.ProtocolTypeHttp {
		return liveAPI{}, errOther
	}
	live := liveAPI{
		place: place, id: id, endpoint: sdkaws.ToString(out.ApiEndpoint), name: sdkaws.ToString(out.Name),
		description: sdkaws.ToString(out.Description), version: sdkaws.ToString(out.Version),
		disabled: sdkaws.ToBool(out.DisableExecuteApiEndpoint), addresses: string(out.IpAddressType),
		cors: corsOf(out.CorsConfiguration), tags: maps.Clone(out.Tags),
	}
	if live.addresses == "" { // an API from before there was a choice
		live.addresses = string(types.IpAddressTypeIpv4)
	}
	return live, nil
}

func corsOf(in *types.Cors) *CORS {
	if in == nil {
		return nil
	}
	return new(CORS{
		AllowOrigins: in.AllowOrigins, AllowMethods: in.AllowMethods, AllowHeaders: in.AllowHeaders, ExposeHeaders: in.ExposeHeaders,
		AllowCredentials: sdkaws.ToBool(in.AllowCredentials), MaxAge: time.Duration(sdkaws.ToInt32(in.MaxAge)) * time.Second,
	}.normal())
}

// listAPIs lists the HTTP APIs of a region with their marks.
func listAPIs(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	apis, err := apisOf(ctx, client)
	if err != nil {
		return nil, err
	}
	var all []reconcile.Found
	for _, api := range apis {
		all = append(all, reconcile.Found{
			Kind: apiType, Place: scope.Place, Identity: sdkaws.ToString(api.ApiId), Mark: new(adopt.MarkOf(api.Tags)),
		})
	}
	return all, nil
}

func apisOf(ctx context.Context, client *sdk.Client) ([]types.Api, error) {
	var all []types.Api
	err := pages(func(token *string) (*string, error) {
		out, err := client.GetApis(ctx, &sdk.GetApisInput{NextToken: token})
		if err != nil {
			return nil, err
		}
		for _, api := range out.Items {
			if api.ProtocolType == types.ProtocolTypeHttp {
				all = append(all, api)
			}
		}
		return out.NextToken, nil
	})
	return all, err
}

func routesOf(ctx context.Context, client *sdk.Client, id string) (all []types.Route, err error) {
	err = pages(func(token *string) (*string, error) {
		out, err := client.GetRoutes(ctx, &sdk.GetRoutesInput{ApiId: &id, NextToken: token})
		if err != nil {
			return nil, err
		}
		all = append(all, out.Items...)
		return out.NextToken, nil
	})
	return all, err
}

func integrationsOf(ctx context.Context, client *sdk.Client, id string) (all []types.Integration, err error) {
	err = pages(func(token *string) (*string, error) {
		out, err := client.GetIntegrations(ctx, &sdk.GetIntegrationsInput{ApiId: &id, NextToken: token})
		if err != nil {
			return nil, err
		}
		all = append(all, out.Items...)
		return out.NextToken, nil
	})
	return all, err
}

func authorizersOf(ctx context.Context, client *sdk.Client, id string) (all []types.Authorizer, err error) {
	err = pages(func(token *string) (*string, error) {
		out, err := client.GetAuthorizers(ctx, &sdk.GetAuthorizersInput{ApiId: &id, NextToken: token})
		if err != nil {
			return nil, err
		}
		all = append(all, out.Items...)
		return out.NextToken, nil
	})
	return all, err
}

func stagesOf(ctx context.Context, client *sdk.Client, id string) (all []types.Stage, err error) {
	err = pages(func(token *string) (*string, error) {
		out, err := client.GetStages(ctx, &sdk.GetStagesInput{ApiId: &id, NextToken: token})
		if err != nil {
			return nil, err
		}
		all = append(all, out.Items...)
		return out.NextToken, nil
	})
	return all, err
}

// pages asks until there is no next page. The SDK has no paginators for this service.
func pages(ask func(token *string) (next *string, err error)) error {
	var token *string
	for {
		next, err := ask(token)
		if err != nil || sdkaws.ToString(next) == "" {
			return err
		}
		token = next
	}
}
