package s3

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// bucketHands change each setting of a bucket as somebody else would, with S3's own client. What is not to be there is deleted
// where S3 has a call for that.
func bucketHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{
		"tags": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			out, err := w.Others.GetBucketTagging(t.Context(), &sdk.GetBucketTaggingInput{Bucket: nameOf(to.Attrs)})
			if err != nil {
				return err
			}
			in := &sdk.PutBucketTaggingInput{Bucket: nameOf(to.Attrs), Tagging: &types.Tagging{TagSet: retagged(out.TagSet, to)}}
			_, err = w.Others.PutBucketTagging(t.Context(), in)
			return err
		}),
		"": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			_, err := w.Others.DeleteBucket(t.Context(), &sdk.DeleteBucketInput{Bucket: nameOf(to.Attrs)})
			return err
		}),
	}
	for _, a := range bucketTable.Attributes() {
		if a.Wire == "" || a.Path == "objectLockEnabled" {
			continue
		}
		setting := a.Path.Steps()[0].Key
		hands[tree.Path(setting)] = ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			var p BucketProps
			if err := props.Decode(to.Props, &p); err != nil {
				return err
			}
			write := p
			if p.PublicAccessBlock != nil {
				bucketTable.Default(&write)
			}
			var s settings
			if err := bucketTable.Created(write, kind.Struct(&s)); err != nil {
				return err
			}
			return byHand(t.Context(), target{Client: w.Others, bucket: *nameOf(to.Attrs)}, setting, p, s)
		})
	}
	return hands
}

// byHand writes one setting of a bucket.
func byHand(ctx context.Context, t target, setting string, p BucketProps, to settings) error {
	switch setting {
	case "objectOwnership":
		if p.ObjectOwnership == nil {
			return set(ctx, t, t.DeleteBucketOwnershipControls, sdk.DeleteBucketOwnershipControlsInput{})
		}
		rules := []types.OwnershipControlsRule{{ObjectOwnership: to.ObjectOwnership}}
		return set(ctx, t, t.PutBucketOwnershipControls, sdk.PutBucketOwnershipControlsInput{OwnershipControls: &types.OwnershipControls{Rules: rules}})
	case "publicAccessBlock":
		if p.PublicAccessBlock == nil {
			return set(ctx, t, t.DeletePublicAccessBlock, sdk.DeletePublicAccessBlockInput{})
		}
		return set(ctx, t, t.PutPublicAccessBlock, sdk.PutPublicAccessBlockInput{PublicAccessBlockConfiguration: &to.PublicAccessBlock})
	case "versioning":
		status := cmp.Or(to.Versioning, types.BucketVersioningStatusSuspended)
		return set(ctx, t, t.PutBucketVersioning, sdk.PutBucketVersioningInput{VersioningConfiguration: &types.VersioningConfiguration{Status: status}})
	case "encryption":
		if p.Encryption == nil {
			return set(ctx, t, t.DeleteBucketEncryption, sdk.DeleteBucketEncryptionInput{})
		}
		all := &types.ServerSideEncryptionConfiguration{Rules: []types.ServerSideEncryptionRule{to.Encryption}}
		return set(ctx, t, t.PutBucketEncryption, sdk.PutBucketEncryptionInput{ServerSideEncryptionConfiguration: all})
	case "cors":
		if len(p.CORS) == 0 {
			return set(ctx, t, t.DeleteBucketCors, sdk.DeleteBucketCorsInput{})
		}
		return set(ctx, t, t.PutBucketCors, sdk.PutBucketCorsInput{CORSConfiguration: &types.CORSConfiguration{CORSRules: to.CORSRules}})
	case "lifecycle":
		if len(p.Lifecycle) == 0 {
			return set(ctx, t, t.DeleteBucketLifecycle, sdk.DeleteBucketLifecycleInput{})
		}
		for i, r := range to.LifecycleRules { // always of the long form, but for a rule without conditions
			if r.Filter == nil {
				to.LifecycleRules[i].Filter = &types.LifecycleRuleFilter{Prefix: new("")}
			}
		}
		all := &types.BucketLifecycleConfiguration{Rules: to.LifecycleRules}
		return set(ctx, t, t.PutBucketLifecycleConfiguration, sdk.PutBucketLifecycleConfigurationInput{LifecycleConfiguration: all})
	case "logging":
		if to.LoggingEnabled != nil && to.LoggingEnabled.TargetPrefix == nil {
			to.LoggingEnabled.TargetPrefix = new("")
		}
		status := &types.BucketLoggingStatus{LoggingEnabled: to.LoggingEnabled}
		return set(ctx, t, t.PutBucketLogging, sdk.PutBucketLoggingInput{BucketLoggingStatus: status})
	case "transferAcceleration":
		status := &types.AccelerateConfiguration{Status: to.Accelerate}
		return set(ctx, t, t.PutBucketAccelerateConfiguration, sdk.PutBucketAccelerateConfigurationInput{AccelerateConfiguration: status})
	case "requestPayer":
		payer := &types.RequestPaymentConfiguration{Payer: cmp.Or(to.Payer, types.PayerBucketOwner)}
		return set(ctx, t, t.PutBucketRequestPayment, sdk.PutBucketRequestPaymentInput{RequestPaymentConfiguration: payer})
	case "website":
		if p.Website == nil {
			return set(ctx, t, t.DeleteBucketWebsite, sdk.DeleteBucketWebsiteInput{})
		}
		return set(ctx, t, t.PutBucketWebsite, sdk.PutBucketWebsiteInput{WebsiteConfiguration: to.Website})
	case "notifications", "bindings", "eventBridge":
		in := sdk.PutBucketNotificationConfigurationInput{NotificationConfiguration: notificationsByHand(p)}
		return set(ctx, t, t.PutBucketNotificationConfiguration, in)
	case "objectLockRetention":
		to.ObjectLock.ObjectLockEnabled = types.ObjectLockEnabledEnabled
		return set(ctx, t, t.PutObjectLockConfiguration, sdk.PutObjectLockConfigurationInput{ObjectLockConfiguration: &to.ObjectLock})
	case "policy":
		if p.Policy == nil {
			return set(ctx, t, t.DeleteBucketPolicy, sdk.DeleteBucketPolicyInput{})
		}
		return set(ctx, t, t.PutBucketPolicy, sdk.PutBucketPolicyInput{Policy: to.Policy})
	}
	return fmt.Errorf("nobody writes %s by hand", setting)
}

