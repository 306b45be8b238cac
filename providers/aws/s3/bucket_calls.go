package s3

import (
	"context"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

type bucketCall = reconcile.Operation[liveBucket]

// call makes one call on the bucket that was seen.
func call(name string, do func(context.Context, target, liveBucket) error) *bucketCall {
	return &bucketCall{Name: name, Do: func(ctx context.Context, on reconcile.On[liveBucket]) error {
		t, err := targetOf(on.Cloud, on.Place, on.Live.name)
		if err != nil {
			return err
		}
		return do(ctx, t, on.Live)
	}}
}

func putOwnership(want BucketProps) *bucketCall {
	return call("PutBucketOwnershipControls", func(ctx context.Context, t target, _ liveBucket) error {
		rule := types.OwnershipControlsRule{ObjectOwnership: types.ObjectOwnership(awssdk.ToString(want.ObjectOwnership))}
		_, err := t.PutBucketOwnershipControls(ctx, &sdk.PutBucketOwnershipControlsInput{
			Bucket: t.bucket, ExpectedBucketOwner: t.owner,
			OwnershipControls: &types.OwnershipControls{Rules: []types.OwnershipControlsRule{rule}},
		})
		return err
	})
}

func putPublicAccess(want PublicAccessBlock) *bucketCall {
	return call("PutPublicAccessBlock", func(ctx context.Context, t target, _ liveBucket) error {
		_, err := t.PutPublicAccessBlock(ctx, &sdk.PutPublicAccessBlockInput{
			Bucket: t.bucket, ExpectedBucketOwner: t.owner,
			PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{
				BlockPublicAcls: want.BlockPublicACLs, IgnorePublicAcls: want.IgnorePublicACLs,
				BlockPublicPolicy: want.BlockPublicPolicy, RestrictPublicBuckets: want.RestrictPublicBuckets,
			},
		})
		return err
	})
}

func putVersioning(want string) *bucketCall {
	return call("PutBucketVersioning", func(ctx context.Context, t target, _ liveBucket) error {
		_, err := t.PutBucketVersioning(ctx, &sdk.PutBucketVersioningInput{
			Bucket: t.bucket, ExpectedBucketOwner: t.owner,
			VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatus(want)},
		})
		return err
	})
}

// putEncryption is also how the default comes back: DeleteBucketEncryption would take along the types of
// encryption that are blocked, which are not managed.
func putEncryption(want Encryption) *bucketCall {
	return call("PutBucketEncryption", func(ctx context.Context, t target, live liveBucket) error {
		rule := types.ServerSideEncryptionRule{
			ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{
				SSEAlgorithm: types.ServerSideEncryption(want.Algorithm), KMSMasterKeyID: aws.OrNil(want.KMSKey),
			},
			BlockedEncryptionTypes: live.blocked,
		}
		if want.Algorithm == "aws:kms" {
			rule.BucketKeyEnabled = new(want.BucketKeyEnabled)
		}
		_, err := t.PutBucketEncryption(ctx, &sdk.PutBucketEncryptionInput{
			Bucket: t.bucket, ExpectedBucketOwner: t.owner,
			ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{Rules: []types.ServerSideEncryptionRule{rule}},
		})
		return err
	})
}

