package awstest_test

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// TestGateway: what moto lacks of API Gateway is there, and counted like other calls.
func TestGateway(t *testing.T) {
	cloud := awstest.Start(t)
	c, ctx := sdk.NewFromConfig(cloud.ObservedConfig(t)), t.Context()
	api, err := c.CreateApi(ctx, &sdk.CreateApiInput{Name: new("api"), ProtocolType: types.ProtocolTypeHttp})
	if err != nil {
		t.Fatal(err)
	}
	other, err := c.CreateApi(ctx, &sdk.CreateApiInput{Name: new("other"), ProtocolType: types.ProtocolTypeHttp})
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.CreateAuthorizer(ctx, &sdk.CreateAuthorizerInput{
		ApiId: api.ApiId, Name: new("who"), AuthorizerType: types.AuthorizerTypeJwt, IdentitySource: []string{"$request.header.Authorization"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[*string]int{api.ApiId: 1, other.ApiId: 0} {
		if out, err := c.GetAuthorizers(ctx, &sdk.GetAuthorizersInput{ApiId: id}); err != nil || len(out.Items) != want {
			t.Errorf("authorizers: %+v, %v, want %d", out, err, want)
		}
	}
	if _, err := c.DeleteAuthorizer(ctx, &sdk.DeleteAuthorizerInput{ApiId: api.ApiId, AuthorizerId: made.AuthorizerId}); err != nil {
		t.Fatal(err)
	}
	if out, err := c.GetAuthorizers(ctx, &sdk.GetAuthorizersInput{ApiId: api.ApiId}); err != nil || len(out.Items) != 0 {
		t.Errorf("authorizers after the deletion: %+v, %v", out, err)
	}
	if _, err := c.GetAuthorizers(ctx, &sdk.GetAuthorizersInput{ApiId: new("nothing")}); err == nil {
		t.Error("authorizers of no API")
	}
	cloud.Reset()
	stage(t, c, *api.ApiId)
	if n := len(cloud.Mutations()); n != 4 {
		t.Errorf("%d changes are counted, want 4", n)
	}
}

// stage makes a stage and changes it thrice.
func stage(t *testing.T, c *sdk.Client, api string) {
	t.Helper()
	ctx, name := t.Context(), new("$default")
	steps := []func() error{
		func() error {
			_, err := c.CreateStage(ctx, &sdk.CreateStageInput{
				ApiId: &api, StageName: name, Description: new("old"), StageVariables: map[string]string{"a": "1", "b": "2"},
				AccessLogSettings: &types.AccessLogSettings{DestinationArn: new("arn"), Format: new("f")},
				RouteSettings:     map[string]types.RouteSettings{"GET /": {DetailedMetricsEnabled: new(true)}, "$default": {DetailedMetricsEnabled: new(true)}},
			})
			return err
		},
		func() error {
			_, err := c.UpdateStage(ctx, &sdk.UpdateStageInput{
				ApiId: &api, StageName: name, Description: new("new"), StageVariables: map[string]string{"a": "", "c": "3"},
				RouteSettings: map[string]types.RouteSettings{"PUT /": {DetailedMetricsEnabled: new(true)}},
			})
			return err
		},
		func() error {
			_, err := c.DeleteRouteSettings(ctx, &sdk.DeleteRouteSettingsInput{ApiId: &api, StageName: name, RouteKey: new("GET /")})
			return err
		},
		func() error {
			_, err := c.DeleteAccessLogSettings(ctx, &sdk.DeleteAccessLogSettingsInput{ApiId: &api, StageName: name})
			return err
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.GetStage(ctx, &sdk.GetStageInput{ApiId: &api, StageName: name})
	if err != nil || *s.Description != "new" || s.AccessLogSettings != nil || len(s.StageVariables) != 2 || s.StageVariables["a"] != "" || len(s.RouteSettings) != 2 {
		t.Errorf("stage %+v, %v", s, err)
	}
}
