package route53

import (
	"context"
	"errors"
	"slices"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// What one call takes, where an UPSERT counts twice:
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DNSLimitations.html#limits-api-requests-changeresourcerecordsets
const (
	mostValues = 1000
	mostText   = 32_000
)

type (
	changing = aws.Gather[types.Change, *types.ChangeInfo]
	changed  = aws.Answer[*types.ChangeInfo]
	waiting  = aws.Gather[struct{}, struct{}]
)

// change makes one change of a zone, by one call with others that are wanted at the same time: Route 53 takes five calls a
// second of an account, and one change of a zone at a time. Name servers learn of it by and by: see [inSync].
func change(ctx context.Context, cloud kind.Cloud, zone string, action types.ChangeAction, set types.ResourceRecordSet) (*types.ChangeInfo, error) {
	client, together := clientOf(cloud), aws.Shared(cloud, "changes of the hosted zone "+zone, func() *changing { return &changing{} })
	return together.Ask(ctx, types.Change{Action: action, ResourceRecordSet: &set}, func(ctx context.Context, all []types.Change) []changed {
		return changeAll(ctx, client, zone, all[:fitting(all)])
	})
}

// changeAll makes changes by one call. Where Route 53 refuses them together, it makes each half by itself, so that only the
// change that is wrong fails.
func changeAll(ctx context.Context, client *sdk.Client, zone string, all []types.Change) []changed {
	out, err := client.ChangeResourceRecordSets(ctx, &sdk.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone, ChangeBatch: &types.ChangeBatch{Changes: all},
	})
	if _, refused := errors.AsType[*types.InvalidChangeBatch](err); refused && len(all) > 1 {
		half := len(all) / 2
		return append(changeAll(ctx, client, zone, all[:half]), changeAll(ctx, client, zone, all[half:])...)
	}
	one := changed{Err: err}
	if err == nil {
		one.Value = out.ChangeInfo
	}
	return slices.Repeat([]changed{one}, len(all))
}

// fitting is how many of the first changes one call takes.
func fitting(all []types.Change) int {
	values, text := 0, 0
	for i, c := range all {
		times := 1
		if c.Action == types.ChangeActionUpsert {
			times = 2
		}
		values += times * max(len(c.ResourceRecordSet.ResourceRecords), 1)
		for _, r := range c.ResourceRecordSet.ResourceRecords {
			text += times * len(sdkaws.ToString(r.Value))
		}
		if i > 0 && (values > mostValues || text > mostText) {
			return i
		}
	}
	return len(all)
}

// How often a change is asked about. Route 53 takes five calls a second of an account, and a change takes a minute:
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/DNSLimitations.html
const (
	firstAsked = 500 * time.Millisecond
	lastAsked  = 5 * time.Second
)

var errSpreading = errors.New("the change has not reached all name servers yet")

// inSync waits until a change has reached all name servers. Callers that wait for the same change ask about it
// together.
func inSync(ctx context.Context, cloud kind.Cloud, change *types.ChangeInfo) error {
	if change == nil || change.Status != types.ChangeStatusPending {
		return nil // the answer to the change itself says it first
	}
	client, id := clientOf(cloud), sdkaws.ToString(change.Id)
	together := aws.Shared(cloud, "the change "+id, func() *waiting { return &waiting{} })
	_, err := together.Ask(ctx, struct{}{}, func(ctx context.Context, all []struct{}) []aws.Answer[struct{}] {
		err := reconcile.Until(ctx, cloud, firstAsked, lastAsked, errSpreading, func(ctx context.Context) (bool, time.Duration, error) {
			out, err := client.GetChange(ctx, &sdk.GetChangeInput{Id: &id})
			return err == nil && (out.ChangeInfo == nil || out.ChangeInfo.Status != types.ChangeStatusPending), 0, err
		})
		return slices.Repeat([]aws.Answer[struct{}]{{Err: err}}, len(all))
	})
	return err
}
