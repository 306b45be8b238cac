// Package eventbridge offers rules of Amazon EventBridge with their targets, and the buses that they are on.
//
// It knows when a rule matches, on a schedule or by the shape of events, what it hands to whom, and who may send to a bus. It does not know
// schedules of EventBridge Scheduler, which is a service of its own, nor what the targets must allow; how calls
// are made and judged is the business of package aws.
package eventbridge

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed bus.go rule.go target_props.go
var source embed.FS

const (
	busType  = "aws.eventbridge.EventBus"
	ruleType = "aws.eventbridge.Rule"
)

// Service is what this package offers.
func Service() aws.Service {
	return aws.Service{
		Kinds:    []reconcile.Any{busKind.Erase(), ruleKind.Erase()},
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

// RuleProps declare a rule. Defaults and limits are those of
// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html and
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html
type RuleProps struct {
	// Name of the rule: up to 64 letters, digits, -, _ and dots. Default: none, a name is generated. Changing it replaces
	// the rule.
	Name string
	// EventBusName is the bus whose events are matched: its name or its ARN. Default: none, the account's default bus.
	EventBusName string `prop:"immutable,maxlen=1600" wire:"-,bus"`
	// EventPattern is the shape of the events that match: a document, or JSON text. The order of alternatives does not
	// count. Default: none; a rule has a pattern, a schedule or both.
	EventPattern any `wire:"EventPattern,pattern"`
	// ScheduleExpression is when the rule matches by itself: rate(5 minutes), or cron(0 12 * * ? *) in UTC. On the
	// default bus alone. Default: none.
	ScheduleExpression string `prop:"maxlen=256" wire:"ScheduleExpression"`
	// Description of the rule, up to 512 characters. Default: none.
	Description string `prop:"maxlen=512" wire:"Description"`
	// State says whether it matches at all. The last one lets it match events of CloudTrail that only read.
	State *string `prop:"enum=ENABLED|DISABLED|ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS,default=ENABLED" wire:"State"`
	// RoleARN is the role of the rule, for targets that have none of their own. Setting it needs iam:PassRole on it.
	// Default: none.
	RoleARN aws.ARN `prop:"deferrable,maxlen=1600" wire:"RoleArn"`
	// Targets get what matches, by a name of up to 64 letters, digits, -, _ and dots that is unique in the rule. They are
	// managed whole: others that somebody adds are removed. A quota allows five, and more when asked for. Default: none.
	Targets map[string]Target `prop:"deferrable"`
	// Tags of the rule, beside the owner tags. Default: none.
	Tags map[string]string
}

// Rule is what others may refer to of a rule.
type Rule struct {
	// ARN of the rule, for the policies of its targets: they allow events.amazonaws.com with this as aws:SourceArn.
	ARN aws.ARN `attr:"early"`
	// Name of the rule.
	Name string `attr:"early"`
	// EventBusName is the name of its bus, "default" for the account's own.
	EventBusName string `attr:"early"`
}

// liveRule is an observed rule.
type liveRule struct {
	attrs Rule
	have  RuleProps
	tags  map[string]string
}

type ruleSite = kind.Site[RuleProps, Rule]

var errNoName = errors.New("a rule is found by its name, and there is none")

var ruleTable = kind.TableOf[RuleProps](
	kind.Codec{Name: "bus", Form: func(bus any) any {
		text, _ := bus.(string)
		if name := busName(text); name != defaultBus { // whichever way it is named
			return name
		}
		return nil
	}},
	kind.Codec{
		Name:  "pattern",
		Write: func(pattern any) (any, error) { return aws.DocumentText(pattern) },
		Form:  canonicalPattern,
	},
).For(kind.In(sdk.PutRuleInput{}), kind.Out(sdk.DescribeRuleOutput{}))

var ruleKind = &kind.Kind[RuleProps, liveRule, Rule]{
	Type: ruleType,
	Doc: "A rule of Amazon EventBridge, by pattern or by schedule, with all its targets and tags. What a target must " +
		"allow (the policy of a function, a queue or a topic) is not managed here, and neither are rules that a service of " +
		"AWS made for itself.",

	Observe:    aws.Together(ruleType, observeRule, observeRules),
	Create:     createRule,
	Compare:    compareRule,
	Attributes: func(live liveRule) Rule { return live.attrs },
	Delete:     deleteRule,
	Identity:   func(r Rule) string { return string(r.ARN) },

	Props:   ruleTable,
	Default: ruleDefaults,
	Check:   checkRule,
	Named: &kind.Named[RuleProps, liveRule]{
		Given: func(want RuleProps) string { return want.Name },
		Rule:  func(RuleProps) kind.NameRule { return nameRule(64) },
		Live:  func(live liveRule) string { return live.attrs.Name },
	},
	Owner: tagged(
		func(want RuleProps) map[string]string { return want.Tags },
		func(live liveRule) (map[string]string, aws.ARN) { return live.tags, live.attrs.ARN }),
	List: listRules,
	Bulk: aws.InBulk(observeRule, observeRules),

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("EventBridge", "events", source, kind.Permissions{
		Observe: []string{"DescribeRule", "ListRules", "ListTargetsByRule", "ListTagsForResource", "tag:GetResources"},
		List:    []string{"ListRules", "ListEventBuses"},
		Create:  []string{"PutRule", "PutTargets", "TagResource"},
		Update:  []string{"PutRule", "PutTargets", "RemoveTargets", "TagResource", "UntagResource"},
		Delete:  []string{"RemoveTargets", "DeleteRule"},
		Resource: func(location kind.Location, name string) []string {
			// Rules of other buses are named below their bus.
			return []string{string(ruleARN(location, defaultBus, name)), string(ruleARN(location, "*", name))}
		},
		Only: map[string][]tree.Path{"PutTargets": {"targets"}, "RemoveTargets": {"targets"}},
		Depends: []kind.Dependence{
			aws.PassRole("events.amazonaws.com", false, []string{"PutRule"}, "roleArn"),
			aws.PassRole("events.amazonaws.com", false, []string{"PutTargets"}, "targets.*.roleArn"),
		},
	}),
}

func clientOf(cloud kind.Cloud) *sdk.Client {
	return aws.ClientIn(cloud, sdk.ServiceID, sdk.NewFromConfig)
}

func nameRule(longest int) kind.NameRule { return kind.NameRule{Max: longest, Marks: "-_."} }

const defaultBus = "default"

// busName is the name of a bus that is given by its name, by its ARN, or not at all.
func busName(bus string) string {
	if bus == "" {
		return defaultBus
	}
	return bus[strings.LastIndexByte(bus, '/')+1:]
}

// ruleARN is how EventBridge names a rule.
func ruleARN(location kind.Location, bus, name string) aws.ARN {
	if bus != defaultBus {
		name = bus + "/" + name
	}
	return aws.ARNIn(location, "events", "rule/"+name)
}

// ruleDefaults has those of targets, which are elements of a map.
func ruleDefaults(want RuleProps) RuleProps {
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

// checkRule finds what EventBridge would refuse, beyond what the table says.
func checkRule(want RuleProps) error {
	var problems props.Errors
	wrong := problems.Wrong
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
		if problem := nameRule(64).Problem(id); problem != "" && !token.Has(id) {
			wrong(path, problem)
		}
		checkTarget(path, want.Targets[id], wrong)
	}
	return problems.OrNil()
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

// nameOf is the bus and the name by which a rule is looked for.
func nameOf(s ruleSite) (bus, name string, err error) {
	switch {
	case s.Last != nil:
		return s.Last.EventBusName, s.Last.Name, nil
	case s.ID != "":
		p, ok := aws.ARN(s.ID).Parse()
		if !ok {
			return busName(s.Want.EventBusName), s.ID, nil
		}
		bus, name, other := strings.Cut(strings.TrimPrefix(p.Resource, "rule/"), "/")
		if !other {
			bus, name = defaultBus, bus
		}
		if aws.ARN(s.ID) != ruleARN(s.Location, bus, name) {
			return "", "", aws.Foreign(s.ID, s.Location)
		}
		return bus, name, nil
	case s.Name != "":
		return busName(s.Want.EventBusName), s.Name, nil
	}
	return "", "", errNoName
}

func observeRule(ctx context.Context, s ruleSite) (live liveRule, err error) {
	bus, name, err := nameOf(s)
	if err != nil {
		return live, err
	}
	var out *sdk.DescribeRuleOutput
	var tags map[string]string
	var targets map[string]Target
	err = aws.ReadWith(ctx, aws.Stays(s), func(ctx context.Context) (err error) {
		out, err = clientOf(s.Cloud).DescribeRule(ctx, &sdk.DescribeRuleInput{Name: &name, EventBusName: &bus})
		return err
	}, func(ctx context.Context) (err error) {
		targets, err = readTargets(ctx, clientOf(s.Cloud), bus, name)
		return err
	}, func(ctx context.Context) (err error) {
		tags, err = readTags(ctx, s.Cloud, new(string(ruleARN(s.Location, bus, name))))
		return err
	})
	if err != nil {
		return live, err
	}
	live, err = ruleOf(bus, out)
	live.have.Targets, live.tags = targets, tags
	return live, err
}

// ruleOf is a rule as an answer shows it, with its targets.
func ruleOf(bus string, shown *sdk.DescribeRuleOutput) (live liveRule, err error) {
	live.attrs = Rule{ARN: aws.ARN(sdkaws.ToString(shown.Arn)), Name: sdkaws.ToString(shown.Name), EventBusName: bus}
	if live.have, err = ruleTable.Read(kind.Struct(shown)); err != nil {
		return live, err
	}
	live.have.EventBusName = bus
	return live, nil
}

// observeRules lists the rules of each bus, and reads the tags of all together. No call shows the targets of several rules.
func observeRules(ctx context.Context, all []ruleSite) ([]*aws.Answer[liveRule], error) {
	tags, err := aws.TagsTogether(ctx, all,
		func(r Rule) aws.ARN { return r.ARN }, func(want RuleProps) map[string]string { return want.Tags })
	if err != nil {
		return nil, err
	}
	client, listed, on := clientOf(all[0].Cloud), map[aws.ARN]*sdk.DescribeRuleOutput{}, map[string]int{}
	for _, s := range all {
		on[s.Last.EventBusName]++
	}
	for bus, most := range on {
		in := &sdk.ListRulesInput{EventBusName: &bus, Limit: new(int32(100))}
		next := func(in *sdk.ListRulesInput, out *sdk.ListRulesOutput) bool {
			in.NextToken = out.NextToken
			most--
			return in.NextToken != nil && most > 0 // else asking for each is cheaper
		}
		for page, err := range aws.Pages(ctx, client.ListRules, in, next) {
			if err != nil {
				return nil, err
			}
			for _, r := range page.Rules {
				listed[aws.ARN(sdkaws.ToString(r.Arn))] = &sdk.DescribeRuleOutput{
					Arn: r.Arn, Name: r.Name, Description: r.Description, EventBusName: r.EventBusName, EventPattern: r.EventPattern,
					ManagedBy: r.ManagedBy, RoleArn: r.RoleArn, ScheduleExpression: r.ScheduleExpression, State: r.State,
				}
			}
		}
	}
	skip := func(i int) bool { return tags[i] == nil || listed[all[i].Last.ARN] == nil }
	return aws.EachOf(ctx, all, skip, func(ctx context.Context, i int, s ruleSite) (liveRule, error) {
		live, err := ruleOf(s.Last.EventBusName, listed[s.Last.ARN])
		if err != nil {
			return live, err
		}
		live.tags = tags[i]
		live.have.Targets, err = readTargets(ctx, clientOf(s.Cloud), s.Last.EventBusName, s.Last.Name)
		return live, aws.NotYet(err)
	}), nil
}

// inputOfRule is a rule as it is put, whole: what a call does not say, EventBridge forgets.
func inputOfRule(p RuleProps, name, bus string) (*sdk.PutRuleInput, error) {
	in := &sdk.PutRuleInput{Name: &name, EventBusName: &bus}
	err := ruleTable.Created(p, kind.Struct(in))
	if sdkaws.ToString(in.EventPattern) == "" {
		in.EventPattern = nil
	}
	return in, err
}

// createRule makes the rule with its tags. Its targets are put when it is there. The call would write over a rule that
// somebody else made a moment ago: EventBridge has none that creates only.
func createRule(ctx context.Context, s ruleSite) (Rule, error) {
	bus := busName(s.Want.EventBusName)
	in, err := inputOfRule(s.Want, s.Name, bus)
	if err != nil {
		return Rule{}, err
	}
	in.Tags = tagList(aws.Tags(s.Cloud, s.Want.Tags, s.Owner))
	if _, err := clientOf(s.Cloud).PutRule(ctx, in); err != nil {
		return Rule{}, err
	}
	return Rule{ARN: ruleARN(s.Location, bus, s.Name), Name: s.Name, EventBusName: bus}, nil
}

// compareRule states every aspect. One call writes all of the rule itself: what is not to be changed, since it is ignored or left
// for later, keeps its live value.
func compareRule(d *kind.Diff[liveRule], want RuleProps, live liveRule) {
	kind.Compare(d, ruleTable, want, live.have, kind.Set("PutRule", func(ctx context.Context, u kind.Update[liveRule]) error {
		in, err := inputOfRule(ruleTable.Merged(want, u.Live.have, u.Changed), u.Live.attrs.Name, u.Live.attrs.EventBusName)
		if err != nil {
			return err
		}
		_, err = clientOf(u.Cloud).PutRule(ctx, in)
		return aws.NotYet(err)
	}))
	reconcile.Map(d, "targets", normal(want.Targets), normal(live.have.Targets), "PutTargets",
		func(ctx context.Context, on kind.Update[liveRule], put map[string]Target, drop []string) error {
			return setTargets(ctx, on, want.Targets, put, drop)
		})
}

// deleteRule takes the targets away first: EventBridge deletes no rule that has some.
func deleteRule(ctx context.Context, s ruleSite) error {
	client, bus, name := clientOf(s.Cloud), s.Last.EventBusName, s.Last.Name
	targets, err := readTargets(ctx, client, bus, name)
	if err != nil {
		return err // absent is what is wanted
	}
	if err := removeTargets(ctx, client, bus, name, targetIDs(targets)); err != nil {
		return err
	}
	_, err = client.DeleteRule(ctx, &sdk.DeleteRuleInput{Name: &name, EventBusName: &bus})
	return err
}

// listRules goes through all buses.
func listRules(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	whole := scope
	whole.Prefix = "" // the bus may be named otherwise
	next := func(out *sdk.ListRulesOutput) *string { return out.NextToken }
	for bus, err := range buses(ctx, whole) {
		if err != nil {
			return nil, err
		}
		in := &sdk.ListRulesInput{EventBusName: bus.Name, NamePrefix: aws.OrNil(scope.Prefix)}
		for page, err := range aws.PagesByToken(ctx, clientOf(scope.Cloud).ListRules, in, &in.NextToken, next) {
			if err != nil {
				return nil, err
			}
			for _, r := range page.Rules {
				all = append(all, kind.Found{Kind: ruleType, Place: scope.Place, Identity: sdkaws.ToString(r.Arn), Name: sdkaws.ToString(r.Name)})
			}
		}
	}
	return all, nil
}

// buses are those of a location.
func buses(ctx context.Context, scope kind.ListScope) iter.Seq2[types.EventBus, error] {
	return func(yield func(types.EventBus, error) bool) {
		next := func(out *sdk.ListEventBusesOutput) *string { return out.NextToken }
		in := &sdk.ListEventBusesInput{NamePrefix: aws.OrNil(scope.Prefix)}
		for page, err := range aws.PagesByToken(ctx, clientOf(scope.Cloud).ListEventBuses, in, &in.NextToken, next) {
			if err != nil {
				yield(types.EventBus{}, err)
				return
			}
			for _, bus := range page.EventBuses {
				if !yield(bus, nil) {
					return
				}
			}
		}
	}
}

// canonicalPattern brings a pattern into one form. Lists are alternatives, whose order does not count, but for the bounds
// of a number: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
func canonicalPattern(pattern any) any { return alternatives(aws.Document(pattern)) }

func alternatives(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if k != "numeric" {
				x = alternatives(x)
			}
			out[k] = x
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = alternatives(x)
		}
		slices.SortFunc(out, func(a, b any) int { return bytes.Compare(tree.Canonical(a), tree.Canonical(b)) })
		return out
	}
	return v
}

func readTags(ctx context.Context, cloud kind.Cloud, of *string) (map[string]string, error) {
	out, err := clientOf(cloud).ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceARN: of})
	if err != nil {
		return nil, aws.NotYet(err)
	}
	return tagMap(out.Tags), nil
}

// tagged is the ownership of a rule or a bus.
func tagged[P, L any](declared func(P) map[string]string, live func(L) (map[string]string, aws.ARN)) kind.Tagged[P, L] {
	of := func(l L) *string {
		_, arn := live(l)
		return new(string(arn))
	}
	return aws.Tagged(declared, func(l L) map[string]string { tags, _ := live(l); return tags }, "TagResource",
		func(ctx context.Context, u kind.Update[L], tags map[string]string) error {
			_, err := clientOf(u.Cloud).TagResource(ctx, &sdk.TagResourceInput{ResourceARN: of(u.Live), Tags: tagList(tags)})
			return err
		},
		func(ctx context.Context, u kind.Update[L], keys []string) error {
			_, err := clientOf(u.Cloud).UntagResource(ctx, &sdk.UntagResourceInput{ResourceARN: of(u.Live), TagKeys: keys})
			return err
		})
}

func tagMap(tags []types.Tag) map[string]string {
	return aws.TagMap(tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
}

func tagList(tags map[string]string) []types.Tag {
	return aws.TagList(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} })
}
