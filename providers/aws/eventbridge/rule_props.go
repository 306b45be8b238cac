package eventbridge

import "github.com/athanor-dev/athanor/providers/aws"

// RuleProps declare a rule. Defaults and limits are those of
// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html and
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html
type RuleProps struct {
	// Name of the rule: up to 64 letters, digits, -, _ and dots. Default: none, a name is generated. Changing it replaces
	// the rule.
	Name string
	// EventBusName is the bus whose events are matched: its name or its ARN. Default: none, the account's default bus.
	// Changing it replaces the rule.
	EventBusName string
	// EventPattern is the shape of the events that match: a document, or JSON text. The order of alternatives does not
	// count. Default: none; a rule has a pattern, a schedule or both.
	EventPattern any
	// ScheduleExpression is when the rule matches by itself: rate(5 minutes), or cron(0 12 * * ? *) in UTC. On the
	// default bus alone. Default: none.
	ScheduleExpression string
	// Description of the rule, up to 512 characters. Default: none.
	Description string
	// State says whether it matches at all. The last one lets it match events of CloudTrail that only read. Default:
	// ENABLED.
	State *string `prop:"enum=ENABLED|DISABLED|ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS"`
	// RoleARN is the role of the rule, for targets that have none of their own. Whoever sets it needs iam:PassRole on it.
	// Default: none.
	RoleARN aws.ARN
	// Targets get what matches, by a name of up to 64 letters, digits, -, _ and dots that is unique in the rule. They are
	// managed whole: others that somebody adds go. A quota allows five, and more when asked for. Default: none.
	Targets map[string]Target
	// Tags of the rule, beside the marks of ownership. Default: none.
	Tags map[string]string
}

// Rule is what others may refer to of a rule.
type Rule struct {
	// ARN of the rule, for the policies of its targets: they allow events.amazonaws.com with this as aws:SourceArn.
	ARN aws.ARN
	// Name of the rule.
	Name string
	// EventBusName is the name of its bus, "default" for the account's own.
	EventBusName string
}
