// Package eventbridge offers rules of Amazon EventBridge with their targets.
//
// It knows when a rule matches, on a schedule or by the shape of events, and what it hands to whom. It does not know
// schedules of EventBridge Scheduler, which is a service of its own, nor what the targets must allow; how calls
// are made and judged is the business of package aws.
package eventbridge

import (
	"embed"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed rule.go rule_props.go target_props.go
var source embed.FS

const ruleType = "aws.eventbridge.Rule"

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds:    []reconcile.Any{reconcile.Erase(ruleKind)},
		Filters:  []string{"events:rule"},
		Registry: map[string]string{"AWS::Events::Rule": ruleType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, ok := arn.Parse()
			rest, is := strings.CutPrefix(p.Resource, "rule/")
			return ruleType, string(arn), rest[strings.LastIndexByte(rest, '/')+1:], ok && is && p.Service == "events"
		},
	}
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
	return aws.Client(cloud, func(cfg sdkaws.Config) *sdk.Client { return sdk.NewFromConfig(cfg) })
}
