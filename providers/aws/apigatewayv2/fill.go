package apigatewayv2

import (
	"context"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/providers/aws"
)

// fill asks for what routes use and the listings do not show: API Gateway keeps what is in use, so that a listing that lacks
// it is late.
func fill(ctx context.Context, client *sdk.Client, live *liveAPI) error {
	integrations, authorizers := map[string]bool{"": true}, map[string]bool{"": true}
	for _, i := range live.integrations {
		integrations[sdkaws.ToString(i.IntegrationId)] = true
	}
	for _, a := range live.authorizers {
		authorizers[sdkaws.ToString(a.AuthorizerId)] = true
	}
	for _, r := range live.routes {
		if id := target(r); !integrations[id] {
			integrations[id] = true
			out, err := client.GetIntegration(ctx, &sdk.GetIntegrationInput{ApiId: &live.id, IntegrationId: &id})
			if err == nil {
				live.integrations = append(live.integrations, shownIntegration(out))
			} else if !aws.IsAbsent(err) {
				return err
			}
		}
		if id := sdkaws.ToString(r.AuthorizerId); !authorizers[id] {
			authorizers[id] = true
			out, err := client.GetAuthorizer(ctx, &sdk.GetAuthorizerInput{ApiId: &live.id, AuthorizerId: &id})
			if err == nil {
				live.authorizers = append(live.authorizers, shownAuthorizer(out))
			} else if !aws.IsAbsent(err) {
				return err
			}
		}
	}
	return nil
}

func shownIntegration(out *sdk.GetIntegrationOutput) types.Integration {
	return types.Integration{
		ConnectionId: out.ConnectionId, ConnectionType: out.ConnectionType, CredentialsArn: out.CredentialsArn, Description: out.Description,
		IntegrationId: out.IntegrationId, IntegrationMethod: out.IntegrationMethod, IntegrationSubtype: out.IntegrationSubtype,
		IntegrationType: out.IntegrationType, IntegrationUri: out.IntegrationUri, PayloadFormatVersion: out.PayloadFormatVersion,
		RequestParameters: out.RequestParameters, ResponseParameters: out.ResponseParameters, TimeoutInMillis: out.TimeoutInMillis,
		TlsConfig: out.TlsConfig,
	}
}

func shownAuthorizer(out *sdk.GetAuthorizerOutput) types.Authorizer {
	return types.Authorizer{
		AuthorizerCredentialsArn: out.AuthorizerCredentialsArn, AuthorizerId: out.AuthorizerId, AuthorizerUri: out.AuthorizerUri,
		AuthorizerPayloadFormatVersion: out.AuthorizerPayloadFormatVersion, AuthorizerResultTtlInSeconds: out.AuthorizerResultTtlInSeconds,
		AuthorizerType: out.AuthorizerType, EnableSimpleResponses: out.EnableSimpleResponses, IdentitySource: out.IdentitySource,
		JwtConfiguration: out.JwtConfiguration, Name: out.Name,
	}
}
