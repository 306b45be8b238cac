package eventbridge

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// hand changes one aspect of a rule with somebody else's client.
type hand func(w *world, bus, name *string, p RuleProps) error

func byHands(ws awstest.Worlds[*world], do hand) kindtest.Hand {
	return ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		bus, name := to.Attrs["eventBusName"].(string), to.Attrs["name"].(string)
		return do(w, &bus, &name, ruleDefaults(kindtest.PropsOf(t, ruleTable, to.Props)))
	})
}

func hands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{
		"":        byHands(ws, goAway),
		"targets": byHands(ws, retarget),
		"tags":    ws.Hand((*world).retag),
		"state": byHands(ws, func(w *world, bus, name *string, p RuleProps) error {
			if *p.State == "DISABLED" {
				_, err := w.Others.DisableRule(context.Background(), &sdk.DisableRuleInput{Name: name, EventBusName: bus})
				return err
			}
			_, err := w.Others.EnableRule(context.Background(), &sdk.EnableRuleInput{Name: name, EventBusName: bus})
			return err
		}),
	}
	for _, path := range []tree.Path{"eventPattern", "scheduleExpression", "description", "roleArn"} {
		hands[path] = byHands(ws, putting(path))
	}
	return hands
}

func maybe(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// document is the text of a document, nil for none.
func document(v any) *string {
	text, is := v.(string)
	if v != nil && !is {
		encoded, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		text = string(encoded)
	}
	return maybe(text)
}

// putting writes a rule as it is, but for one aspect.
func putting(path tree.Path) hand {
	return func(w *world, bus, name *string, p RuleProps) error {
		ctx := context.Background()
		now, err := w.Others.DescribeRule(ctx, &sdk.DescribeRuleInput{Name: name, EventBusName: bus})
		if err != nil {
			return err
		}
		have, err := ruleTable.Read(kind.Struct(now))
		if err != nil {
			return err
		}
		in, err := inputOfRule(ruleTable.Merged(p, have, []tree.Path{path}), *name, *bus)
		if err != nil {
			return err
		}
		_, err = w.Others.PutRule(ctx, in)
		return err
	}
}

func (w *world) untarget(bus, name *string) error {
	ctx := context.Background()
	now, err := w.Others.ListTargetsByRule(ctx, &sdk.ListTargetsByRuleInput{Rule: name, EventBusName: bus})
	if err != nil || len(now.Targets) == 0 {
		return err
	}
	var ids []string
	for _, t := range now.Targets {
		ids = append(ids, *t.Id)
	}
	_, err = w.Others.RemoveTargets(ctx, &sdk.RemoveTargetsInput{Rule: name, EventBusName: bus, Ids: ids})
	return err
}

func goAway(w *world, bus, name *string, _ RuleProps) error {
	if err := w.untarget(bus, name); err != nil {
		return err
	}
	_, err := w.Others.DeleteRule(context.Background(), &sdk.DeleteRuleInput{Name: name, EventBusName: bus})
	return err
}

// retarget takes all targets away, and puts those that are wanted.
func retarget(w *world, bus, name *string, p RuleProps) error {
	if err := w.untarget(bus, name); err != nil || len(p.Targets) == 0 {
		return err
	}
	in := &sdk.PutTargetsInput{Rule: name, EventBusName: bus}
	for _, id := range slices.Sorted(maps.Keys(p.Targets)) {
		in.Targets = append(in.Targets, byHand(id, p.Targets[id]))
	}
	_, err := w.Others.PutTargets(context.Background(), in)
	return err
}

// byHand writes a target field by field.
func byHand(id string, t Target) types.Target {
	out := types.Target{Id: &id, Arn: new(string(t.ARN)), RoleArn: maybe(string(t.RoleARN)), Input: document(t.Input), InputPath: maybe(t.InputPath)}
	if x := t.InputTransformer; x != nil {
		out.InputTransformer = &types.InputTransformer{InputTemplate: &x.InputTemplate, InputPathsMap: x.InputPathsMap}
	}
	if t.DeadLetter != "" {
		out.DeadLetterConfig = &types.DeadLetterConfig{Arn: new(string(t.DeadLetter))}
	}
	if x := t.RetryPolicy; x != nil {
		out.RetryPolicy = &types.RetryPolicy{}
		if x.MaximumEventAge != nil {
			out.RetryPolicy.MaximumEventAgeInSeconds = new(int32(*x.MaximumEventAge / time.Second))
		}
		if x.MaximumRetryAttempts != nil {
			out.RetryPolicy.MaximumRetryAttempts = new(int32(*x.MaximumRetryAttempts))
		}
	}
	if x := t.SQSParameters; x != nil {
		out.SqsParameters = &types.SqsParameters{MessageGroupId: &x.MessageGroupID}
	}
	if x := t.KinesisParameters; x != nil {
		out.KinesisParameters = &types.KinesisParameters{PartitionKeyPath: &x.PartitionKeyPath}
	}
	if x := t.HTTPParameters; x != nil {
		out.HttpParameters = &types.HttpParameters{PathParameterValues: x.PathParameterValues, HeaderParameters: x.HeaderParameters, QueryStringParameters: x.QueryStringParameters}
	}
	if x := t.AppSyncParameters; x != nil {
		out.AppSyncParameters = &types.AppSyncParameters{GraphQLOperation: &x.GraphQLOperation}
	}
	if x := t.RedshiftDataParameters; x != nil {
		out.RedshiftDataParameters = &types.RedshiftDataParameters{
			Database: &x.Database, Sql: maybe(x.SQL), Sqls: x.SQLs, DbUser: maybe(x.DBUser), SecretManagerArn: maybe(string(x.SecretManagerARN)),
			StatementName: maybe(x.StatementName), WithEvent: x.WithEvent,
		}
	}
	if x := t.RunCommandParameters; x != nil {
		out.RunCommandParameters = &types.RunCommandParameters{}
		for _, c := range x.RunCommandTargets {
			out.RunCommandParameters.RunCommandTargets = append(out.RunCommandParameters.RunCommandTargets, types.RunCommandTarget{Key: &c.Key, Values: c.Values})
		}
	}
	if x := t.SageMakerPipelineParameters; x != nil {
		out.SageMakerPipelineParameters = &types.SageMakerPipelineParameters{}
		for _, c := range x.PipelineParameterList {
			out.SageMakerPipelineParameters.PipelineParameterList = append(out.SageMakerPipelineParameters.PipelineParameterList, types.SageMakerPipelineParameter{Name: &c.Name, Value: &c.Value})
		}
	}
	if x := t.BatchParameters; x != nil {
		out.BatchParameters = &types.BatchParameters{JobDefinition: &x.JobDefinition, JobName: &x.JobName}
		if x.ArrayProperties != nil {
			out.BatchParameters.ArrayProperties = &types.BatchArrayProperties{Size: int32(x.ArrayProperties.Size)}
		}
		if x.RetryStrategy != nil {
			out.BatchParameters.RetryStrategy = &types.BatchRetryStrategy{Attempts: int32(x.RetryStrategy.Attempts)}
		}
	}
	out.EcsParameters = taskByHand(t.ECSParameters)
	return out
}

func taskByHand(x *ECSParameters) *types.EcsParameters {
	if x == nil {
		return nil
	}
	out := &types.EcsParameters{
		TaskDefinitionArn: new(string(x.TaskDefinitionARN)), LaunchType: types.LaunchType(x.LaunchType), PlatformVersion: maybe(x.PlatformVersion),
		Group: maybe(x.Group), PropagateTags: types.PropagateTags(x.PropagateTags), ReferenceId: maybe(x.ReferenceID),
		EnableECSManagedTags: x.EnableECSManagedTags, EnableExecuteCommand: x.EnableExecuteCommand,
	}
	if x.TaskCount != nil {
		out.TaskCount = new(int32(*x.TaskCount))
	}
	for _, c := range x.CapacityProviderStrategy {
		out.CapacityProviderStrategy = append(out.CapacityProviderStrategy, types.CapacityProviderStrategyItem{CapacityProvider: &c.CapacityProvider, Base: int32(c.Base), Weight: int32(c.Weight)})
	}
	for _, c := range x.PlacementConstraints {
		out.PlacementConstraints = append(out.PlacementConstraints, types.PlacementConstraint{Type: types.PlacementConstraintType(c.Type), Expression: maybe(c.Expression)})
	}
	for _, c := range x.PlacementStrategy {
		out.PlacementStrategy = append(out.PlacementStrategy, types.PlacementStrategy{Type: types.PlacementStrategyType(c.Type), Field: maybe(c.Field)})
	}
	if n := x.NetworkConfiguration; n != nil {
		vpc := n.AwsvpcConfiguration
		out.NetworkConfiguration = &types.NetworkConfiguration{AwsvpcConfiguration: &types.AwsVpcConfiguration{
			Subnets: vpc.Subnets, SecurityGroups: vpc.SecurityGroups, AssignPublicIp: types.AssignPublicIp(vpc.AssignPublicIP),
		}}
	}
	for _, k := range slices.Sorted(maps.Keys(x.Tags)) {
		out.Tags = append(out.Tags, types.Tag{Key: &k, Value: new(x.Tags[k])})
	}
	return out
}

func (w *world) retag(_ kindtest.T, to kindtest.Edited) error {
	ctx, arn := context.Background(), new(to.Attrs["arn"].(string))
	have, err := w.Others.ListTagsForResource(ctx, &sdk.ListTagsForResourceInput{ResourceARN: arn})
	if err != nil {
		return err
	}
	drop := func(keys []string) error {
		_, err := w.Others.UntagResource(ctx, &sdk.UntagResourceInput{ResourceARN: arn, TagKeys: keys})
		return err
	}
	return awstest.Retag(tagMap(have.Tags), to, drop, func(tags map[string]string) error {
		_, err := w.Others.TagResource(ctx, &sdk.TagResourceInput{ResourceARN: arn, Tags: tagList(tags)})
		return err
	})
}
