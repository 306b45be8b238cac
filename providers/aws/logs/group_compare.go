package logs

import (
	"cmp"
	"context"
	"slices"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// compareGroup states every aspect; each has calls of its own.
func compareGroup(d *groupDiff, want LogGroupProps, live liveGroup) {
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", name, groupOf(live.arn).Name)
	}
	reconcile.Fixed(d, "class", *want.Class, live.class())
	if live.group.RetentionPolicyName == nil && live.class() != "DELIVERY" && *want.Class != "DELIVERY" {
		reconcile.Value(d, "retention", want.Retention, time.Duration(sdkaws.ToInt32(live.group.RetentionInDays))*day, putRetention(want))
	}
	reconcile.Value(d, "kmsKeyId", aws.OrNil(string(want.KMSKeyID)), aws.OrNil(sdkaws.ToString(live.group.KmsKeyId)), putKey(want))
	reconcile.Value(d, "deletionProtection", want.DeletionProtection, live.protected(), putProtection(want))
	reconcile.Value(d, "bearerTokenAuthentication", want.BearerTokenAuthentication, sdkaws.ToBool(live.group.BearerTokenAuthenticationEnabled), putBearer(want))
	reconcile.Value(d, "dataProtectionPolicy", aws.Document(want.DataProtectionPolicy), aws.Document(live.dataProtection), putDataProtection(want))
	reconcile.Value(d, "indexPolicy", indexed(want.IndexPolicy), indexed(live.index), putIndex(want))
	reconcile.Value(d, "policy", aws.CanonicalPolicy(want.Policy), aws.CanonicalPolicy(live.policy), putPolicy(want))
	aws.CompareTags(d, want.Tags, live.tags, "TagResource", putTags, dropTags)
}

// indexed is an index policy in one form: the order of fields does not count.
func indexed(document any) any {
	m, ok := aws.Document(document).(map[string]any)
	if !ok {
		return aws.Document(document)
	}
	out := map[string]any{}
	for k, v := range m {
		if list, ok := v.([]any); ok {
			v = slices.SortedFunc(slices.Values(list), func(a, b any) int {
				x, _ := a.(string)
				y, _ := b.(string)
				return cmp.Compare(x, y)
			})
		}
		out[k] = v
	}
	return out
}

// set is an operation on a group by the service's client.
func set(name string, do func(context.Context, *sdk.Client, liveGroup) error) *reconcile.Operation[liveGroup] {
	return &reconcile.Operation[liveGroup]{Name: name, Do: func(ctx context.Context, on reconcile.On[liveGroup]) error {
		client, err := clientOf(on.Cloud)
		if err != nil {
			return err
		}
		return aws.NotYet(do(ctx, client, on.Live))
	}}
}

func putRetention(want LogGroupProps) *reconcile.Operation[liveGroup] {
	if want.Retention == 0 {
		return set("DeleteRetentionPolicy", func(ctx context.Context, client *sdk.Client, live liveGroup) error {
			_, err := client.DeleteRetentionPolicy(ctx, &sdk.DeleteRetentionPolicyInput{LogGroupName: live.group.LogGroupName})
			return err
		})
	}
	return set("PutRetentionPolicy", func(ctx context.Context, client *sdk.Client, live liveGroup) error {
		_, err := client.PutRetentionPolicy(ctx, &sdk.PutRetentionPolicyInput{
			LogGroupName: live.group.LogGroupName, RetentionInDays: new(int32(want.Retention / day)),
		})
		return err
	})
}

func putKey(want LogGroupProps) *reconcile.Operation[liveGroup] {
	if want.KMSKeyID == "" {
		return set("DisassociateKmsKey", func(ctx context.Context, client *sdk.Client, live liveGroup) error {
			_, err := client.DisassociateKmsKey(ctx, &sdk.DisassociateKmsKeyInput{LogGroupName: live.group.LogGroupName})
			return err
		})
	}
	return set("AssociateKmsKey", func(ctx context.Context, client *sdk.Client, live liveGroup) error {
		_, err := client.AssociateKmsKey(ctx, &sdk.AssociateKmsKeyInput{LogGroupName: live.group.LogGroupName, KmsKeyId: new(string(want.KMSKeyID))})
		return err
	})
}

