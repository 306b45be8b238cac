package apigatewayv2

import (
	"context"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

func (w *work) createAuthorizers() *apiCall {
	return call("CreateAuthorizer", func(ctx context.Context, client *sdk.Client, on reconcile.On[liveAPI]) error {
		return w.each(w.authorizers, on.Changed, func(name string) error {
			a, err := settled[Authorizer](w.authorizers.path(name), w.authorizers.want[name], nil, on.Changed)
			if err != nil {
				return err
			}
			in := &sdk.CreateAuthorizerInput{ApiId: &w.live.id, Name: &name, AuthorizerType: a.kind(), IdentitySource: said(a.IdentitySources)}
			if a.Issuer != "" {
				in.JwtConfiguration = a.tokens()
			} else {
				in.AuthorizerUri, in.AuthorizerPayloadFormatVersion = new(invoking(w.live.place.Region, a.Lambda)), a.PayloadFormat
				in.EnableSimpleResponses, in.AuthorizerCredentialsArn = &a.SimpleResponses, aws.OrNil(string(a.Credentials))
				in.AuthorizerResultTtlInSeconds = new(int32(a.CacheTTL / time.Second))
			}
			out, err := client.CreateAuthorizer(ctx, in)
			if err == nil {
				w.names[name] = sdkaws.ToString(out.AuthorizerId)
			}
			return err
		})
	})
}

func (w *work) updateAuthorizers() *apiCall {
	return call("UpdateAuthorizer", func(ctx context.Context, client *sdk.Client, on reconcile.On[liveAPI]) error {
		return w.each(w.authorizers, on.Changed, func(name string) error {
			a, err := settled[Authorizer](w.authorizers.path(name), w.authorizers.want[name], w.authorizers.have[name], on.Changed)
			if err != nil {
				return err
			}
			in := &sdk.UpdateAuthorizerInput{
				ApiId: &w.live.id, AuthorizerId: new(w.names[name]), AuthorizerType: a.kind(), IdentitySource: said(a.IdentitySources),
			}
			if a.Issuer != "" {
				in.JwtConfiguration = a.tokens()
			} else {
				in.AuthorizerUri, in.AuthorizerPayloadFormatVersion = new(invoking(w.live.place.Region, a.Lambda)), a.PayloadFormat
				in.EnableSimpleResponses, in.AuthorizerResultTtlInSeconds = &a.SimpleResponses, new(int32(a.CacheTTL/time.Second))
				if touches(on.Changed, w.authorizers.path(name).Key("credentials")) {
					in.AuthorizerCredentialsArn = new(string(a.Credentials)) // empty text clears
				}
			}
			_, err = client.UpdateAuthorizer(ctx, in)
			return err
		})
	})
}

// deleteAuthorizers comes after the routes that name them were turned or deleted: API Gateway keeps one that is in use.
func (w *work) deleteAuthorizers() *apiCall {
	return call("DeleteAuthorizer", func(ctx context.Context, client *sdk.Client, on reconcile.On[liveAPI]) error {
		return w.each(w.authorizers, on.Changed, func(name string) error {
			_, err := client.DeleteAuthorizer(ctx, &sdk.DeleteAuthorizerInput{ApiId: &w.live.id, AuthorizerId: new(w.names[name])})
			if aws.IsAbsent(err) {
				return nil
			}
			return err
		})
	})
}

func (a Authorizer) kind() types.AuthorizerType {
	if a.Issuer != "" {
		return types.AuthorizerTypeJwt
	}
	return types.AuthorizerTypeRequest
}

func (a Authorizer) tokens() *types.JWTConfiguration {
	return &types.JWTConfiguration{Issuer: &a.Issuer, Audience: said(a.Audience)}
}
