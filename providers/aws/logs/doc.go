// Package logs offers log groups of Amazon CloudWatch Logs, and reads what is in them.
//
// It knows a group's settings, its policies and its events. It does not know streams, metric filters, subscriptions and
// transformers, which are things of their own; how calls are made and judged is the business of package aws.
package logs

import (
	"embed"
	"strings"
	"unsafe"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed group.go group_props.go
var source embed.FS

const groupType = "aws.logs.LogGroup"

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds:    []reconcile.Any{reconcile.Erase(groupKind)},
		Filters:  []string{"logs"},
		Registry: map[string]string{"AWS::Logs::LogGroup": groupType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, _ := arn.Parse()
			name, ok = strings.CutPrefix(p.Resource, "log-group:")
			name = strings.TrimSuffix(name, ":*")
			ok = ok && p.Service == "logs" && !strings.Contains(name, ":")
			p.Resource = "log-group:" + name
			return groupType, string(p.ARN()), name, ok
		},
	}
}

// NewLogGroup declares a log group.
func NewLogGroup(s *athanor.Stack, name string, p LogGroupProps, opts ...athanor.Option) LogGroup {
	return athanor.Declare(s, groupKind, name, p, opts...)
}

// ReadLogGroup uses a log group that the stack does not own: by its name or ARN, or by LogGroupProps that name it.
func ReadLogGroup(s *athanor.Stack, name string, by any) LogGroup {
	return athanor.Read(s, groupKind, name, by)
}

func clientOf(cloud reconcile.Cloud) (*sdk.Client, error) {
	p, err := aws.Client(cloud, sdk.ServiceID, func(cfg sdkaws.Config) unsafe.Pointer { return unsafe.Pointer(sdk.NewFromConfig(cfg)) })
	return (*sdk.Client)(p), err
}
