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

// world is an account of its own, seen by the kinds through one client and by others through another.
type world struct {
	server *awstest.Server
	like   *likeAWS
	others *sdk.Client
	cloud  reconcile.Cloud
	dir    string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := awstest.Start(t)
	like := startLikeAWS(t, server)
	return &world{
		server: server, like: like, others: like.client(server.Config(t)),
		cloud: openCloud(t, server, like.Front), dir: t.TempDir(),
	}
}

// as is another account's client of the same S3.
func (w *world) as(t *testing.T, account string) *sdk.Client {
	t.Helper()
	cfg := w.server.Config(t)
	cfg.Credentials = credentials.NewStaticCredentialsProvider(awstest.AccessKey(account), "secret", "")
	return w.like.client(cfg)
}

// truth is what S3 says of one aspect, as a tree; nil when it says that there is none.
func truth[T any](t kindtest.T, out *T, err error) any {
	t.Helper()
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code := api.ErrorCode()
		if strings.HasPrefix(code, "NoSuch") && code != "NoSuchBucket" || strings.HasSuffix(code, "NotFoundError") {
			return nil
		}
	}
	if err != nil {
		t.Fatalf("look at the truth: %v", err)
	}
	text, err := json.Marshal(out)
	if err != nil {
		t.Fatalf("look at the truth: %v", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatalf("look at the truth: %v", err)
	}
	delete(tree, "ResultMetadata")
	return tree
}

// buckets are all buckets of the world with all that is set on them, read without the kind.
func (w *world) buckets(t kindtest.T) []any {
	t.Helper()
	out, err := w.others.ListBuckets(t.Context(), &sdk.ListBucketsInput{})
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
	ctx, c, all := context.Background(), w.others, map[string]any{}
	tags, err := c.GetBucketTagging(ctx, &sdk.GetBucketTaggingInput{Bucket: name})
	all["tags"] = truth(t, tags, err)
	if err == nil { // generations differ between two makings
		have := tagMap(tags.TagSet)
		delete(have, "athanor:generation")
		all["tags"] = have
	}
	owner, err := c.GetBucketOwnershipControls(ctx, &sdk.GetBucketOwnershipControlsInput{Bucket: name})
	all["ownership"] = truth(t, owner, err)
	block, err := c.GetPublicAccessBlock(ctx, &sdk.GetPublicAccessBlockInput{Bucket: name})
	all["block"] = truth(t, block, err)
	encryption, err := c.GetBucketEncryption(ctx, &sdk.GetBucketEncryptionInput{Bucket: name})
	all["encryption"] = truth(t, encryption, err)
	if err != nil { // S3 shows its default, moto shows none
		all["encryption"] = map[string]any{"ServerSideEncryptionConfiguration": map[string]any{"Rules": []any{map[string]any{
			"ApplyServerSideEncryptionByDefault": map[string]any{"SSEAlgorithm": "AES256", "KMSMasterKeyID": nil},
			"BucketKeyEnabled":                   false, "BlockedEncryptionTypes": nil,
		}}}}
	}
	cors, err := c.GetBucketCors(ctx, &sdk.GetBucketCorsInput{Bucket: name})
	all["cors"] = truth(t, cors, err)
	rules, err := c.GetBucketLifecycleConfiguration(ctx, &sdk.GetBucketLifecycleConfigurationInput{Bucket: name})
	all["lifecycle"] = truth(t, rules, err)
	logs, err := c.GetBucketLogging(ctx, &sdk.GetBucketLoggingInput{Bucket: name})
	all["logging"] = truth(t, logs, err)
	payer, err := c.GetBucketRequestPayment(ctx, &sdk.GetBucketRequestPaymentInput{Bucket: name})
	all["payer"] = truth(t, payer, err)
	told, err := c.GetBucketNotificationConfiguration(ctx, &sdk.GetBucketNotificationConfigurationInput{Bucket: name})
	all["notifications"] = truth(t, told, err)
	site, err := c.GetBucketWebsite(ctx, &sdk.GetBucketWebsiteInput{Bucket: name})
	all["website"] = truth(t, site, err)
	lock, err := c.GetObjectLockConfiguration(ctx, &sdk.GetObjectLockConfigurationInput{Bucket: name})
	all["lock"] = truth(t, lock, err)
	policy, err := c.GetBucketPolicy(ctx, &sdk.GetBucketPolicyInput{Bucket: name})
	all["policy"] = truth(t, policy, err)
	w.switches(t, name, all)
	return all
}

// switches reads what can be suspended but never be unset again: both are one to whoever did not ask for them.
func (w *world) switches(t kindtest.T, name *string, all map[string]any) {
	t.Helper()
	versions, err := w.others.GetBucketVersioning(t.Context(), &sdk.GetBucketVersioningInput{Bucket: name})
	truth(t, versions, err)
	fast, err := w.others.GetBucketAccelerateConfiguration(t.Context(), &sdk.GetBucketAccelerateConfigurationInput{Bucket: name})
	truth(t, fast, err)
	all["versioning"], all["accelerate"] = "Suspended", "Suspended"
	if versions.Status != "" {
		all["versioning"] = string(versions.Status)
	}
	if fast.Status != "" {
		all["accelerate"] = string(fast.Status)
	}
}

// nameOf is the name of the bucket whose attributes these are.
func nameOf(attrs map[string]any) *string {
	name, _ := attrs["name"].(string)
	return awssdk.String(name)
}
