package s3

import (
	"context"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// settings are those of a bucket as S3 writes them, one field for each call. The table of the props reads and writes them.
type settings struct {
	ObjectOwnership   types.ObjectOwnership
	PublicAccessBlock types.PublicAccessBlockConfiguration
	Versioning        types.BucketVersioningStatus
	Encryption        types.ServerSideEncryptionRule
	CORSRules         []types.CORSRule
	LifecycleRules    []types.LifecycleRule
	LoggingEnabled    *types.LoggingEnabled
	Accelerate        types.BucketAccelerateStatus
	Payer             types.Payer
	Website           *types.WebsiteConfiguration
	ObjectLock        types.ObjectLockConfiguration
	Policy            *string

	minimumSize types.TransitionDefaultMinimumObjectSize
	eventHold   *types.EventHoldDuration
}

// unset is what holds where S3 says that nothing is set: without ownership controls lists of access count, as they did before
// there were any; without a block all four are off, though new buckets have them on; and S3 has encrypted every bucket with its
// own keys since 2023.
func unset() settings {
	return settings{
		ObjectOwnership: types.ObjectOwnershipObjectWriter,
		PublicAccessBlock: types.PublicAccessBlockConfiguration{
			BlockPublicAcls: new(false), IgnorePublicAcls: new(false), BlockPublicPolicy: new(false), RestrictPublicBuckets: new(false),
		},
		Encryption: types.ServerSideEncryptionRule{
			ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAes256},
		},
	}
}

// reading is a call that reads a setting, unless it answers with a code which says that nothing is set.
func reading[I, O any](
	t target, call func(context.Context, *I, ...func(*sdk.Options)) (*O, error), keep func(*O), codes ...string,
) func(context.Context) error {
	return func(ctx context.Context) error {
		out, err := ask(ctx, t, call, *new(I))
		if err == nil {
			keep(out)
		}
		return unless(err, codes...)
	}
}

// reads are one for each setting. Each writes to fields of its own, so that they may run at once.
func (l *liveBucket) reads(t target) []func(context.Context) error {
	s := &l.settings
	versioning := reading(t, t.GetBucketVersioning, func(out *sdk.GetBucketVersioningOutput) { s.Versioning = out.Status })
	// A lock turns versions on, and they stay on with it: https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-lock.html
	lock := reading(t, t.GetObjectLockConfiguration, s.readLock,
		"ObjectLockConfigurationNotFoundError", "MethodNotAllowed", "NotImplemented")
	all := []func(context.Context) error{
		reading(t, t.GetBucketOwnershipControls, func(out *sdk.GetBucketOwnershipControlsOutput) {
			if c := out.OwnershipControls; c != nil && len(c.Rules) > 0 {
				s.ObjectOwnership = c.Rules[0].ObjectOwnership
			}
		}, "OwnershipControlsNotFoundError"),
		reading(t, t.GetPublicAccessBlock, func(out *sdk.GetPublicAccessBlockOutput) {
			if b := out.PublicAccessBlockConfiguration; b != nil {
				s.PublicAccessBlock = types.PublicAccessBlockConfiguration{
					BlockPublicAcls:       new(awssdk.ToBool(b.BlockPublicAcls)),
					IgnorePublicAcls:      new(awssdk.ToBool(b.IgnorePublicAcls)),
					BlockPublicPolicy:     new(awssdk.ToBool(b.BlockPublicPolicy)),
					RestrictPublicBuckets: new(awssdk.ToBool(b.RestrictPublicBuckets)),
				}
			}
		}, "NoSuchPublicAccessBlockConfiguration"),
		func(ctx context.Context) error {
			if err := versioning(ctx); err != nil || s.Versioning != types.BucketVersioningStatusEnabled {
				return err
			}
			return lock(ctx)
		},
		reading(t, t.GetBucketEncryption, s.readEncryption, "ServerSideEncryptionConfigurationNotFoundError"),
		reading(t, t.GetBucketCors, func(out *sdk.GetBucketCorsOutput) { s.CORSRules = out.CORSRules }, "NoSuchCORSConfiguration"),
		reading(t, t.GetBucketLifecycleConfiguration, func(out *sdk.GetBucketLifecycleConfigurationOutput) {
			s.minimumSize = out.TransitionDefaultMinimumObjectSize
			for _, r := range out.Rules {
				s.LifecycleRules = append(s.LifecycleRules, combined(r))
			}
		}, "NoSuchLifecycleConfiguration"),
		reading(t, t.GetBucketLogging, func(out *sdk.GetBucketLoggingOutput) { s.LoggingEnabled = out.LoggingEnabled }),
		// Regions without the feature refuse the question, and nothing is accelerated there.
		reading(t, t.GetBucketAccelerateConfiguration, func(out *sdk.GetBucketAccelerateConfigurationOutput) {
			s.Accelerate = out.Status
		}, "UnsupportedArgument", "MethodNotAllowed", "NotImplemented"),
		reading(t, t.GetBucketRequestPayment, func(out *sdk.GetBucketRequestPaymentOutput) { s.Payer = out.Payer }),
		reading(t, t.GetBucketWebsite, func(out *sdk.GetBucketWebsiteOutput) {
			s.Website = &types.WebsiteConfiguration{
				IndexDocument: out.IndexDocument, ErrorDocument: out.ErrorDocument,
				RedirectAllRequestsTo: out.RedirectAllRequestsTo, RoutingRules: out.RoutingRules,
			}
		}, "NoSuchWebsiteConfiguration"),
		reading(t, t.GetBucketNotificationConfiguration, l.readNotifications),
		reading(t, t.GetBucketPolicy, func(out *sdk.GetBucketPolicyOutput) { s.Policy = out.Policy }, "NoSuchBucketPolicy"),
	}
	if !l.holdsData {
		all = append(all, func(ctx context.Context) error { return l.readContents(ctx, t) })
	}
	return all
}

