// Package ssm offers parameters of the Parameter Store of AWS Systems Manager.
//
// It knows a parameter's value, type, tier and policies. It does not know the rest of Systems Manager, nor older versions
// of a parameter and their labels; how calls are made and judged is the business of package aws.
package ssm

import (
	"embed"
	"strings"
	"unsafe"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed parameter.go parameter_props.go
var source embed.FS

const parameterType = "aws.ssm.Parameter"

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds:    []reconcile.Any{reconcile.Erase(parameterKind)},
		Filters:  []string{"ssm:parameter"},
		Registry: map[string]string{"AWS::SSM::Parameter": parameterType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, _ := arn.Parse()
			rest, ok := strings.CutPrefix(p.Resource, "parameter/")
			return parameterType, string(arn), born(nameIn(rest)), ok && p.Service == "ssm"
		},
	}
}

// NewParameter declares a parameter.
func NewParameter(s *athanor.Stack, name string, p ParameterProps, opts ...athanor.Option) Parameter {
	return athanor.Declare(s, parameterKind, name, p, opts...)
}

// ReadParameter uses a parameter that the stack does not own: by its name or ARN, or by ParameterProps that name it.
func ReadParameter(s *athanor.Stack, name string, by any) Parameter {
	return athanor.Read(s, parameterKind, name, by)
}

func clientOf(cloud reconcile.Cloud) (*sdk.Client, error) {
	p, err := aws.Client(cloud, sdk.ServiceID, func(cfg sdkaws.Config) unsafe.Pointer { return unsafe.Pointer(sdk.NewFromConfig(cfg)) })
	return (*sdk.Client)(p), err
}
