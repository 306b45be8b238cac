package eventbridge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

var errNoName = errors.New("a rule is found by its name, and there is none")

// nameOf is the bus and the name by which a rule is looked for.
func nameOf(site ruleSite) (bus, name string, err error) {
	switch {
	case site.Last != nil:
		return site.Last.EventBusName, site.Last.Name, nil
	case site.ID != "":
		p, ok := aws.ARN(site.ID).Parse()
		if !ok {
			return busName(site.Want.EventBusName), site.ID, nil
		}
		bus, name, other := strings.Cut(strings.TrimPrefix(p.Resource, "rule/"), "/")
		if !other {
			bus, name = defaultBus, bus
		}
		if aws.ARN(site.ID) != ruleARN(site.Place, bus, name) {
			return "", "", aws.Foreign(site.ID, site.Place)
		}
		return bus, name, nil
	case site.Name != "":
		return busName(site.Want.EventBusName), site.Name, nil
	}
	return "", "", errNoName
}

func observeRule(ctx context.Context, site ruleSite) (liveRule, error) {
	bus, name, err := nameOf(site)
	if err != nil {
		return liveRule{}, err
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveRule{}, err
	}
	out, err := client.DescribeRule(ctx, &sdk.DescribeRuleInput{Name: &name, EventBusName: &bus})
	if err != nil {
		return liveRule{}, aws.Absent(err)
	}
	live := liveRule{arn: aws.ARN(sdkaws.ToString(out.Arn)), have: RuleProps{
		Name: sdkaws.ToString(out.Name), EventBusName: bus, ScheduleExpression: sdkaws.ToString(out.ScheduleExpression),
		EventPattern: sdkaws.ToString(out.EventPattern), Description: sdkaws.ToString(out.Description),
		State: new(string(out.State)), RoleARN: aws.ARN(sdkaws.ToString(out.RoleArn)),
	}}
	if live.have.Targets, err = readTargets(ctx, client, bus, name); err != nil {
		return liveRule{}, aws.NotYet(err)
	}
	live.tags, err = readTags(ctx, client, out.Arn)
	return live, err
}

func ruleInput(want RuleProps, name, bus string) (*sdk.PutRuleInput, error) {
	pattern, err := aws.DocumentText(want.EventPattern)
	if err != nil {
		return nil, fmt.Errorf("eventPattern: %w", err)
	}
	return &sdk.PutRuleInput{
		Name: &name, EventBusName: new(busName(bus)), EventPattern: aws.OrNil(pattern), ScheduleExpression: aws.OrNil(want.ScheduleExpression),
		Description: aws.OrNil(want.Description), State: types.RuleState(*want.State), RoleArn: aws.OrNil(string(want.RoleARN)),
	}, nil
}

// createRule makes the rule with its tags. Its targets are put when it is there. The call would write over a rule that
// somebody else made a moment ago: EventBridge has none that creates only.
func createRule(ctx context.Context, site ruleSite) (Rule, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return Rule{}, err
	}
	in, err := ruleInput(site.Want, site.Name, site.Want.EventBusName)
	if err != nil {
		return Rule{}, err
	}
	in.Tags = tagList(aws.Tags(site.Want.Tags, site.Mark))
	if _, err := client.PutRule(ctx, in); err != nil {
		return Rule{}, err
	}
	bus := *in.EventBusName
	return Rule{ARN: ruleARN(site.Place, bus, site.Name), Name: site.Name, EventBusName: bus}, nil
}

// deleteRule takes the targets away first: EventBridge deletes no rule that has some.
func deleteRule(ctx context.Context, site ruleSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	bus, name := site.Last.EventBusName, site.Last.Name
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
func listRules(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	var all []reconcile.Found
	whole := scope
	whole.Prefix = "" // the bus may be named otherwise
	err := eachBus(ctx, whole, func(bus types.EventBus) error {
		found, err := rulesOf(ctx, scope, sdkaws.ToString(bus.Name))
		all = append(all, found...)
		return err
	})
	return all, err
}

// eachBus goes through the buses of a place.
func eachBus(ctx context.Context, scope reconcile.Scope, each func(types.EventBus) error) error {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return err
	}
	in := &sdk.ListEventBusesInput{NamePrefix: aws.OrNil(scope.Prefix)}
	for {
		page, err := client.ListEventBuses(ctx, in)
		if err != nil {
			return err
		}
		for _, bus := range page.EventBuses {
			if err := each(bus); err != nil {
				return err
			}
		}
		if page.NextToken == nil {
			return nil
		}
		in.NextToken = page.NextToken
	}
}

func rulesOf(ctx context.Context, scope reconcile.Scope, bus string) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	var all []reconcile.Found
	in := &sdk.ListRulesInput{EventBusName: &bus, NamePrefix: aws.OrNil(scope.Prefix)}
	for {
		page, err := client.ListRules(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Rules {
			all = append(all, reconcile.Found{Kind: ruleType, Place: scope.Place, Identity: sdkaws.ToString(r.Arn), Name: sdkaws.ToString(r.Name)})
		}
		if page.NextToken == nil {
			return all, nil
		}
		in.NextToken = page.NextToken
	}
}
