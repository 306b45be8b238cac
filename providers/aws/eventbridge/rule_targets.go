package eventbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// batch is how many targets one call takes for sure.
const batch = 10

func readTargets(ctx context.Context, client *sdk.Client, bus, rule string) (map[string]Target, error) {
	all := map[string]Target{}
	next := func(out *sdk.ListTargetsByRuleOutput) *string { return out.NextToken }
	in := &sdk.ListTargetsByRuleInput{Rule: &rule, EventBusName: &bus}
	for page, err := range aws.PagesByToken(ctx, client.ListTargetsByRule, in, &in.NextToken, next) {
		if err != nil {
			return nil, err
		}
		for _, t := range page.Targets {
			target, err := shownTarget(t)
			if err != nil {
				return nil, fmt.Errorf("target %s: %w", sdkaws.ToString(t.Id), err)
			}
			all[sdkaws.ToString(t.Id)] = target
		}
	}
	return all, nil
}

// setTargets takes away what is not wanted before it puts the rest: a quota bounds how many there are.
func setTargets(ctx context.Context, on reconcile.Update[liveRule], want, put map[string]Target, drop []string) error {
	client, bus, rule := clientOf(on.Cloud), on.Live.attrs.EventBusName, on.Live.attrs.Name
	if err := removeTargets(ctx, client, bus, rule, drop); err != nil {
		return aws.NotYet(err)
	}
	for ids := range slices.Chunk(targetIDs(put), batch) {
		in := &sdk.PutTargetsInput{Rule: &rule, EventBusName: &bus}
		for _, id := range ids {
			t, err := want[id].request(id)
			if err != nil {
				return fmt.Errorf("target %s: %w", id, err)
			}
			in.Targets = append(in.Targets, t)
		}
		out, err := client.PutTargets(ctx, in)
		if slices.ContainsFunc(in.Targets, func(t types.Target) bool { return t.RoleArn != nil }) {
			err = aws.Propagating(on.Cloud, err)
		}
		if err != nil {
			return aws.NotYet(err)
		}
		for _, f := range out.FailedEntries {
			err = errors.Join(err, failed(f.TargetId, f.ErrorCode, f.ErrorMessage))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func removeTargets(ctx context.Context, client *sdk.Client, bus, rule string, ids []string) error {
	for some := range slices.Chunk(ids, batch) {
		out, err := client.RemoveTargets(ctx, &sdk.RemoveTargetsInput{Rule: &rule, EventBusName: &bus, Ids: some})
		if err != nil {
			return err
		}
		for _, f := range out.FailedEntries {
			err = errors.Join(err, failed(f.TargetId, f.ErrorCode, f.ErrorMessage))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// failed is the error of one entry in an answer that is otherwise well, judged by its code like any other.
func failed(id, code, message *string) error {
	return fmt.Errorf("target %s: %w", sdkaws.ToString(id), &smithy.GenericAPIError{Code: sdkaws.ToString(code), Message: sdkaws.ToString(message)})
}

func targetIDs(targets map[string]Target) []string { return slices.Sorted(maps.Keys(targets)) }

// normal are targets in the form that is compared: of what is a set the order does not count, and documents count by their
// meaning.
func normal(targets map[string]Target) map[string]Target {
	out := map[string]Target{}
	for id, t := range targets {
		t.Input = inputOf(t.Input)
		if t.ECSParameters != nil && t.ECSParameters.NetworkConfiguration != nil {
			ecs, network := *t.ECSParameters, *t.ECSParameters.NetworkConfiguration
			vpc := &network.AwsvpcConfiguration
			vpc.Subnets, vpc.SecurityGroups = slices.Sorted(slices.Values(vpc.Subnets)), slices.Sorted(slices.Values(vpc.SecurityGroups))
			ecs.NetworkConfiguration, t.ECSParameters = &network, &ecs
		}
		out[id] = t
	}
	return out
}

// inputOf is an input by its meaning. What is no object or list stays the text that it is.
func inputOf(input any) any {
	switch document := aws.Document(input).(type) {
	case map[string]any, []any:
		return document
	default:
		return input
	}
}

// request is a target as the service takes it. But for a few its fields have the names of the props, which JSON does not
// tell apart by case.
func (t Target) request(id string) (types.Target, error) {
	plain := t
	plain.Input, plain.RetryPolicy, plain.DeadLetter = nil, nil, ""
	if t.ECSParameters != nil {
		ecs := *t.ECSParameters
		ecs.Tags, plain.ECSParameters = nil, &ecs
	}
	out := types.Target{}
	encoded, err := props.EncodeValue(plain)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(tree.Canonical(encoded), &out); err != nil {
		return out, err
	}
	input, err := aws.DocumentText(t.Input)
	if err != nil {
		return out, fmt.Errorf("input: %w", err)
	}
	out.Id, out.Input = &id, aws.OrNil(input)
	if t.DeadLetter != "" {
		out.DeadLetterConfig = &types.DeadLetterConfig{Arn: new(string(t.DeadLetter))}
	}
	if r := t.RetryPolicy; r != nil {
		out.RetryPolicy = &types.RetryPolicy{}
		if r.MaximumEventAge != nil {
			out.RetryPolicy.MaximumEventAgeInSeconds = new(int32(*r.MaximumEventAge / time.Second))
		}
		if r.MaximumRetryAttempts != nil {
			out.RetryPolicy.MaximumRetryAttempts = new(int32(*r.MaximumRetryAttempts))
		}
	}
	if t.ECSParameters != nil {
		out.EcsParameters.Tags = tagList(t.ECSParameters.Tags)
	}
	return out, nil
}

// shownTarget is a target as it is declared.
func shownTarget(t types.Target) (Target, error) {
	plain, out := t, Target{}
	plain.RetryPolicy = nil
	if t.EcsParameters != nil {
		ecs := *t.EcsParameters
		ecs.Tags, plain.EcsParameters = nil, &ecs
	}
	encoded, err := json.Marshal(plain)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(encoded, &out); err != nil {
		return out, err
	}
	if t.DeadLetterConfig != nil {
		out.DeadLetter = aws.ARN(sdkaws.ToString(t.DeadLetterConfig.Arn))
	}
	if r := t.RetryPolicy; r != nil {
		out.RetryPolicy = &RetryPolicy{}
		if r.MaximumEventAgeInSeconds != nil {
			out.RetryPolicy.MaximumEventAge = new(time.Duration(*r.MaximumEventAgeInSeconds) * time.Second)
		}
		if r.MaximumRetryAttempts != nil {
			out.RetryPolicy.MaximumRetryAttempts = new(int(*r.MaximumRetryAttempts))
		}
	}
	if t.EcsParameters != nil {
		aws.OrDefault(&out.ECSParameters.TaskCount, 1)
		if len(t.EcsParameters.Tags) > 0 {
			out.ECSParameters.Tags = tagMap(t.EcsParameters.Tags)
		}
	}
	return out, nil
}
