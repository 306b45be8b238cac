package apigatewayv2

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestGolden has the members of https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/apis.html and of
// domainnames.html beside it that go as they are declared: CORS counts seconds.
func TestGolden(t *testing.T) {
	awstest.GoldenStruct(t, apiTable, obj{
		"name": "items", "description": "Items for all", "version": "v1", "disableExecuteApiEndpoint": true, "ipAddressType": "dualstack",
		"cors": obj{
			"allowOrigins": list{"https://a.example.com"}, "allowMethods": list{"GET"}, "allowHeaders": list{"x-a"}, "exposeHeaders": list{"x-b"},
			"allowCredentials": true, "maxAge": "1h",
		},
	}, &sdk.CreateApiInput{
		Name: new("items"), Description: new("Items for all"), Version: new("v1"), DisableExecuteApiEndpoint: new(true),
		IpAddressType: types.IpAddressTypeDualstack, CorsConfiguration: &types.Cors{
			AllowOrigins: []string{"https://a.example.com"}, AllowMethods: []string{"GET"}, AllowHeaders: []string{"x-a"}, ExposeHeaders: []string{"x-b"},
			AllowCredentials: new(true), MaxAge: new(int32(3600)),
		},
	})
	awstest.GoldenStruct(t, apiTable, obj{}, &sdk.CreateApiInput{DisableExecuteApiEndpoint: new(false), IpAddressType: types.IpAddressTypeIpv4})
	awstest.GoldenStruct(t, domainTable, obj{
		"name": "api.example.com", "certificateArn": certificate("one"), "ownershipVerificationCertificateArn": certificate("public"),
		"securityPolicy": "TLS_1_0", "ipAddressType": "dualstack", "routingMode": "ROUTING_RULE_ONLY",
		"mutualTls": obj{"truststoreUri": "s3://trust/store.pem", "truststoreVersion": "3"},
	}, &domainWire{
		DomainNameConfiguration: types.DomainNameConfiguration{
			CertificateArn: new(certificate("one")), OwnershipVerificationCertificateArn: new(certificate("public")),
			SecurityPolicy: types.SecurityPolicyTls10, IpAddressType: types.IpAddressTypeDualstack,
		},
		UpdateDomainNameInput: sdk.UpdateDomainNameInput{
			MutualTlsAuthentication: &types.MutualTlsAuthenticationInput{
				TruststoreUri: new("s3://trust/store.pem"), TruststoreVersion: new("3"),
			},
			RoutingMode: types.RoutingModeRoutingRuleOnly,
		},
	})
	awstest.GoldenStruct(t, domainTable, served(), &domainWire{
		DomainNameConfiguration: types.DomainNameConfiguration{
			CertificateArn: new(certificate("one")), SecurityPolicy: types.SecurityPolicyTls12, IpAddressType: types.IpAddressTypeIpv4,
		},
		UpdateDomainNameInput: sdk.UpdateDomainNameInput{RoutingMode: types.RoutingModeApiMappingOnly},
	})
}

