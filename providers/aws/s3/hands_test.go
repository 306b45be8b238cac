package s3

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	ctx    = context.Context
	client = *sdk.Client
)

// bucketHands change each aspect of a bucket as somebody else would, with S3's own client. What is not to be there
// is deleted where S3 has a call for that.
func (ws worlds) bucketHands() map[tree.Path]kindtest.Hand {
	hand := func(do func(ctx, client, *string, BucketProps) error) kindtest.Hand {
		return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			var p BucketProps
			if err := props.Decode(to.Props, &p); err != nil {
				t.Fatalf("%v", err)
			}
			if err := do(context.Background(), ws[w.Dir].others, nameOf(to.Attrs), p); err != nil {
				t.Fatalf("by hand: %v", err)
			}
		}
	}
	return map[tree.Path]kindtest.Hand{
		"tags": hand(handTags), "objectOwnership": hand(handOwnership), "publicAccessBlock": hand(handPublicAccess),
		"versioning": hand(handVersioning), "encryption": hand(handEncryption), "cors": hand(handCORS), "lifecycle": hand(handLifecycle),
		"logging": hand(handLogging), "transferAcceleration": hand(handAcceleration), "requestPayer": hand(handPayer),
		"website": hand(handWebsite), "notifications": hand(handNotifications), "eventBridge": hand(handNotifications), "bindings": hand(handNotifications), "policy": hand(handPolicy), "objectLockRetention": hand(handRetention),
		"": func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			if _, err := ws[w.Dir].others.DeleteBucket(t.Context(), &sdk.DeleteBucketInput{Bucket: nameOf(to.Attrs)}); err != nil {
				t.Fatalf("delete: %v", err)
			}
		},
	}
}

// handTags keeps the marks.
func handTags(ctx ctx, c client, name *string, p BucketProps) error {
	out, err := c.GetBucketTagging(ctx, &sdk.GetBucketTaggingInput{Bucket: name})
	if err != nil {
		return err
	}
	_, err = c.PutBucketTagging(ctx, &sdk.PutBucketTaggingInput{Bucket: name, Tagging: &types.Tagging{TagSet: retagged(out.TagSet, p.Tags)}})
	return err
}

// retagged are the marks among the tags that are there, and those that are wanted.
func retagged(have []types.Tag, want map[string]string) []types.Tag {
	var tags []types.Tag
	for _, tag := range have {
		if adopt.IsMark(*tag.Key) {
			tags = append(tags, tag)
		}
	}
	for k, v := range want {
		tags = append(tags, types.Tag{Key: &k, Value: &v})
	}
	return tags
}

func handOwnership(ctx ctx, c client, name *string, p BucketProps) error {
	if p.ObjectOwnership == nil {
		_, err := c.DeleteBucketOwnershipControls(ctx, &sdk.DeleteBucketOwnershipControlsInput{Bucket: name})
		return err
	}
	_, err := c.PutBucketOwnershipControls(ctx, &sdk.PutBucketOwnershipControlsInput{
		Bucket: name, OwnershipControls: &types.OwnershipControls{
			Rules: []types.OwnershipControlsRule{{ObjectOwnership: types.ObjectOwnership(*p.ObjectOwnership)}},
		},
	})
	return err
}

func handPublicAccess(ctx ctx, c client, name *string, p BucketProps) error {
	b := p.PublicAccessBlock
	if b == nil {
		_, err := c.DeletePublicAccessBlock(ctx, &sdk.DeletePublicAccessBlockInput{Bucket: name})
		return err
	}
	on := func(flag *bool) *bool { return new(flag == nil || *flag) }
	_, err := c.PutPublicAccessBlock(ctx, &sdk.PutPublicAccessBlockInput{
		Bucket: name, PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{
			BlockPublicAcls: on(b.BlockPublicACLs), IgnorePublicAcls: on(b.IgnorePublicACLs),
			BlockPublicPolicy: on(b.BlockPublicPolicy), RestrictPublicBuckets: on(b.RestrictPublicBuckets),
		},
	})
	return err
}

