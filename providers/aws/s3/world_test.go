package s3

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

type (
	obj  = map[string]any
	list = []any
)

type world struct {
	awstest.World[sdk.Client]
	like *likeAWS
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	like := startLikeAWS(t, server)
	w := &world{awstest.NewWorld(t, server, like, connect, bucketKind.Erase(), "thing"), like}
	w.Located(t, server.Account)
	return w
}

// connect makes a client that names buckets in the path.
func connect(cfg awssdk.Config, more ...func(*sdk.Options)) *sdk.Client {
	return sdk.NewFromConfig(cfg, append(more, func(o *sdk.Options) { o.UsePathStyle = true })...)
}

// as is another account's client of the same S3.
func (w *world) as(t *testing.T, account string) *sdk.Client {
	t.Helper()
	cfg := w.like.Outside(t)
	cfg.Credentials = credentials.NewStaticCredentialsProvider(awstest.AccessKey(account), "secret", "")
	return connect(cfg)
}

// prepared is a job of the world whose file is digested.
func (w *world) prepared(t *testing.T, kind reconcile.Any, props obj, last *reconcile.Outcome) *reconcile.Job {
	t.Helper()
	job := w.Job(t, kind, props, last)
	job.Dir = w.Dir
	if err := kind.Prepare(t.Context(), job, reconcile.Workspace{Dir: w.Dir, Cache: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	return job
}

// made creates a bucket as somebody else.
func (w *world) made(t kindtest.T, bucket string) {
	t.Helper()
	if _, err := w.Others.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatalf("%v", err)
	}
}

// shown is what S3 shows others, as a tree; nil when it says that there is none.
func shown[I, O any](t kindtest.T, call func(context.Context, *I, ...func(*sdk.Options)) (*O, error), in I) map[string]any {
	t.Helper()
	out, err := call(context.Background(), &in)
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code := api.ErrorCode()
		if strings.HasPrefix(code, "NoSuch") && code != "NoSuchBucket" || strings.HasSuffix(code, "NotFoundError") {
			return nil
		}
	}
	if err != nil {
		t.Fatalf("what others see: %v", err)
	}
	text, err := json.Marshal(out)
	if err != nil {
		t.Fatalf("what others see: %v", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatalf("what others see: %v", err)
	}
	delete(tree, "ResultMetadata")
	return tree
}

// buckets are all buckets of the world with all that is set on them, read without the kind.
func (w *world) buckets(t kindtest.T) []any {
	t.Helper()
	out, err := w.Others.ListBuckets(t.Context(), &sdk.ListBucketsInput{})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	var all []any
	for _, b := range out.Buckets {
		all = append(all, w.bucket(t, b.Name))
	}
	return all
}

func (w *world) bucket(t kindtest.T, name *string) map[string]any {
	t.Helper()
	c := w.Others
	all := map[string]any{
		"ownership":     shown(t, c.GetBucketOwnershipControls, sdk.GetBucketOwnershipControlsInput{Bucket: name}),
		"block":         shown(t, c.GetPublicAccessBlock, sdk.GetPublicAccessBlockInput{Bucket: name}),
		"encryption":    shown(t, c.GetBucketEncryption, sdk.GetBucketEncryptionInput{Bucket: name}),
		"cors":          shown(t, c.GetBucketCors, sdk.GetBucketCorsInput{Bucket: name}),
		"lifecycle":     shown(t, c.GetBucketLifecycleConfiguration, sdk.GetBucketLifecycleConfigurationInput{Bucket: name}),
		"logging":       shown(t, c.GetBucketLogging, sdk.GetBucketLoggingInput{Bucket: name}),
		"payer":         shown(t, c.GetBucketRequestPayment, sdk.GetBucketRequestPaymentInput{Bucket: name}),
		"notifications": shown(t, c.GetBucketNotificationConfiguration, sdk.GetBucketNotificationConfigurationInput{Bucket: name}),
		"website":       shown(t, c.GetBucketWebsite, sdk.GetBucketWebsiteInput{Bucket: name}),
		"lock":          shown(t, c.GetObjectLockConfiguration, sdk.GetObjectLockConfigurationInput{Bucket: name}),
		"policy":        shown(t, c.GetBucketPolicy, sdk.GetBucketPolicyInput{Bucket: name}),
		"versioning":    shown(t, c.GetBucketVersioning, sdk.GetBucketVersioningInput{Bucket: name})["Status"],
		"accelerate":    shown(t, c.GetBucketAccelerateConfiguration, sdk.GetBucketAccelerateConfigurationInput{Bucket: name})["Status"],
	}
	if tags, err := c.GetBucketTagging(context.Background(), &sdk.GetBucketTaggingInput{Bucket: name}); err == nil {
		all["tags"] = awstest.Owned(tagMap(tags.TagSet))
	}
	if all["encryption"].(map[string]any) == nil { // S3 shows its default, moto shows none
		all["encryption"] = map[string]any{"ServerSideEncryptionConfiguration": map[string]any{"Rules": []any{map[string]any{
			"ApplyServerSideEncryptionByDefault": map[string]any{"SSEAlgorithm": "AES256", "KMSMasterKeyID": nil},
			"BucketKeyEnabled":                   false, "BlockedEncryptionTypes": nil,
		}}}}
	}
	for _, key := range []string{"versioning", "accelerate"} { // they can be suspended, and never be unset again
		if all[key] == "" {
			all[key] = "Suspended"
		}
	}
	return all
}

// nameOf is the name of the bucket whose attributes these are.
func nameOf(attrs map[string]any) *string {
	name, _ := attrs["name"].(string)
	return awssdk.String(name)
}
