// Package secretsmanager offers secrets of AWS Secrets Manager.
//
// It knows a secret's value, how one is made up, its rotation, copies and policy, and that a deleted secret can be
// restored for a while. It does not know rotation functions, nor older versions of a value; how calls are made and
// judged is the business of package aws.
package secretsmanager

import (
	"embed"
	"strings"
	"unsafe"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed secret.go secret_props.go
var source embed.FS

const secretType = "aws.secretsmanager.Secret"

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds:   []reconcile.Any{reconcile.Erase(secretKind)},
		Filters: []string{"secretsmanager:secret"},
		Registry: map[string]string{
			"AWS::SecretsManager::Secret": secretType, "AWS::SecretsManager::ResourcePolicy": secretType,
			"AWS::SecretsManager::RotationSchedule": secretType,
		},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, _ := arn.Parse()
			return secretType, string(arn), nameOf(arn), p.Service == "secretsmanager" && strings.HasPrefix(p.Resource, "secret:")
		},
	}
}

// NewSecret declares a secret.
func NewSecret(s *athanor.Stack, name string, p SecretProps, opts ...athanor.Option) Secret {
	return athanor.Declare(s, secretKind, name, p, opts...)
}

// ReadSecret uses a secret that the stack does not own: by its name or ARN, or by SecretProps that name it. Its value is
// not read.
func ReadSecret(s *athanor.Stack, name string, by any) Secret {
	return athanor.Read(s, secretKind, name, by)
}

func clientOf(cloud reconcile.Cloud) (*sdk.Client, error) {
	p, err := aws.Client(cloud, sdk.ServiceID, func(cfg sdkaws.Config) unsafe.Pointer { return unsafe.Pointer(sdk.NewFromConfig(cfg)) })
	return (*sdk.Client)(p), err
}
