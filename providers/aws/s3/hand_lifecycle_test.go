package s3

import (
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/providers/aws"
)

// handLifecycle sets the rules of a bucket, written apart from how the kind writes them.
func handLifecycle(ctx ctx, c client, name *string, p BucketProps) error {
	if len(p.Lifecycle) == 0 {
		_, err := c.DeleteBucketLifecycle(ctx, &sdk.DeleteBucketLifecycleInput{Bucket: name})
		return err
	}
	var rules []types.LifecycleRule
	for _, r := range p.Lifecycle {
		rule := types.LifecycleRule{ID: aws.OrNil(r.ID), Status: types.ExpirationStatusEnabled, Filter: handFilter(r)}
		if r.Disabled {
			rule.Status = types.ExpirationStatusDisabled
		}
		if e := r.Expiration; e != nil {
			rule.Expiration = &types.LifecycleExpiration{Days: aws.OrNil(int32(e.Days)), Date: onDay(e.Date)}
			if e.DeleteMarkers {
				rule.Expiration.ExpiredObjectDeleteMarker = new(true)
			}
		}
		for _, move := range r.Transitions {
			to := types.Transition{StorageClass: types.TransitionStorageClass(move.StorageClass), Date: onDay(move.Date)}
			if move.Date == "" {
				to.Days = new(int32(move.Days))
			}
			rule.Transitions = append(rule.Transitions, to)
		}
		if e := r.NoncurrentExpiration; e != nil {
			rule.NoncurrentVersionExpiration = &types.NoncurrentVersionExpiration{
				NoncurrentDays: aws.OrNil(int32(e.Days)), NewerNoncurrentVersions: aws.OrNil(int32(e.KeepNewest)),
			}
		}
		for _, move := range r.NoncurrentTransitions {
			rule.NoncurrentVersionTransitions = append(rule.NoncurrentVersionTransitions, types.NoncurrentVersionTransition{
				StorageClass: types.TransitionStorageClass(move.StorageClass), NoncurrentDays: new(int32(move.Days)),
				NewerNoncurrentVersions: aws.OrNil(int32(move.KeepNewest)),
			})
		}
		if r.AbortUploadsAfterDays > 0 {
			rule.AbortIncompleteMultipartUpload = &types.AbortIncompleteMultipartUpload{DaysAfterInitiation: aws.OrNil(int32(r.AbortUploadsAfterDays))}
		}
		rules = append(rules, rule)
	}
	_, err := c.PutBucketLifecycleConfiguration(ctx, &sdk.PutBucketLifecycleConfigurationInput{
		Bucket: name, LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: rules},
	})
	return err
}

// handFilter is always of the long form, but for a rule without conditions.
func handFilter(r LifecycleRule) *types.LifecycleRuleFilter {
	and := &types.LifecycleRuleAndOperator{
		Prefix: aws.OrNil(r.Prefix), ObjectSizeGreaterThan: (*int64)(r.SizeGreaterThan), ObjectSizeLessThan: (*int64)(r.SizeLessThan),
	}
	for k, v := range r.Tags {
		and.Tags = append(and.Tags, types.Tag{Key: &k, Value: &v})
	}
	if r.Prefix == "" && len(r.Tags) == 0 && r.SizeGreaterThan == nil && r.SizeLessThan == nil {
		return &types.LifecycleRuleFilter{Prefix: new("")}
	}
	return &types.LifecycleRuleFilter{And: and}
}