// readContents asks for one version of one object.
func (l *liveBucket) readContents(ctx context.Context, t target) error {
	out, err := ask(ctx, t, t.ListObjectVersions, sdk.ListObjectVersionsInput{MaxKeys: new(int32(1))})
	l.holdsData = err == nil && len(out.Versions)+len(out.DeleteMarkers) > 0
	return err
}

func (s *settings) readEncryption(out *sdk.GetBucketEncryptionOutput) {
	if c := out.ServerSideEncryptionConfiguration; c != nil && len(c.Rules) > 0 {
		rule := c.Rules[0]
		if rule.ApplyServerSideEncryptionByDefault == nil {
			rule.ApplyServerSideEncryptionByDefault = s.Encryption.ApplyServerSideEncryptionByDefault
		}
		s.Encryption = rule
	}
}

// readLock keeps a hold for events apart: it may stand where no retention does.
func (s *settings) readLock(out *sdk.GetObjectLockConfigurationOutput) {
	if out.ObjectLockConfiguration == nil {
		return
	}
	s.ObjectLock = *out.ObjectLockConfiguration
	if rule := s.ObjectLock.Rule; rule != nil && rule.DefaultRetention != nil {
		if s.eventHold = rule.DefaultRetention.DefaultEventHold; rule.DefaultRetention.Mode == "" {
			s.ObjectLock.Rule = nil
		}
	}
}

// compareBucket states the tags, and then the settings in the order in which they are written.
func compareBucket(d *bucketDiff, want BucketProps, live liveBucket) {
	have := live.have
	compareTags(d, want.Tags, live.tags, "PutBucketTagging", putTags)
	// A bucket whose props do not ask for versions has what new buckets have, or Suspended once it was enabled. Suspended that is
	// asked for is not the same as never enabled: deletions then leave markers.
	if want.Versioning == "" && have.Versioning != "" {
		want.Versioning = "Suspended"
	}
	if have.Encryption = new(*have.Encryption); sameKey(want.Encryption.KMSKey, have.Encryption.KMSKey) {
		have.Encryption.KMSKey = want.Encryption.KMSKey
	}
	have.Lifecycle = aligned(want.Lifecycle, have.Lifecycle)
	want, have = notificationsApart(want, have)
	calls := bucketCalls(want)
	if !want.ObjectLockEnabled {
		have.ObjectLockRetention = nil
	}
	if have.ObjectLockEnabled {
		calls["objectLockEnabled"] = nil // S3 never turns a lock off
	}
	kind.CompareEach(d, bucketTable, want, have, calls)
}