func handVersioning(ctx ctx, c client, name *string, p BucketProps) error {
	status := types.BucketVersioningStatusSuspended
	if p.Versioning == "Enabled" {
		status = types.BucketVersioningStatusEnabled
	}
	_, err := c.PutBucketVersioning(ctx, &sdk.PutBucketVersioningInput{Bucket: name, VersioningConfiguration: &types.VersioningConfiguration{Status: status}})
	return err
}

func handEncryption(ctx ctx, c client, name *string, p BucketProps) error {
	e := p.Encryption
	if e == nil {
		_, err := c.DeleteBucketEncryption(ctx, &sdk.DeleteBucketEncryptionInput{Bucket: name})
		return err
	}
	by := types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryption(e.Algorithm)}
	if e.KMSKey != "" {
		by.KMSMasterKeyID = &e.KMSKey
	}
	_, err := c.PutBucketEncryption(ctx, &sdk.PutBucketEncryptionInput{
		Bucket: name, ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{
			Rules: []types.ServerSideEncryptionRule{{ApplyServerSideEncryptionByDefault: &by, BucketKeyEnabled: &e.BucketKeyEnabled}},
		},
	})
	return err
}

func handNotifications(ctx ctx, c client, name *string, p BucketProps) error {
	in := &types.NotificationConfiguration{}
	if p.EventBridge {
		in.EventBridgeConfiguration = &types.EventBridgeConfiguration{}
	}
	told := map[string]Notification{}
	maps.Copy(told, p.Notifications)
	maps.Copy(told, p.Bindings)
	for id, n := range told {
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
			in.QueueConfigurations = append(in.QueueConfigurations, types.QueueConfiguration{Id: &id, QueueArn: new(string(n.Queue)), Events: events, Filter: filter})
		}
		if n.Topic != "" {
			in.TopicConfigurations = append(in.TopicConfigurations, types.TopicConfiguration{Id: &id, TopicArn: new(string(n.Topic)), Events: events, Filter: filter})
		}
		if n.Function != "" {
			in.LambdaFunctionConfigurations = append(in.LambdaFunctionConfigurations, types.LambdaFunctionConfiguration{
				Id: &id, LambdaFunctionArn: new(string(n.Function)), Events: events, Filter: filter,
			})
		}
	}
	_, err := c.PutBucketNotificationConfiguration(ctx, &sdk.PutBucketNotificationConfigurationInput{Bucket: name, NotificationConfiguration: in})
	return err
}

func handCORS(ctx ctx, c client, name *string, p BucketProps) error {
	if len(p.CORS) == 0 {
		_, err := c.DeleteBucketCors(ctx, &sdk.DeleteBucketCorsInput{Bucket: name})
		return err
	}
	var rules []types.CORSRule
	for _, r := range p.CORS {
		rule := types.CORSRule{
			AllowedMethods: r.AllowedMethods, AllowedOrigins: r.AllowedOrigins, AllowedHeaders: r.AllowedHeaders, ExposeHeaders: r.ExposeHeaders,
			ID: aws.OrNil(r.ID),
		}
		if r.MaxAge != nil {
			rule.MaxAgeSeconds = new(int32(r.MaxAge.Seconds()))
		}
		rules = append(rules, rule)
	}
	_, err := c.PutBucketCors(ctx, &sdk.PutBucketCorsInput{Bucket: name, CORSConfiguration: &types.CORSConfiguration{CORSRules: rules}})
	return err
}

func handLogging(ctx ctx, c client, name *string, p BucketProps) error {
	var to *types.LoggingEnabled
	if l := p.Logging; l != nil {
		to = &types.LoggingEnabled{TargetBucket: new(string(l.Bucket)), TargetPrefix: new(l.Prefix)}
		if l.PartitionedBy != "" {
			to.TargetObjectKeyFormat = &types.TargetObjectKeyFormat{
				PartitionedPrefix: &types.PartitionedPrefix{PartitionDateSource: types.PartitionDateSource(l.PartitionedBy)},
			}
		}
	}
	_, err := c.PutBucketLogging(ctx, &sdk.PutBucketLoggingInput{Bucket: name, BucketLoggingStatus: &types.BucketLoggingStatus{LoggingEnabled: to}})
	return err
}