func putProtection(want LogGroupProps) *reconcile.Operation[liveGroup] {
	return set("PutLogGroupDeletionProtection", func(ctx context.Context, client *sdk.Client, live liveGroup) error {
		_, err := client.PutLogGroupDeletionProtection(ctx, &sdk.PutLogGroupDeletionProtectionInput{
			LogGroupIdentifier: live.group.LogGroupName, DeletionProtectionEnabled: &want.DeletionProtection,
		})
		return err
	})
}

func putBearer(want LogGroupProps) *reconcile.Operation[liveGroup] {
	return set("PutBearerTokenAuthentication", func(ctx context.Context, client *sdk.Client, live liveGroup) error {
		_, err := client.PutBearerTokenAuthentication(ctx, &sdk.PutBearerTokenAuthenticationInput{
			LogGroupIdentifier: live.group.LogGroupName, BearerTokenAuthenticationEnabled: &want.BearerTokenAuthentication,
		})
		return err
	})
}

func putDataProtection(want LogGroupProps) *reconcile.Operation[liveGroup] {
	if want.DataProtectionPolicy == nil {
		return set("DeleteDataProtectionPolicy", func(ctx context.Context, client *sdk.Client, live liveGroup) error {
			_, err := client.DeleteDataProtectionPolicy(ctx, &sdk.DeleteDataProtectionPolicyInput{LogGroupIdentifier: live.group.LogGroupName})
			return err
		})
	}
	return set("PutDataProtectionPolicy", func(ctx context.Context, client *sdk.Client, live liveGroup) error {
		text, err := aws.DocumentText(want.DataProtectionPolicy)
		if err != nil {
			return err
		}
		_, err = client.PutDataProtectionPolicy(ctx, &sdk.PutDataProtectionPolicyInput{LogGroupIdentifier: live.group.LogGroupName, PolicyDocument: &text})
		return err
	})
}

func putIndex(want LogGroupProps) *reconcile.Operation[liveGroup] {
	if want.IndexPolicy == nil {
		return set("DeleteIndexPolicy", func(ctx context.Context, client *sdk.Client, live liveGroup) error {
			_, err := client.DeleteIndexPolicy(ctx, &sdk.DeleteIndexPolicyInput{LogGroupIdentifier: live.group.LogGroupName})
			return err
		})
	}
	return set("PutIndexPolicy", func(ctx context.Context, client *sdk.Client, live liveGroup) error {
		text, err := aws.DocumentText(want.IndexPolicy)
		if err != nil {
			return err
		}
		_, err = client.PutIndexPolicy(ctx, &sdk.PutIndexPolicyInput{LogGroupIdentifier: live.group.LogGroupName, PolicyDocument: &text})
		return err
	})
}

// policyName is that of a group's own policy, which nobody else is asked for.
const policyName = "athanor"

// putPolicy names the revision that it replaces, so that what somebody else writes at the same time is looked at first.
func putPolicy(want LogGroupProps) *reconcile.Operation[liveGroup] {
	if want.Policy == nil {
		return set("DeleteResourcePolicy", func(ctx context.Context, client *sdk.Client, live liveGroup) error {
			_, err := client.DeleteResourcePolicy(ctx, &sdk.DeleteResourcePolicyInput{
				PolicyName: &live.policyName, ResourceArn: new(string(live.arn)), ExpectedRevisionId: aws.OrNil(live.policyRevision),
			})
			return err
		})
	}
	return set("PutResourcePolicy", func(ctx context.Context, client *sdk.Client, live liveGroup) error {
		text, err := aws.DocumentText(want.Policy)
		if err != nil {
			return err
		}
		_, err = client.PutResourcePolicy(ctx, &sdk.PutResourcePolicyInput{
			PolicyName: new(cmp.Or(live.policyName, policyName)), ResourceArn: new(string(live.arn)),
			PolicyDocument: &text, ExpectedRevisionId: aws.OrNil(live.policyRevision),
		})
		return err
	})
}

func putTags(ctx context.Context, on reconcile.On[liveGroup], tags map[string]string) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	_, err = client.TagResource(ctx, &sdk.TagResourceInput{ResourceArn: new(string(on.Live.arn)), Tags: tags})
	return aws.NotYet(err)
}

func dropTags(ctx context.Context, on reconcile.On[liveGroup], keys []string) error {
	client, err := clientOf(on.Cloud)
	if err != nil {
		return err
	}
	_, err = client.UntagResource(ctx, &sdk.UntagResourceInput{ResourceArn: new(string(on.Live.arn)), TagKeys: keys})
	return aws.NotYet(err)
}