func putTags(ctx context.Context, u kind.Update[liveBucket], tags []types.Tag) error {
	t := targetOf(u.Facts, u.Live.name)
	if len(tags) == 0 {
		return set(ctx, t, t.DeleteBucketTagging, sdk.DeleteBucketTaggingInput{})
	}
	return set(ctx, t, t.PutBucketTagging, sdk.PutBucketTaggingInput{Tagging: &types.Tagging{TagSet: tags}})
}

// bucketCalls are the calls that write settings, by their props.
func bucketCalls(want BucketProps) map[tree.Path]*bucketCall {
	writing := func(name string, put func(ctx context.Context, t target, to settings, live settings) error) *bucketCall {
		return kind.Set(name, func(ctx context.Context, u kind.Update[liveBucket]) error {
			var to settings
			if err := bucketTable.Created(bucketTable.Merged(want, u.Live.have, u.Changed), kind.Struct(&to)); err != nil {
				return err
			}
			return put(ctx, targetOf(u.Facts, u.Live.name), to, u.Live.settings)
		})
	}
	lock := writing("PutObjectLockConfiguration", putLock)
	notifications := kind.Set("PutBucketNotificationConfiguration", func(ctx context.Context, u kind.Update[liveBucket]) error {
		return putNotifications(ctx, u, want)
	})
	calls := map[tree.Path]*bucketCall{
		"objectOwnership": writing("PutBucketOwnershipControls", func(ctx context.Context, t target, to, _ settings) error {
			rules := []types.OwnershipControlsRule{{ObjectOwnership: to.ObjectOwnership}}
			return set(ctx, t, t.PutBucketOwnershipControls, sdk.PutBucketOwnershipControlsInput{
				OwnershipControls: &types.OwnershipControls{Rules: rules},
			})
		}),
		"publicAccessBlock": writing("PutPublicAccessBlock", func(ctx context.Context, t target, to, _ settings) error {
			return set(ctx, t, t.PutPublicAccessBlock, sdk.PutPublicAccessBlockInput{
				PublicAccessBlockConfiguration: &to.PublicAccessBlock,
			})
		}),
		"versioning": writing("PutBucketVersioning", func(ctx context.Context, t target, to, _ settings) error {
			return set(ctx, t, t.PutBucketVersioning, sdk.PutBucketVersioningInput{
				VersioningConfiguration: &types.VersioningConfiguration{Status: to.Versioning},
			})
		}),
		// This call brings the default back too: DeleteBucketEncryption would take along the types of encryption that are
		// blocked, which are not managed.
		"encryption": writing("PutBucketEncryption", func(ctx context.Context, t target, to, live settings) error {
			to.Encryption.BlockedEncryptionTypes = live.Encryption.BlockedEncryptionTypes
			all := &types.ServerSideEncryptionConfiguration{Rules: []types.ServerSideEncryptionRule{to.Encryption}}
			return set(ctx, t, t.PutBucketEncryption, sdk.PutBucketEncryptionInput{ServerSideEncryptionConfiguration: all})
		}),
		"cors": writing("PutBucketCors", func(ctx context.Context, t target, to, _ settings) error {
			all := &types.CORSConfiguration{CORSRules: to.CORSRules}
			return set(ctx, t, t.PutBucketCors, sdk.PutBucketCorsInput{CORSConfiguration: all})
		}),
		"lifecycle": writing("PutBucketLifecycleConfiguration", func(ctx context.Context, t target, to, live settings) error {
			for i, rule := range to.LifecycleRules {
				to.LifecycleRules[i].Filter = filterOf(rule)
			}
			return set(ctx, t, t.PutBucketLifecycleConfiguration, sdk.PutBucketLifecycleConfigurationInput{
				TransitionDefaultMinimumObjectSize: live.minimumSize,
				LifecycleConfiguration:             &types.BucketLifecycleConfiguration{Rules: to.LifecycleRules},
			})
		}),
		"logging": writing("PutBucketLogging", putLogging),
		"transferAcceleration": writing("PutBucketAccelerateConfiguration", func(ctx context.Context, t target, to, _ settings) error {
			return set(ctx, t, t.PutBucketAccelerateConfiguration, sdk.PutBucketAccelerateConfigurationInput{
				AccelerateConfiguration: &types.AccelerateConfiguration{Status: to.Accelerate},
			})
		}),
		"requestPayer": writing("PutBucketRequestPayment", func(ctx context.Context, t target, to, _ settings) error {
			return set(ctx, t, t.PutBucketRequestPayment, sdk.PutBucketRequestPaymentInput{
				RequestPaymentConfiguration: &types.RequestPaymentConfiguration{Payer: to.Payer},
			})
		}),
		"website": writing("PutBucketWebsite", func(ctx context.Context, t target, to, _ settings) error {
			return set(ctx, t, t.PutBucketWebsite, sdk.PutBucketWebsiteInput{WebsiteConfiguration: to.Website})
		}),
		"notifications": notifications, "bindings": notifications, "eventBridge": notifications,
		"objectLockEnabled": lock, "objectLockRetention": lock,
		"policy": writing("PutBucketPolicy", func(ctx context.Context, t target, to, _ settings) error {
			return set(ctx, t, t.PutBucketPolicy, sdk.PutBucketPolicyInput{Policy: to.Policy})
		}),
	}
	if len(want.CORS) == 0 {
		calls["cors"] = writing("DeleteBucketCors", func(ctx context.Context, t target, _, _ settings) error {
			return set(ctx, t, t.DeleteBucketCors, sdk.DeleteBucketCorsInput{})
		})
	}
	if len(want.Lifecycle) == 0 {
		calls["lifecycle"] = writing("DeleteBucketLifecycle", func(ctx context.Context, t target, _, _ settings) error {
			return set(ctx, t, t.DeleteBucketLifecycle, sdk.DeleteBucketLifecycleInput{})
		})
	}
	if want.Website == nil {
		calls["website"] = writing("DeleteBucketWebsite", func(ctx context.Context, t target, _, _ settings) error {
			return set(ctx, t, t.DeleteBucketWebsite, sdk.DeleteBucketWebsiteInput{})
		})
	}
	if want.Policy == nil || want.Policy == "" {
		calls["policy"] = writing("DeleteBucketPolicy", func(ctx context.Context, t target, _, _ settings) error {
			return set(ctx, t, t.DeleteBucketPolicy, sdk.DeleteBucketPolicyInput{})
		})
	}
	return calls
}

