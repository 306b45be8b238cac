package s3

import (
	"context"
	"errors"
	"fmt"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// liveBucket is what S3 shows of a bucket, in the shape of its props.
type liveBucket struct {
	name  string
	place reconcile.Place
	have  BucketProps
	// policy is the document as text.
	policy string
	// tags are all of them: the author's, the mark, and those of AWS.
	tags map[string]string
	// holds says that there is an object, an older version or a delete marker.
	holds bool

	// What follows is not managed, and carried over by the calls that write it with the rest.
	minimumSize types.TransitionDefaultMinimumObjectSize
	blocked     *types.BlockedEncryptionTypes
	grants      []types.TargetGrant
	eventHold   *types.EventHoldDuration
}

// target is a bucket that calls are made on: every call names the account that must own it, so that a name
// that somebody else has taken meanwhile is refused by S3 itself.
type target struct {
	*sdk.Client
	cloud         reconcile.Cloud
	bucket, owner *string
}

func targetOf(cloud reconcile.Cloud, place reconcile.Place, name string) (target, error) {
	client, err := clientOf(cloud)
	return target{Client: client, cloud: cloud, bucket: &name, owner: aws.OrNil(place.Account)}, err
}

var errNoName = errors.New("a bucket is found by its name, and there is none")

// observeBucket asks for the tags first, because that answer, unlike HeadBucket's, has a body that says why not;
// then for all other aspects at once.
func observeBucket(ctx context.Context, site bucketSite) (liveBucket, error) {
	name := bucketName(site)
	if name == "" {
		return liveBucket{}, errNoName
	}
	live := liveBucket{name: name, place: site.Place}
	t, err := targetOf(site.Cloud, site.Place, name)
	if err != nil {
		return live, err
	}
	if err := readTags(ctx, t, &live); err != nil {
		return live, explained(t, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, read := range reads() {
		group.Go(func() error { return aws.NotYet(read(ctx, t, &live)) })
	}
	err = group.Wait()
	if err == nil || has(err, "NoSuchBucket") { // which is not believed: the tags were there a moment ago
		return live, err
	}
	return live, explained(t, err)
}

// bucketName is where to look: what was named to take over, what is on record, else the physical name.
func bucketName(site bucketSite) string {
	switch {
	case site.ID != "":
		return withoutARN(site.ID)
	case site.Last != nil:
		return string(site.Last.Name)
	default:
		return site.Name
	}
}

// withoutARN takes an ARN for what it names, since that is what people paste.
func withoutARN(id string) string {
	if parts, ok := aws.ARN(id).Parse(); ok {
		return parts.Resource
	}
	return id
}

// explained makes "no such bucket" absence, and says of a refusal what it may mean.
func explained(t target, err error) error {
	switch {
	case has(err, "NoSuchBucket"):
		return reconcile.ErrAbsent
	case has(err, "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"):
		return reconcile.WithHint(fmt.Errorf("bucket %s is in another region: %w", *t.bucket, err),
			"use the region that the bucket is in, or another name")
	case t.cloud != nil && t.cloud.Classify(err) == reconcile.Denied:
		return reconcile.WithHint(fmt.Errorf("bucket %s is somebody else's, or may not be read: %w", *t.bucket, err),
			"names are shared by all accounts: choose another, or leave it out to have one generated; if the bucket is yours, allow s3:GetBucket* on it")
	}
	return err
}

// has reports whether S3 answered with one of these codes.
func has(err error, codes ...string) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return false
	}
	for _, code := range codes {
		if api.ErrorCode() == code {
			return true
		}
	}
	return false
}

// unless keeps an error unless its code says that the aspect is not set.
func unless(err error, codes ...string) error {
	if has(err, codes...) {
		return nil
	}
	return err
}

type read func(context.Context, target, *liveBucket) error

// reads are one for each aspect. Each writes to fields of its own, so that they may run at once.
func reads() []read {
	return []read{
		readOwnership, readPublicAccess, readVersioning, readEncryption, readCORS, readLifecycle, readLogging,
		readAcceleration, readPayer, readWebsite, readNotifications, readLock, readPolicy, readHolds,
	}
}

func readTags(ctx context.Context, t target, live *liveBucket) error {
	out, err := t.GetBucketTagging(ctx, &sdk.GetBucketTaggingInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	if err != nil {
		live.tags = map[string]string{}
		return unless(err, "NoSuchTagSet", "NoSuchTagSetError")
	}
	live.tags = tagMap(out.TagSet)
	return nil
}

// readOwnership: without controls lists of access count, as they did before there were any.
func readOwnership(ctx context.Context, t target, live *liveBucket) error {
	live.have.ObjectOwnership = new(string(types.ObjectOwnershipObjectWriter))
	out, err := t.GetBucketOwnershipControls(ctx, &sdk.GetBucketOwnershipControlsInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	if err != nil {
		return unless(err, "OwnershipControlsNotFoundError")
	}
	if out.OwnershipControls != nil && len(out.OwnershipControls.Rules) > 0 {
		live.have.ObjectOwnership = new(string(out.OwnershipControls.Rules[0].ObjectOwnership))
	}
	return nil
}

// readPublicAccess: a bucket without a block has all four off, though new buckets have them on.
func readPublicAccess(ctx context.Context, t target, live *liveBucket) error {
	block := &types.PublicAccessBlockConfiguration{}
	out, err := t.GetPublicAccessBlock(ctx, &sdk.GetPublicAccessBlockInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	if err == nil && out.PublicAccessBlockConfiguration != nil {
		block = out.PublicAccessBlockConfiguration
	}
	live.have.PublicAccessBlock = &PublicAccessBlock{
		BlockPublicACLs: new(awssdk.ToBool(block.BlockPublicAcls)), IgnorePublicACLs: new(awssdk.ToBool(block.IgnorePublicAcls)),
		BlockPublicPolicy: new(awssdk.ToBool(block.BlockPublicPolicy)), RestrictPublicBuckets: new(awssdk.ToBool(block.RestrictPublicBuckets)),
	}
	return unless(err, "NoSuchPublicAccessBlockConfiguration")
}

func readVersioning(ctx context.Context, t target, live *liveBucket) error {
	out, err := t.GetBucketVersioning(ctx, &sdk.GetBucketVersioningInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	if err != nil {
		return err
	}
	live.have.Versioning = string(out.Status)
	return nil
}

// readEncryption: S3 has encrypted every bucket with its own keys since 2023, so that none shown is that.
func readEncryption(ctx context.Context, t target, live *liveBucket) error {
	live.have.Encryption = defaultEncryption()
	out, err := t.GetBucketEncryption(ctx, &sdk.GetBucketEncryptionInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	if err != nil {
		return unless(err, "ServerSideEncryptionConfigurationNotFoundError")
	}
	if out.ServerSideEncryptionConfiguration == nil || len(out.ServerSideEncryptionConfiguration.Rules) == 0 {
		return nil
	}
	rule := out.ServerSideEncryptionConfiguration.Rules[0]
	live.blocked = rule.BlockedEncryptionTypes
	if by := rule.ApplyServerSideEncryptionByDefault; by != nil {
		live.have.Encryption = (&Encryption{
			Algorithm: string(by.SSEAlgorithm), KMSKey: awssdk.ToString(by.KMSMasterKeyID), BucketKeyEnabled: awssdk.ToBool(rule.BucketKeyEnabled),
		}).normal()
	}
	return nil
}

func readCORS(ctx context.Context, t target, live *liveBucket) error {
	out, err := t.GetBucketCors(ctx, &sdk.GetBucketCorsInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	if err != nil {
		return unless(err, "NoSuchCORSConfiguration")
	}
	for _, r := range out.CORSRules {
		rule := CORSRule{
			ID: awssdk.ToString(r.ID), AllowedMethods: r.AllowedMethods, AllowedOrigins: r.AllowedOrigins,
			AllowedHeaders: r.AllowedHeaders, ExposeHeaders: r.ExposeHeaders,
		}
		if r.MaxAgeSeconds != nil {
			rule.MaxAge = new(time.Duration(*r.MaxAgeSeconds) * time.Second)
		}
		live.have.CORS = append(live.have.CORS, rule.normal())
	}
	return nil
}

func readLifecycle(ctx context.Context, t target, live *liveBucket) error {
	out, err := t.GetBucketLifecycleConfiguration(ctx, &sdk.GetBucketLifecycleConfigurationInput{Bucket: t.bucket, ExpectedBucketOwner: t.owner})
	if err != nil {
		return unless(err, "NoSuchLifecycleConfiguration")
	}
	live.minimumSize = out.TransitionDefaultMinimumObjectSize
	for _, r := range out.Rules {
		live.have.Lifecycle = append(live.have.Lifecycle, lifecycleOf(r))
	}
	return nil
}
