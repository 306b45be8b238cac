package s3

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func readLogging(ctx context.Context, t target, live *liveBucket) error {
	out, err := t.GetBucketLogging(ctx, &sdk.GetBucketLoggingInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	if err != nil || out.LoggingEnabled == nil {
		return err
	}
	to := out.LoggingEnabled
	live.grants = to.TargetGrants
	live.have.Logging = &Logging{Bucket: BucketName(awssdk.ToString(to.TargetBucket)), Prefix: awssdk.ToString(to.TargetPrefix)}
	if form := to.TargetObjectKeyFormat; form != nil && form.PartitionedPrefix != nil {
		live.have.Logging.PartitionedBy = string(form.PartitionedPrefix.PartitionDateSource)
	}
	return nil
}

// readAcceleration: regions without the feature refuse the question, and nothing is accelerated there.
func readAcceleration(ctx context.Context, t target, live *liveBucket) error {
	out, err := t.GetBucketAccelerateConfiguration(ctx, &sdk.GetBucketAccelerateConfigurationInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	if err != nil {
		return unless(err, "UnsupportedArgument", "MethodNotAllowed", "NotImplemented")
	}
	live.have.TransferAcceleration = out.Status == types.BucketAccelerateStatusEnabled
	return nil
}

func readPayer(ctx context.Context, t target, live *liveBucket) error {
	out, err := t.GetBucketRequestPayment(ctx, &sdk.GetBucketRequestPaymentInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	if err != nil {
		return err
	}
	live.have.RequestPayer = new(string(types.PayerBucketOwner))
	if out.Payer != "" {
		live.have.RequestPayer = new(string(out.Payer))
	}
	return nil
}

func readWebsite(ctx context.Context, t target, live *liveBucket) error {
	out, err := t.GetBucketWebsite(ctx, &sdk.GetBucketWebsiteInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	if err != nil {
		return unless(err, "NoSuchWebsiteConfiguration")
	}
	site := &Website{}
	if out.IndexDocument != nil {
		site.IndexDocument = awssdk.ToString(out.IndexDocument.Suffix)
	}
	if out.ErrorDocument != nil {
		site.ErrorDocument = awssdk.ToString(out.ErrorDocument.Key)
	}
	if to := out.RedirectAllRequestsTo; to != nil {
		site.RedirectTo, site.RedirectProtocol = awssdk.ToString(to.HostName), string(to.Protocol)
	}
	for _, r := range out.RoutingRules {
		site.RoutingRules = append(site.RoutingRules, routingOf(r))
	}
	live.have.Website = site
	return nil
}

func readLock(ctx context.Context, t target, live *liveBucket) error {
	out, err := t.GetObjectLockConfiguration(ctx, &sdk.GetObjectLockConfigurationInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	if err != nil {
		return unless(err, "ObjectLockConfigurationNotFoundError", "MethodNotAllowed", "NotImplemented")
	}
	lock := out.ObjectLockConfiguration
	live.have.ObjectLockEnabled = lock != nil && lock.ObjectLockEnabled == types.ObjectLockEnabledEnabled
	if lock == nil || lock.Rule == nil || lock.Rule.DefaultRetention == nil {
		return nil
	}
	rule := lock.Rule.DefaultRetention
	live.eventHold = rule.DefaultEventHold
	if rule.Mode != "" {
		live.have.ObjectLockRetention = &Retention{
			Mode: string(rule.Mode), Days: int(awssdk.ToInt32(rule.Days)), Years: int(awssdk.ToInt32(rule.Years)),
		}
	}
	return nil
}

func readPolicy(ctx context.Context, t target, live *liveBucket) error {
	out, err := t.GetBucketPolicy(ctx, &sdk.GetBucketPolicyInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	if err != nil {
		return unless(err, "NoSuchBucketPolicy")
	}
	live.policy = awssdk.ToString(out.Policy)
	return nil
}

// readHolds asks for one version of one object. It is asked on every look, because what needs leave, a
// deletion or a replacement, is decided only after looking.
func readHolds(ctx context.Context, t target, live *liveBucket) error {
	out, err := t.ListObjectVersions(ctx, &sdk.ListObjectVersionsInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner, MaxKeys: new(int32(1))})
	if err != nil {
		return err
	}
	live.holds = len(out.Versions)+len(out.DeleteMarkers) > 0
	return nil
}

func routingOf(in types.RoutingRule) RoutingRule {
	r := RoutingRule{}
	if when := in.Condition; when != nil {
		r.KeyPrefix, r.ErrorCode = awssdk.ToString(when.KeyPrefixEquals), awssdk.ToString(when.HttpErrorCodeReturnedEquals)
	}
	if to := in.Redirect; to != nil {
		r.Host, r.Protocol, r.RedirectCode = awssdk.ToString(to.HostName), string(to.Protocol), awssdk.ToString(to.HttpRedirectCode)
		r.ReplaceKey, r.ReplaceKeyPrefix = awssdk.ToString(to.ReplaceKeyWith), to.ReplaceKeyPrefixWith
	}
	return r
}