// putLogging turns logging off with an empty document: there is no call that deletes it.
func putLogging(ctx context.Context, t target, to, live settings) error {
	if l := to.LoggingEnabled; l != nil {
		l.TargetPrefix = new(awssdk.ToString(l.TargetPrefix)) // S3 requires one
		if live.LoggingEnabled != nil {
			l.TargetGrants = live.LoggingEnabled.TargetGrants
		}
	}
	status := &types.BucketLoggingStatus{LoggingEnabled: to.LoggingEnabled}
	return set(ctx, t, t.PutBucketLogging, sdk.PutBucketLoggingInput{BucketLoggingStatus: status})
}

// putLock turns locking on, which cannot be undone, and sets or clears the retention of new objects.
func putLock(ctx context.Context, t target, to, live settings) error {
	if to.ObjectLock.Rule == nil && live.eventHold != nil {
		to.ObjectLock.Rule = &types.ObjectLockRule{DefaultRetention: &types.DefaultRetention{}}
	}
	if to.ObjectLock.Rule != nil {
		to.ObjectLock.Rule.DefaultRetention.DefaultEventHold = live.eventHold
	}
	return set(ctx, t, t.PutObjectLockConfiguration, sdk.PutObjectLockConfigurationInput{ObjectLockConfiguration: &to.ObjectLock})
}

// switchCodec is the codec of a boolean for which S3 has two words.
func switchCodec(name, on, off string) kind.Codec {
	return kind.Codec{
		Name: name,
		Write: func(prop any) (any, error) {
			if prop == true {
				return on, nil
			}
			return off, nil
		},
		Read: func(wire any) (any, error) { return wire == on, nil },
	}
}

// sameKey reports whether two spellings mean one key: its ARN, and its identifier or alias alone.
func sameKey(want, have string) bool {
	if want == "" || have == "" || token.Has(want) {
		return want == have
	}
	means := func(short, arn string) bool {
		return strings.HasSuffix(arn, ":key/"+short) || strings.HasPrefix(short, "alias/") && strings.HasSuffix(arn, ":"+short)
	}
	return want == have || means(want, have) || means(have, want)
}
