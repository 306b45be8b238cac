// Package apigatewayv2 offers HTTP APIs of Amazon API Gateway.
//
// It knows an API as one thing with its routes, what they lead to, its authorizers and its stages: which of them must be
// there before others, what has to go after them, and how integrations are shared; and custom domains, which are a thing of
// their own, since several APIs share one. It does not know WebSocket and REST APIs, nor what functions are: their policies are the business of package lambda.
package apigatewayv2

import (
	"embed"
	"strings"
	"unsafe"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed httpapi.go httpapi_props.go stage_props.go domain.go domain_props.go
var source embed.FS

const (
	apiType    = "aws.apigatewayv2.HTTPAPI"
	domainType = "aws.apigatewayv2.DomainName"
)

// Service is what this package offers. The other types of the registry stay usable: a WebSocket API is an
// AWS::ApiGatewayV2::Api with routes, integrations, stages and mappings of their own.
func Service() aws.Service {
	return aws.Service{
		Kinds:   []reconcile.Any{reconcile.Erase(apiKind), reconcile.Erase(domainKind)},
		Filters: []string{"apigateway"},

		Registry: map[string]string{"AWS::ApiGatewayV2::DomainName": domainType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			if id, ok := apiOf(arn); ok {
				return apiType, id, "", true
			}
			name, ok = domainOf(arn)
			return domainType, name, name, ok
		},
	}
}

// apiOf is the identity of an API in its ARN; those of its stages and REST APIs are not meant.
func apiOf(arn aws.ARN) (id string, ok bool) {
	p, ok := arn.Parse()
	id, under := strings.CutPrefix(p.Resource, "/apis/")
	return id, ok && p.Service == "apigateway" && under && id != "" && !strings.Contains(id, "/")
}

// domainOf is the name of a custom domain in its ARN. One for REST APIs alone has the same.
func domainOf(arn aws.ARN) (name string, ok bool) {
	p, ok := arn.Parse()
	name, under := strings.CutPrefix(p.Resource, domainPath)
	return name, ok && p.Service == "apigateway" && under && name != "" && !strings.Contains(name, "/")
}

func clientOf(cloud reconcile.Cloud) (*sdk.Client, error) {
	p, err := aws.Client(cloud, sdk.ServiceID, func(cfg sdkaws.Config) unsafe.Pointer { return unsafe.Pointer(sdk.NewFromConfig(cfg)) })
	return (*sdk.Client)(p), err
}