func handAcceleration(ctx ctx, c client, name *string, p BucketProps) error {
	status := types.BucketAccelerateStatusSuspended
	if p.TransferAcceleration {
		status = types.BucketAccelerateStatusEnabled
	}
	_, err := c.PutBucketAccelerateConfiguration(ctx, &sdk.PutBucketAccelerateConfigurationInput{
		Bucket: name, AccelerateConfiguration: &types.AccelerateConfiguration{Status: status},
	})
	return err
}

func handPayer(ctx ctx, c client, name *string, p BucketProps) error {
	who := types.PayerBucketOwner
	if p.RequestPayer != nil {
		who = types.Payer(*p.RequestPayer)
	}
	_, err := c.PutBucketRequestPayment(ctx, &sdk.PutBucketRequestPaymentInput{
		Bucket: name, RequestPaymentConfiguration: &types.RequestPaymentConfiguration{Payer: who},
	})
	return err
}

func handWebsite(ctx ctx, c client, name *string, p BucketProps) error {
	site := p.Website
	if site == nil {
		_, err := c.DeleteBucketWebsite(ctx, &sdk.DeleteBucketWebsiteInput{Bucket: name})
		return err
	}
	to := &types.WebsiteConfiguration{}
	if site.RedirectTo != "" {
		to.RedirectAllRequestsTo = &types.RedirectAllRequestsTo{HostName: &site.RedirectTo, Protocol: types.Protocol(site.RedirectProtocol)}
	}
	if site.IndexDocument != "" {
		to.IndexDocument = &types.IndexDocument{Suffix: &site.IndexDocument}
	}
	if site.ErrorDocument != "" {
		to.ErrorDocument = &types.ErrorDocument{Key: &site.ErrorDocument}
	}
	for _, r := range site.RoutingRules {
		rule := types.RoutingRule{Redirect: &types.Redirect{
			HostName: aws.OrNil(r.Host), HttpRedirectCode: aws.OrNil(r.RedirectCode), Protocol: types.Protocol(r.Protocol),
			ReplaceKeyWith: aws.OrNil(r.ReplaceKey), ReplaceKeyPrefixWith: r.ReplaceKeyPrefix,
		}}
		if when := (types.Condition{KeyPrefixEquals: aws.OrNil(r.KeyPrefix), HttpErrorCodeReturnedEquals: aws.OrNil(r.ErrorCode)}); r.KeyPrefix+r.ErrorCode != "" {
			rule.Condition = &when
		}
		to.RoutingRules = append(to.RoutingRules, rule)
	}
	_, err := c.PutBucketWebsite(ctx, &sdk.PutBucketWebsiteInput{Bucket: name, WebsiteConfiguration: to})
	return err
}

func handPolicy(ctx ctx, c client, name *string, p BucketProps) error {
	if p.Policy == nil {
		_, err := c.DeleteBucketPolicy(ctx, &sdk.DeleteBucketPolicyInput{Bucket: name})
		return err
	}
	text, ok := p.Policy.(string)
	if !ok {
		document, err := json.Marshal(p.Policy)
		if err != nil {
			return err
		}
		text = string(document)
	}
	_, err := c.PutBucketPolicy(ctx, &sdk.PutBucketPolicyInput{Bucket: name, Policy: &text})
	return err
}

func handRetention(ctx ctx, c client, name *string, p BucketProps) error {
	lock := &types.ObjectLockConfiguration{ObjectLockEnabled: types.ObjectLockEnabledEnabled}
	if r := p.ObjectLockRetention; r != nil {
		keep := &types.DefaultRetention{Mode: types.ObjectLockRetentionMode(r.Mode)}
		if r.Days > 0 {
			keep.Days = new(int32(r.Days))
		} else {
			keep.Years = new(int32(r.Years))
		}
		lock.Rule = &types.ObjectLockRule{DefaultRetention: keep}
	}
	_, err := c.PutObjectLockConfiguration(ctx, &sdk.PutObjectLockConfigurationInput{Bucket: name, ObjectLockConfiguration: lock})
	return err
}

// onDay is midnight UTC of a date.
func onDay(date string) *time.Time {
	if date == "" {
		return nil
	}
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		panic(err)
	}
	return &t
}

