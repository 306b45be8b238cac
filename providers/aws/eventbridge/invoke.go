package eventbridge

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
)

// Schedule calls a function again and again: it declares a rule on the default bus with the function as its target, and the
// permission for the rule to call it.
//
//	eventbridge.Schedule(s, "nightly", "cron(0 2 * * ? *)", fn)
func Schedule(s *athanor.Stack, name, when string, fn lambda.Function, opts ...athanor.Option) Rule {
	return invoke(s, name, RuleProps{ScheduleExpression: when}, fn, opts)
}

// On calls a function with the events of the default bus that match a pattern, a document or JSON text. Like [Schedule].
//
//	eventbridge.On(s, "stopped", map[string]any{"source": []string{"aws.ecs"}}, fn)
func On(s *athanor.Stack, name string, pattern any, fn lambda.Function, opts ...athanor.Option) Rule {
	return invoke(s, name, RuleProps{EventPattern: pattern}, fn, opts)
}

func invoke(s *athanor.Stack, name string, p RuleProps, fn lambda.Function, opts []athanor.Option) Rule {
	p.Targets = map[string]Target{"function": {ARN: fn.ARN}}
	rule := NewRule(s, name, p, opts...)
	fn.AllowInvoke(s, "events.amazonaws.com", rule.ARN)
	return rule
}