func putCORS(want []CORSRule) *bucketCall {
	if len(want) == 0 {
		return call("DeleteBucketCors", func(ctx context.Context, t target, _ liveBucket) error {
			_, err := t.DeleteBucketCors(ctx, &sdk.DeleteBucketCorsInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
			return err
		})
	}
	return call("PutBucketCors", func(ctx context.Context, t target, _ liveBucket) error {
		rules := make([]types.CORSRule, len(want))
		for i, r := range want {
			rules[i] = types.CORSRule{
				ID: aws.OrNil(r.ID), AllowedMethods: r.AllowedMethods, AllowedOrigins: r.AllowedOrigins,
				AllowedHeaders: r.AllowedHeaders, ExposeHeaders: r.ExposeHeaders,
			}
			if r.MaxAge != nil {
				rules[i].MaxAgeSeconds = new(int32(*r.MaxAge / time.Second))
			}
		}
		_, err := t.PutBucketCors(ctx, &sdk.PutBucketCorsInput{
			Bucket: t.bucket, ExpectedBucketOwner: t.owner, CORSConfiguration: &types.CORSConfiguration{CORSRules: rules},
		})
		return err
	})
}

func putLifecycle(want []LifecycleRule) *bucketCall {
	if len(want) == 0 {
		return call("DeleteBucketLifecycle", func(ctx context.Context, t target, _ liveBucket) error {
			_, err := t.DeleteBucketLifecycle(ctx, &sdk.DeleteBucketLifecycleInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
			return err
		})
	}
	return call("PutBucketLifecycleConfiguration", func(ctx context.Context, t target, live liveBucket) error {
		rules := make([]types.LifecycleRule, len(want))
		for i, r := range want {
			rules[i] = r.rule()
		}
		_, err := t.PutBucketLifecycleConfiguration(ctx, &sdk.PutBucketLifecycleConfigurationInput{
			Bucket: t.bucket, ExpectedBucketOwner: t.owner, TransitionDefaultMinimumObjectSize: live.minimumSize,
			LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: rules},
		})
		return err
	})
}

// putLogging turns logging off with an empty document: there is no call that deletes it.
func putLogging(want *Logging) *bucketCall {
	return call("PutBucketLogging", func(ctx context.Context, t target, live liveBucket) error {
		status := &types.BucketLoggingStatus{}
		if want != nil {
			status.LoggingEnabled = &types.LoggingEnabled{
				TargetBucket: aws.OrNil(string(want.Bucket)), TargetPrefix: new(want.Prefix), TargetGrants: live.grants,
			}
			if want.PartitionedBy != "" {
				status.LoggingEnabled.TargetObjectKeyFormat = &types.TargetObjectKeyFormat{
					PartitionedPrefix: &types.PartitionedPrefix{PartitionDateSource: types.PartitionDateSource(want.PartitionedBy)},
				}
			}
		}
		_, err := t.PutBucketLogging(ctx, &sdk.PutBucketLoggingInput{
			Bucket: t.bucket, ExpectedBucketOwner: t.owner, BucketLoggingStatus: status,
		})
		return err
	})
}

func putAcceleration(want bool) *bucketCall {
	return call("PutBucketAccelerateConfiguration", func(ctx context.Context, t target, _ liveBucket) error {
		status := types.BucketAccelerateStatusSuspended
		if want {
			status = types.BucketAccelerateStatusEnabled
		}
		_, err := t.PutBucketAccelerateConfiguration(ctx, &sdk.PutBucketAccelerateConfigurationInput{
			Bucket: t.bucket, ExpectedBucketOwner: t.owner,
			AccelerateConfiguration: &types.AccelerateConfiguration{Status: status},
		})
		return err
	})
}

func putPayer(want BucketProps) *bucketCall {
	return call("PutBucketRequestPayment", func(ctx context.Context, t target, _ liveBucket) error {
		_, err := t.PutBucketRequestPayment(ctx, &sdk.PutBucketRequestPaymentInput{
			Bucket: t.bucket, ExpectedBucketOwner: t.owner,
			RequestPaymentConfiguration: &types.RequestPaymentConfiguration{Payer: types.Payer(awssdk.ToString(want.RequestPayer))},
		})
		return err
	})
}

// putLock turns locking on, which cannot be undone, and sets or clears the retention of new objects.
func putLock(want *Retention) *bucketCall {
	return call("PutObjectLockConfiguration", func(ctx context.Context, t target, live liveBucket) error {
		lock := &types.ObjectLockConfiguration{ObjectLockEnabled: types.ObjectLockEnabledEnabled}
		rule := types.DefaultRetention{DefaultEventHold: live.eventHold}
		if want != nil {
			rule.Mode, rule.Days, rule.Years = types.ObjectLockRetentionMode(want.Mode), count(want.Days), count(want.Years)
		}
		if want != nil || live.eventHold != nil {
			lock.Rule = &types.ObjectLockRule{DefaultRetention: &rule}
		}
		_, err := t.PutObjectLockConfiguration(ctx, &sdk.PutObjectLockConfigurationInput{
			Bucket: t.bucket, ExpectedBucketOwner: t.owner, ObjectLockConfiguration: lock,
		})
		return err
	})
}
