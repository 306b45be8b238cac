// Package lambda offers functions of AWS Lambda, with their code, URL, asynchronous calls and reserved concurrency; the
// statements of their resource policies; and the mappings of event sources to them.
//
// It knows how code is packed for Lambda, which call reads and sets each aspect of a function, when a function or a mapping
// is busy, and what a role needs for each event source. It does not know how archives, programs and bundles are made (package
// asset), how calls are made and judged (package aws), or what stands in a role (package iam).
package lambda

import (
	"embed"
	"strings"
	"unsafe"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed code.go function_props.go mapping_props.go permission_props.go
var source embed.FS

const (
	functionType   = "aws.lambda.Function"
	permissionType = "aws.lambda.Permission"
	mappingType    = "aws.lambda.EventSourceMapping"
)

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds:   []reconcile.Any{reconcile.Erase(functionKind), reconcile.Erase(permissionKind), reconcile.Erase(mappingKind)},
		Filters: []string{"lambda"},
		Registry: map[string]string{
			"AWS::Lambda::Function": functionType, "AWS::Lambda::Url": functionType, "AWS::Lambda::EventInvokeConfig": functionType,
			"AWS::Lambda::Permission": permissionType, "AWS::Lambda::EventSourceMapping": mappingType,
		},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, ok := arn.Parse()
			what, name, _ := strings.Cut(p.Resource, ":")
			switch {
			case !ok || p.Service != "lambda" || strings.Contains(name, ":"): // a version or an alias
				return "", "", "", false
			case what == "function":
				return functionType, string(arn), name, true
			case what == "event-source-mapping":
				return mappingType, string(arn), "", true
			}
			return "", "", "", false
		},
	}
}

func clientOf(cloud reconcile.Cloud) (*sdk.Client, error) {
	p, err := aws.Client(cloud, sdk.ServiceID, func(cfg sdkaws.Config) unsafe.Pointer { return unsafe.Pointer(sdk.NewFromConfig(cfg)) })
	return (*sdk.Client)(p), err
}