func notificationsByHand(p BucketProps) *types.NotificationConfiguration {
	in := &types.NotificationConfiguration{}
	if p.EventBridge {
		in.EventBridgeConfiguration = &types.EventBridgeConfiguration{}
	}
	all := map[string]Notification{}
	maps.Copy(all, p.Notifications)
	maps.Copy(all, p.Bindings)
	for id, n := range all {
		var events []types.Event
		for _, e := range n.Events {
			events = append(events, types.Event(e))
		}
		var filter *types.NotificationConfigurationFilter
		for kind, value := range map[types.FilterRuleName]string{"prefix": n.Prefix, "suffix": n.Suffix} {
			if value == "" {
				continue
			}
			if filter == nil {
				filter = &types.NotificationConfigurationFilter{Key: &types.S3KeyFilter{}}
			}
			filter.Key.FilterRules = append(filter.Key.FilterRules, types.FilterRule{Name: kind, Value: &value})
		}
		if n.Queue != "" {
			in.QueueConfigurations = append(in.QueueConfigurations, types.QueueConfiguration{
				Id: &id, QueueArn: new(string(n.Queue)), Events: events, Filter: filter,
			})
		}
		if n.Topic != "" {
			in.TopicConfigurations = append(in.TopicConfigurations, types.TopicConfiguration{
				Id: &id, TopicArn: new(string(n.Topic)), Events: events, Filter: filter,
			})
		}
		if n.Function != "" {
			in.LambdaFunctionConfigurations = append(in.LambdaFunctionConfigurations, types.LambdaFunctionConfiguration{
				Id: &id, LambdaFunctionArn: new(string(n.Function)), Events: events, Filter: filter,
			})
		}
	}
	return in
}

// retagged are the owner tags among those that are there, and the tags that are wanted.
func retagged(have []types.Tag, to kindtest.Edited) []types.Tag {
	all := tagMap(have)
	maps.DeleteFunc(all, func(k, _ string) bool { return !adopt.IsMark(k) })
	tags, _ := to.Value.(map[string]any)
	for k, v := range tags {
		all[k], _ = v.(string)
	}
	return tagList(all)
}

// objectHands upload an object anew with one aspect changed, as somebody else would.
func objectHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	text := func(text func(w *world, to kindtest.Edited) (string, error)) kindtest.Hand {
		return ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			content, err := text(w, to)
			w.reupload(t, to.Attrs, func(in *sdk.PutObjectInput) { in.Body = strings.NewReader(content) })
			return err
		})
	}
	hands := map[tree.Path]kindtest.Hand{
		"content": text(func(_ *world, to kindtest.Edited) (string, error) { return to.Text(), nil }),
		"source": text(func(w *world, to kindtest.Edited) (string, error) {
			if to.Text() == "" {
				return "", nil
			}
			data, err := os.ReadFile(filepath.Join(w.Dir, to.Text()))
			return string(data), err
		}),
		"tags": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			bucket, key := placeOf(to.Attrs)
			have, err := w.Others.GetObjectTagging(t.Context(), &sdk.GetObjectTaggingInput{Bucket: bucket, Key: key})
			if err != nil {
				return err
			}
			in := &sdk.PutObjectTaggingInput{Bucket: bucket, Key: key, Tagging: &types.Tagging{TagSet: retagged(have.TagSet, to)}}
			_, err = w.Others.PutObjectTagging(t.Context(), in)
			return err
		}),
		"": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			bucket, key := placeOf(to.Attrs)
			_, err := w.Others.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: bucket, Key: key})
			return err
		}),
	}
	for _, a := range objectTable.Attributes() {
		if a.Wire == "" || a.Immutable {
			continue
		}
		at := tree.Path(a.Path.Steps()[0].Key)
		hands[at] = ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			var changed sdk.PutObjectInput
			err := objectTable.Created(kindtest.PropsOf(t, objectTable, to.Props), kind.Struct(&changed))
			w.reupload(t, to.Attrs, func(in *sdk.PutObjectInput) {
				for _, other := range objectTable.Attributes() {
					if other.Path.Within(at) {
						field := reflect.ValueOf(changed).FieldByName(other.Wire)
						reflect.ValueOf(in).Elem().FieldByName(other.Wire).Set(field)
					}
				}
			})
			return err
		})
	}
	return hands
}

// placeOf is where the object with these attributes lies.
func placeOf(attrs map[string]any) (bucket, key *string) {
	return awssdk.String(attrs["bucket"].(string)), awssdk.String(attrs["key"].(string))
}