// objectHands upload an object anew with one aspect changed, as somebody else would.
func (ws worlds) objectHands() map[tree.Path]kindtest.Hand {
	put := func(change func(in *sdk.PutObjectInput, p ObjectProps)) kindtest.Hand {
		return func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			var p ObjectProps
			if err := props.Decode(to.Props, &p); err != nil {
				t.Fatalf("%v", err)
			}
			ws[w.Dir].reupload(t, to.Attrs, func(in *sdk.PutObjectInput) { change(in, p) })
		}
	}
	return map[tree.Path]kindtest.Hand{
		"content": put(func(in *sdk.PutObjectInput, p ObjectProps) { in.Body = strings.NewReader(awssdk.ToString(p.Content)) }),
		"source": func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			text := ""
			if to.Text() != "" {
				data, err := os.ReadFile(filepath.Join(w.Dir, to.Text()))
				if err != nil {
					t.Fatalf("%v", err)
				}
				text = string(data)
			}
			ws[w.Dir].reupload(t, to.Attrs, func(in *sdk.PutObjectInput) { in.Body = strings.NewReader(text) })
		},
		"contentType":        put(func(in *sdk.PutObjectInput, p ObjectProps) { in.ContentType = p.ContentType }),
		"cacheControl":       put(func(in *sdk.PutObjectInput, p ObjectProps) { in.CacheControl = aws.OrNil(p.CacheControl) }),
		"contentDisposition": put(func(in *sdk.PutObjectInput, p ObjectProps) { in.ContentDisposition = aws.OrNil(p.ContentDisposition) }),
		"contentEncoding":    put(func(in *sdk.PutObjectInput, p ObjectProps) { in.ContentEncoding = aws.OrNil(p.ContentEncoding) }),
		"contentLanguage":    put(func(in *sdk.PutObjectInput, p ObjectProps) { in.ContentLanguage = aws.OrNil(p.ContentLanguage) }),
		"websiteRedirect":    put(func(in *sdk.PutObjectInput, p ObjectProps) { in.WebsiteRedirectLocation = aws.OrNil(p.WebsiteRedirect) }),
		"metadata":           put(func(in *sdk.PutObjectInput, p ObjectProps) { in.Metadata = p.Metadata }),
		"storageClass": put(func(in *sdk.PutObjectInput, p ObjectProps) {
			if in.StorageClass = types.StorageClassStandard; p.StorageClass != nil {
				in.StorageClass = types.StorageClass(*p.StorageClass)
			}
		}),
		"encryption": put(func(in *sdk.PutObjectInput, p ObjectProps) {
			in.ServerSideEncryption, in.SSEKMSKeyId = "", nil
			if p.Encryption != nil {
				in.ServerSideEncryption, in.SSEKMSKeyId = types.ServerSideEncryption(p.Encryption.Algorithm), aws.OrNil(p.Encryption.KMSKey)
			}
		}),
		"tags": func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			bucket, key := placeOf(to.Attrs)
			c, want := ws[w.Dir].others, map[string]string{}
			tags, _ := to.Value.(map[string]any)
			for k, v := range tags {
				want[k], _ = v.(string)
			}
			have, err := c.GetObjectTagging(t.Context(), &sdk.GetObjectTaggingInput{Bucket: bucket, Key: key})
			if err != nil {
				t.Fatalf("tags: %v", err)
			}
			in := &sdk.PutObjectTaggingInput{Bucket: bucket, Key: key, Tagging: &types.Tagging{TagSet: retagged(have.TagSet, want)}}
			if _, err := c.PutObjectTagging(t.Context(), in); err != nil {
				t.Fatalf("tag: %v", err)
			}
		},
		"": func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
			t.Helper()
			bucket, key := placeOf(to.Attrs)
			if _, err := ws[w.Dir].others.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: bucket, Key: key}); err != nil {
				t.Fatalf("delete: %v", err)
			}
		},
	}
}

// placeOf is where the object with these attributes lies.
func placeOf(attrs map[string]any) (bucket, key *string) {
	return awssdk.String(attrs["bucket"].(string)), awssdk.String(attrs["key"].(string))
}