// TestGoldenContents has whole bodies of what is in an API, of
// https://docs.aws.amazon.com/apigatewayv2/latest/api-reference/: apis-apiid-integrations.html, whose timeout counts
// milliseconds, apis-apiid-authorizers.html, whose lifetime of answers counts seconds, and apis-apiid-stages.html.
func TestGoldenContents(t *testing.T) {
	integrations := map[string]obj{
		"$default": {
			"integrationType": "AWS_PROXY", "connectionType": "INTERNET", "integrationUri": function("items"), "payloadFormatVersion": "2.0",
			"timeoutInMillis": 30000,
		},
		"GET /items": {
			"integrationType": "AWS_PROXY", "connectionType": "INTERNET", "integrationUri": function("old"), "payloadFormatVersion": "1.0",
			"timeoutInMillis": 10000, "credentialsArn": "arn:aws:iam::*:user/*", "description": "the old one",
		},
		"POST /items": {
			"integrationType": "AWS_PROXY", "connectionType": "INTERNET", "integrationSubtype": "SQS-SendMessage", "payloadFormatVersion": "1.0",
			"timeoutInMillis": 30000, "credentialsArn": role("sender"), "requestParameters": leading()["POST /items"].(obj)["parameters"],
		},
		"ANY /web/{proxy+}": {
			"integrationType": "HTTP_PROXY", "connectionType": "INTERNET", "integrationUri": "https://example.com/{proxy}", "integrationMethod": "GET",
			"payloadFormatVersion": "1.0", "timeoutInMillis": 30000, "requestParameters": obj{"append:header.x-stage": "$context.stage"},
			"responseParameters": obj{"404": obj{"overwrite:statuscode": "200"}, "500": obj{"remove:header.server": "''"}},
		},
		"ANY /inside": {
			"integrationType": "HTTP_PROXY", "connectionType": "VPC_LINK", "connectionId": "l1nk", "integrationMethod": "ANY",
			"integrationUri":       "arn:aws:elasticloadbalancing:us-east-1:" + account + ":listener/app/web/1/2",
			"payloadFormatVersion": "1.0", "timeoutInMillis": 30000, "tlsConfig": obj{"serverNameToVerify": "inside.example.com"},
		},
	}
	authorizers := map[string]obj{
		"people": {
			"authorizerType": "JWT", "identitySource": list{"$request.querystring.token"},
			"jwtConfiguration": obj{"issuer": "https://login.example.com/", "audience": list{"web", "app"}},
		},
		"asked": {
			"authorizerType": "REQUEST", "identitySource": list{"$request.header.A", "$request.header.B"}, "enableSimpleResponses": true,
			"authorizerUri":            "arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/" + function("ask") + "/invocations",
			"authorizerCredentialsArn": role("asker"), "authorizerPayloadFormatVersion": "2.0", "authorizerResultTtlInSeconds": 300,
		},
		"plain": {
			"authorizerType": "REQUEST", "identitySource": list{}, "enableSimpleResponses": false,
			"authorizerUri":                  "arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/" + function("ask") + "/invocations",
			"authorizerPayloadFormatVersion": "1.0", "authorizerResultTtlInSeconds": 0,
		},
	}
	stages := map[string]obj{
		"$default": {
			"autoDeploy": true, "stageVariables": obj{"color": "blue"},
			"accessLogSettings":    obj{"destinationArn": group("access"), "format": "$context.requestId $context.status"},
			"defaultRouteSettings": obj{"detailedMetricsEnabled": true, "throttlingRateLimit": 100, "throttlingBurstLimit": 200},
			"routeSettings": obj{
				"GET /items":  obj{"detailedMetricsEnabled": true, "throttlingRateLimit": 10, "throttlingBurstLimit": 20},
				"POST /items": obj{"detailedMetricsEnabled": true},
			},
		},
		"beta": {"autoDeploy": false, "description": "what comes", "defaultRouteSettings": obj{"detailedMetricsEnabled": false}},
	}
	p := apiDefaults(kindtest.PropsOf(t, apiTable, tuned()))
	for key, want := range integrations {
		in, err := p.Routes[key].integration()
		golden(t, key, in, err, want)
	}
	for name, want := range authorizers {
		in := &sdk.CreateAuthorizerInput{}
		golden(t, name, in, p.Authorizers[name].into(in, kind.Location{Region: "us-east-1"}), want)
	}
	for name, want := range stages {
		in := &sdk.CreateStageInput{}
		golden(t, name, in, p.Stages[name].into(in), want)
	}
}

// golden compares what is sent with a body of the documentation. What is read back, the checks of the suite compare.
func golden(t *testing.T, of string, sent any, err error, body obj) {
	t.Helper()
	awstest.ConformStruct(t, sent)
	want, wrong := tree.Of(body)
	if have := plain(sent); err != nil || wrong != nil || !tree.Equal(have, want) {
		t.Errorf("%s sends\n%s\nand the documentation says\n%s (%v)", of, tree.Canonical(have), tree.Canonical(want), err)
	}
}
