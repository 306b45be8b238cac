package apigatewayv2

import (
	"context"
	"slices"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// createAPI makes the API with its tags and without anything in it; what belongs there is settled by the comparison.
func createAPI(ctx context.Context, site apiSite) (HTTPAPI, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return HTTPAPI{}, err
	}
	want := site.Want
	out, err := client.CreateApi(ctx, &sdk.CreateApiInput{
		Name: new(nameOf(want, site.Mark)), ProtocolType: types.ProtocolTypeHttp, Tags: aws.Tags(want.Tags, site.Mark),
		Description: aws.OrNil(want.Description), Version: aws.OrNil(want.Version), CorsConfiguration: want.CORS.configuration(),
		DisableExecuteApiEndpoint: &want.DisableExecuteAPIEndpoint, IpAddressType: types.IpAddressType(*want.IPAddressType),
	})
	if err != nil {
		return HTTPAPI{}, err
	}
	attrs := attrsOf(site.Place, sdkaws.ToString(out.ApiId))
	attrs.Endpoint = URL(sdkaws.ToString(out.ApiEndpoint))
	return attrs, nil
}

// deleteAPI deletes the API with all that is in it and what leads to it from custom domains, and returns when it is no longer
// shown.
func deleteAPI(ctx context.Context, site apiSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	id := site.Last.ID
	if err := unmap(ctx, client, id, domainsIn(site.Last.Mappings)); err != nil {
		return err
	}
	_, err = client.DeleteApi(ctx, &sdk.DeleteApiInput{ApiId: &id})
	if isBadRequest(err) { // it is mapped on a domain that nobody has told of
		if err := unmapEverywhere(ctx, client, id, err); err != nil {
			return err
		}
		_, err = client.DeleteApi(ctx, &sdk.DeleteApiInput{ApiId: &id})
	}
	if err != nil {
		return err
	}
	if _, err := client.GetApi(ctx, &sdk.GetApiInput{ApiId: &id}); err != nil {
		return err // absent is what is wanted
	}
	return aws.Busy(errGoing)
}

// call is an operation on an API that a look has just shown.
func call(name string, do func(ctx context.Context, client *sdk.Client, on reconcile.On[liveAPI]) error) *apiCall {
	return &apiCall{Name: name, Do: func(ctx context.Context, on reconcile.On[liveAPI]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		return aws.NotYet(do(ctx, client, on))
	}}
}

// updateAPI sends what is to change and leaves the rest as it is; empty text clears.
func updateAPI(want HTTPAPIProps) *apiCall {
	return call("UpdateApi", func(ctx context.Context, client *sdk.Client, on reconcile.On[liveAPI]) error {
		in := &sdk.UpdateApiInput{ApiId: &on.Live.id}
		for _, path := range on.Changed {
			switch path {
			case "name":
				in.Name = new(nameOf(want, on.Mark))
			case "description":
				in.Description = &want.Description
			case "version":
				in.Version = &want.Version
			case "disableExecuteApiEndpoint":
				in.DisableExecuteApiEndpoint = &want.DisableExecuteAPIEndpoint
			case "ipAddressType":
				in.IpAddressType = types.IpAddressType(*want.IPAddressType)
			}
		}
		if touches(on.Changed, "cors") {
			cors, err := settled[CORS]("cors", treeOf(want.CORS), treeOf(on.Live.cors), on.Changed)
			if err != nil {
				return err
			}
			in.CorsConfiguration = cors.configuration()
		}
		_, err := client.UpdateApi(ctx, in)
		return err
	})
}

func deleteCORS() *apiCall {
	return call("DeleteCorsConfiguration", func(ctx context.Context, client *sdk.Client, on reconcile.On[liveAPI]) error {
		_, err := client.DeleteCorsConfiguration(ctx, &sdk.DeleteCorsConfigurationInput{ApiId: &on.Live.id})
		return err
	})
}

// configuration says everything, so that nothing is left of an earlier one.
func (c *CORS) configuration() *types.Cors {
	if c == nil || len(c.AllowOrigins) == 0 {
		return nil
	}
	return &types.Cors{
		AllowOrigins: said(c.AllowOrigins), AllowMethods: said(c.AllowMethods), AllowHeaders: said(c.AllowHeaders),
		ExposeHeaders: said(c.ExposeHeaders), AllowCredentials: &c.AllowCredentials, MaxAge: new(int32(c.MaxAge / time.Second)),
	}
}

// said is a list that is sent even when it is empty.
func said(in []string) []string {
	if in == nil {
		return []string{}
	}
	return slices.Clone(in)
}

func putTags(ctx context.Context, on reconcile.On[liveAPI], tags map[string]string) error {
	return putTagsOf(ctx, on.Cloud, arnOf(on.Place, on.Live.id), tags)
}

func dropTags(ctx context.Context, on reconcile.On[liveAPI], keys []string) error {
	return dropTagsOf(ctx, on.Cloud, arnOf(on.Place, on.Live.id), keys)
}

func putTagsOf(ctx context.Context, cloud reconcile.Cloud, arn aws.ARN, tags map[string]string) error {
	client, err := clientOf(cloud)
	if err != nil {
		return err
	}
	_, err = client.TagResource(ctx, &sdk.TagResourceInput{ResourceArn: new(string(arn)), Tags: tags})
	return aws.NotYet(err)
}

func dropTagsOf(ctx context.Context, cloud reconcile.Cloud, arn aws.ARN, keys []string) error {
	client, err := clientOf(cloud)
	if err != nil {
		return err
	}
	_, err = client.UntagResource(ctx, &sdk.UntagResourceInput{ResourceArn: new(string(arn)), TagKeys: keys})
	return aws.NotYet(err)
}
