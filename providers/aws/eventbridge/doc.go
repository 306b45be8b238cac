// Package eventbridge offers rules of Amazon EventBridge with their targets, and the buses that they are on.
//
// It knows when a rule matches, on a schedule or by the shape of events, what it hands to whom, and who may send to a bus. It does not know
// schedules of EventBridge Scheduler, which is a service of its own, nor what the targets must allow; how calls
// are made and judged is the business of package aws.
package eventbridge

import (
	"embed"
	"strings"
	"unsafe"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed bus.go bus_props.go rule.go rule_props.go target_props.go
var source embed.FS

const (
	busType  = "aws.eventbridge.EventBus"
	ruleType = "aws.eventbridge.Rule"
)

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds:    []reconcile.Any{reconcile.Erase(busKind), reconcile.Erase(ruleKind)},
		Filters:  []string{"events:event-bus", "events:rule"},
		Registry: map[string]string{"AWS::Events::EventBus": busType, "AWS::Events::EventBusPolicy": busType, "AWS::Events::Rule": ruleType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, ok := arn.Parse()
			what, rest, _ := strings.Cut(p.Resource, "/")
			kind, is := map[string]string{"event-bus": busType, "rule": ruleType}[what]
			return kind, string(arn), rest[strings.LastIndexByte(rest, '/')+1:], ok && is && p.Service == "events"
		},
	}
}

// NewEventBus declares a bus.
func NewEventBus(s *athanor.Stack, name string, p EventBusProps, opts ...athanor.Option) EventBus {
	return athanor.Declare(s, busKind, name, p, opts...)
}

// ReadEventBus uses a bus that the stack does not own, such as the account's default one: by its ARN, or by EventBusProps
// that name it.
func ReadEventBus(s *athanor.Stack, name string, by any) EventBus {
	return athanor.Read(s, busKind, name, by)
}

// NewRule declares a rule with its targets.
func NewRule(s *athanor.Stack, name string, p RuleProps, opts ...athanor.Option) Rule {
	return athanor.Declare(s, ruleKind, name, p, opts...)
}

// ReadRule uses a rule that the stack does not own: by its ARN, or by RuleProps that name it.
func ReadRule(s *athanor.Stack, name string, by any) Rule {
	return athanor.Read(s, ruleKind, name, by)
}

func clientOf(cloud reconcile.Cloud) (*sdk.Client, error) {
	p, err := aws.Client(cloud, sdk.ServiceID, func(cfg sdkaws.Config) unsafe.Pointer { return unsafe.Pointer(sdk.NewFromConfig(cfg)) })
	return (*sdk.Client)(p), err
}
