package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// compareSettings states the keys, and what has calls of its own.
func compareSettings(d *tableDiff, want TableProps, live liveTable) {
	have := live.have
	backups := setting("UpdateContinuousBackups", func(ctx context.Context, t target, _ tableOn) error {
		spec := &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: &want.PointInTimeRecovery}
		if want.PointInTimeRecovery {
			spec.RecoveryPeriodInDays = new(int32(*want.RecoveryPeriod / (24 * time.Hour)))
		}
		_, err := t.UpdateContinuousBackups(ctx, &sdk.UpdateContinuousBackupsInput{TableName: t.name, PointInTimeRecoverySpecification: spec})
		return err
	})
	kind.CompareEach(d, propsTable, want, have, map[tree.Path]*tableOp{
		"ttlAttribute": setTTL(want), "pointInTimeRecovery": backups, "recoveryPeriod": backups, "policy": setPolicy(want),
	})
	if live.asksInsights {
		compareInsights(d, want, have)
	}
	if live.asksKinesis {
		reconcile.Value(d, "kinesisStream", streams(want.KinesisStream), streams(refs(live.kinesis)...), setKinesis(want))
	}
}

func compareInsights(d *tableDiff, want, have TableProps) {
	reconcile.Value(d, "contributorInsights", aws.OrNil(want.ContributorInsights), aws.OrNil(have.ContributorInsights), setInsights("", want.ContributorInsights))
	for name, w := range both(want.GlobalSecondaryIndexes, have.GlobalSecondaryIndexes) {
		h, path := have.GlobalSecondaryIndexes[name], tree.Path("globalSecondaryIndexes").Key(name)
		if !remade(d, path, w, h) {
			reconcile.Value(d, path.Key("contributorInsights"), aws.OrNil(w.ContributorInsights), aws.OrNil(h.ContributorInsights), setInsights(name, w.ContributorInsights))
		}
	}
}

// setting is a call on a table.
func setting(name string, do func(ctx context.Context, t target, on tableOn) error) *tableOp {
	return kind.Set(name, func(ctx context.Context, on tableOn) error {
		return aws.NotYet(do(ctx, targetOf(on.Cloud, on.Location, on.Live.have.Name), on))
	})
}

var errTTLMoving = errors.New("the time to live is still changing")

// setTTL turns it on, or off: another attribute needs the one before to go first, and the next look asks for the new one.
func setTTL(want TableProps) *tableOp {
	return setting("UpdateTimeToLive", func(ctx context.Context, t target, on tableOn) error {
		if live := on.Live.ttl; live == types.TimeToLiveStatusEnabling || live == types.TimeToLiveStatusDisabling {
			return aws.Busy(fmt.Errorf("%w: %s", errTTLMoving, live))
		}
		spec := &types.TimeToLiveSpecification{Enabled: new(true), AttributeName: &want.TTLAttribute}
		if have := on.Live.have.TTLAttribute; have != "" {
			spec = &types.TimeToLiveSpecification{Enabled: new(false), AttributeName: &have}
		}
		_, err := t.UpdateTimeToLive(ctx, &sdk.UpdateTimeToLiveInput{TableName: t.name, TimeToLiveSpecification: spec})
		if err != nil {
			err = reconcile.WithHint(err, "DynamoDB takes one change of the time to live in an hour: deploy again after that")
		}
		return err
	})
}

func setInsights(index, mode string) *tableOp {
	return setting("UpdateContributorInsights", func(ctx context.Context, t target, _ tableOn) error {
		in := &sdk.UpdateContributorInsightsInput{TableName: t.name, IndexName: aws.OrNil(index), ContributorInsightsAction: types.ContributorInsightsActionDisable}
		if mode != "" {
			in.ContributorInsightsAction, in.ContributorInsightsMode = types.ContributorInsightsActionEnable, types.ContributorInsightsMode(mode)
		}
		_, err := t.UpdateContributorInsights(ctx, in)
		return err
	})
}

// streams are one stream as it is declared, nil for none. Several are more than can be declared, and all shown.
func streams(all ...*KinesisStream) any {
	all = slices.DeleteFunc(all, func(k *KinesisStream) bool { return k == nil })
	switch len(all) {
	case 0:
		return nil
	case 1:
		return map[string]any{"streamArn": string(all[0].StreamARN), "precision": *all[0].Precision}
	}
	list := make([]any, len(all))
	for i, k := range all {
		list[i] = streams(k)
	}
	return list
}

func refs(all []KinesisStream) []*KinesisStream {
	var out []*KinesisStream
	for _, k := range all {
		out = append(out, &k)
	}
	return out
}

// setKinesis makes the one stream get the changes, and no other.
func setKinesis(want TableProps) *tableOp {
	return setting("EnableKinesisStreamingDestination", func(ctx context.Context, t target, on tableOn) error {
		w := want.KinesisStream
		there := false
		for _, k := range on.Live.kinesis {
			if w == nil || k.StreamARN != w.StreamARN {
				if _, err := t.DisableKinesisStreamingDestination(ctx, &sdk.DisableKinesisStreamingDestinationInput{TableName: t.name, StreamArn: new(string(k.StreamARN))}); err != nil {
					return err
				}
				continue
			}
			if there = true; *k.Precision != *w.Precision {
				_, err := t.UpdateKinesisStreamingDestination(ctx, &sdk.UpdateKinesisStreamingDestinationInput{
					TableName: t.name, StreamArn: new(string(k.StreamARN)),
					UpdateKinesisStreamingConfiguration: &types.UpdateKinesisStreamingConfiguration{
						ApproximateCreationDateTimePrecision: types.ApproximateCreationDateTimePrecision(*w.Precision),
					},
				})
				if err != nil {
					return err
				}
			}
		}
		if w == nil || there {
			return nil
		}
		_, err := t.EnableKinesisStreamingDestination(ctx, &sdk.EnableKinesisStreamingDestinationInput{
			TableName: t.name, StreamArn: new(string(w.StreamARN)),
			EnableKinesisStreamingConfiguration: &types.EnableKinesisStreamingConfiguration{
				ApproximateCreationDateTimePrecision: types.ApproximateCreationDateTimePrecision(*w.Precision),
			},
		})
		return err
	})
}

func setPolicy(want TableProps) *tableOp {
	return setting("PutResourcePolicy", func(ctx context.Context, t target, _ tableOn) error {
		text := aws.Text(want.Policy)
		if *text == "" {
			_, err := t.DeleteResourcePolicy(ctx, &sdk.DeleteResourcePolicyInput{ResourceArn: t.arn})
			return err
		}
		_, err := t.PutResourcePolicy(ctx, &sdk.PutResourcePolicyInput{ResourceArn: t.arn, Policy: text})
		return err
	})
}
