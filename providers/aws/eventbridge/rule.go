package eventbridge

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveRule is a rule as it was seen, in the shape of its props.
type liveRule struct {
	arn  aws.ARN
	have RuleProps
	// tags are all of them: the author's, the mark, and those of AWS.
	tags map[string]string
}

type (
	ruleSite = reconcile.Site[RuleProps, Rule]
	ruleDiff = reconcile.Diff[liveRule]
	ruleOn   = reconcile.On[liveRule]
)

var ruleKind = &reconcile.Kind[RuleProps, liveRule, Rule]{
	Type: ruleType,
	Doc: "A rule of Amazon EventBridge, by pattern or by schedule, with all its targets and tags. What a target must " +
		"allow (the policy of a function, a queue or a topic) is not managed here, and neither are rules that a service of " +
		"AWS made for itself.",

	Observe: observeRule,
	Create:  createRule,
	Compare: compareRule,
	Attrs: func(live liveRule) Rule {
		return Rule{ARN: live.arn, Name: live.have.Name, EventBusName: busName(live.have.EventBusName)}
	},
	Delete:   deleteRule,
	Identity: func(r Rule) string { return string(r.ARN) },

	Naming:   func(RuleProps, reconcile.Place) reconcile.Naming { return reconcile.Naming{Max: 64, Allowed: nameRune} },
	Given:    func(want RuleProps) string { return want.Name },
	Defaults: ruleDefaults,
	Check:    checkRule,
	Late:     []tree.Path{"targets", "roleArn"},
	AtBirth:  []string{"arn", "name", "eventBusName"},

	Owner: func(live liveRule) reconcile.Mark { return adopt.MarkOf(live.tags) },
	List:  listRules,

	Source: source,
	Calls: []string{
		"EventBridge.PutRule", "EventBridge.DescribeRule", "EventBridge.DeleteRule", "EventBridge.ListRules", "EventBridge.ListEventBuses",
		"EventBridge.PutTargets", "EventBridge.RemoveTargets", "EventBridge.ListTargetsByRule",
		"EventBridge.ListTagsForResource", "EventBridge.TagResource", "EventBridge.UntagResource",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"events:DescribeRule", "events:ListTargetsByRule", "events:ListTagsForResource"},
		List:    []string{"events:ListRules", "events:ListEventBuses"},
		Create:  []string{"events:PutRule", "events:PutTargets", "events:TagResource"},
		Update:  []string{"events:PutRule", "events:PutTargets", "events:RemoveTargets", "events:TagResource", "events:UntagResource"},
		Delete:  []string{"events:RemoveTargets", "events:DeleteRule"},
		Resource: func(place reconcile.Place, name string) []string {
			// Rules of other buses are named below their bus.
			return []string{string(ruleARN(place, defaultBus, name)), string(ruleARN(place, "*", name))}
		},
		Anywhere: []string{"events:ListRules", "events:ListEventBuses"},
		Passes:   map[string][]tree.Path{"iam:PassRole": {"roleArn", "targets.*.roleArn"}},
	},
}

const defaultBus = "default"

// busName is the name of a bus that is given by its name, by its ARN, or not at all.
func busName(bus string) string {
	if bus == "" {
		return defaultBus
	}
	return bus[strings.LastIndexByte(bus, '/')+1:]
}

// ruleARN is how EventBridge names a rule.
func ruleARN(place reconcile.Place, bus, name string) aws.ARN {
	if bus != defaultBus {
		name = bus + "/" + name
	}
	return aws.ARNIn(place, "events", "rule/"+name)
}

func nameRune(r rune) bool {
	return r == '-' || r == '_' || r == '.' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func ruleDefaults(want RuleProps) RuleProps {
	aws.OrDefault(&want.State, "ENABLED")
	want.Targets = maps.Clone(want.Targets)
	for id, t := range want.Targets {
		if t.ECSParameters != nil {
			ecs := *t.ECSParameters
			aws.OrDefault(&ecs.TaskCount, 1)
			t.ECSParameters = &ecs
			want.Targets[id] = t
		}
	}
	return want
}

var schedule = props.Pattern(`^(rate|cron)\(.+\)$`)

// checkRule finds what EventBridge would refuse.
func checkRule(want RuleProps) error {
	problems := aws.CheckTags(want.Tags)
	wrong := problems.Wrong
	const shape = "want up to 64 letters, digits, -, _ and dots"
	if want.Name != "" && !validName(want.Name) {
		wrong("name", shape)
	}
	when := want.ScheduleExpression
	if (want.EventPattern == nil || want.EventPattern == "") && when == "" {
		wrong("eventPattern", "a rule needs an eventPattern, a scheduleExpression or both")
	}
	if when != "" && !token.Has(when) && !schedule().MatchString(when) {
		wrong("scheduleExpression", "want rate(…) or cron(…)")
	}
	if bus := want.EventBusName; when != "" && !token.Has(bus) && busName(bus) != defaultBus {
		wrong("scheduleExpression", "schedules are for the default bus alone")
	}
	for _, id := range slices.Sorted(maps.Keys(want.Targets)) {
		path := tree.Path("targets").Key(id)
		if !validName(id) {
			wrong(path, shape)
		}
		checkTarget(path, want.Targets[id], wrong)
	}
	return problems.OrNil()
}

func validName(name string) bool {
	return token.Has(name) || name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool { return !nameRune(r) })
}

func checkTarget(path tree.Path, t Target, wrong func(tree.Path, string)) {
	ways := 0
	for _, is := range []bool{t.Input != nil, t.InputPath != "", t.InputTransformer != nil} {
		if is {
			ways++
		}
	}
	if ways > 1 {
		wrong(path, "want one of input, inputPath and inputTransformer")
	}
	if r := t.RetryPolicy; r != nil && r.MaximumEventAge != nil && *r.MaximumEventAge%time.Second != 0 {
		wrong(path.Key("retryPolicy").Key("maximumEventAge"), "want whole seconds")
	}
	if ecs := t.ECSParameters; ecs != nil && ecs.LaunchType != "" && len(ecs.CapacityProviderStrategy) > 0 {
		wrong(path.Key("ecsParameters").Key("launchType"), "want either a launch type or a capacityProviderStrategy")
	}
	if run := t.RunCommandParameters; run != nil && len(run.RunCommandTargets) == 0 {
		wrong(path.Key("runCommandParameters").Key("runCommandTargets"), "want instances, by a tag or by their ids")
	}
	if sql := t.RedshiftDataParameters; sql != nil && (sql.SQL == "") == (len(sql.SQLs) == 0) {
		wrong(path.Key("redshiftDataParameters").Key("sql"), "want either sql or sqls")
	}
}
