package s3

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// objects are all objects of the world with all that is set on them, read without the kind.
func (w *world) objects(t kindtest.T) []any {
	t.Helper()
	ctx := context.Background()
	var all []any
	for _, bucket := range []string{"one", "two"} {
		out, err := w.others.ListObjectsV2(ctx, &sdk.ListObjectsV2Input{Bucket: &bucket})
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		for _, o := range out.Contents {
			head, err := w.others.HeadObject(ctx, &sdk.HeadObjectInput{Bucket: &bucket, Key: o.Key, ChecksumMode: types.ChecksumModeEnabled})
			one := truth(t, head, err).(map[string]any)
			delete(one, "LastModified")
			tags, err := w.others.GetObjectTagging(ctx, &sdk.GetObjectTaggingInput{Bucket: &bucket, Key: o.Key})
			truth(t, tags, err)
			have := tagMap(tags.TagSet)
			delete(have, "athanor:generation")
			one["tags"], one["bucket"], one["key"] = have, bucket, *o.Key
			all = append(all, one)
		}
	}
	return all
}

// makeObjects is a world with two buckets and files.
func (ws worlds) makeObjects(kt kindtest.T) kindtest.World {
	t := kt.(*testing.T)
	w := ws.make((*world).objects)(t)
	for _, bucket := range []string{"one", "two"} {
		if _, err := ws[w.Dir].others.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: &bucket}); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"page.html": "<p>hello</p>", "other.bin": strings.Repeat("0123456789", 20_000)} {
		if err := os.WriteFile(filepath.Join(w.Dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func objectSuite() kindtest.Suite {
	ws := worlds{}
	return kindtest.Suite{
		Kind:  reconcile.Erase(objectKind),
		World: ws.makeObjects,
		Base:  obj{"bucket": "one", "key": "docs/a b+c.json", "content": `{"a": 1}`, "tags": obj{"team": "shop"}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "rich", Props: obj{
				"bucket": "one", "key": "docs/a b+c.json", "content": "ein Text", "contentType": "text/plain", "cacheControl": "max-age=60",
				"contentDisposition": `attachment; filename="a.txt"`, "contentEncoding": "identity", "contentLanguage": "de",
				"metadata": obj{"origin": "test", "cost-center": "42"}, "storageClass": "STANDARD_IA", "websiteRedirect": "/elsewhere",
				"encryption": obj{"algorithm": "aws:kms", "kmsKey": "arn:aws:kms:us-east-1:123456789012:key/0d990263-018e-4065-a703-eff731de951e"},
				"tags":       obj{"team": "shop", "kind": "text + more=:"},
			}},
			{Name: "file", Props: obj{"bucket": "one", "key": "page.html", "source": "page.html"}},
			{Name: "big file", Props: obj{"bucket": "one", "key": "docs/a b+c.json", "source": "other.bin"}},
			{Name: "moved", Props: obj{"bucket": "two", "key": "docs/a b+c.json", "content": `{"a": 1}`, "tags": obj{"team": "shop"}}},
			{Name: "renamed", Props: obj{"bucket": "one", "key": "docs/b.json", "content": "", "tags": obj{"team": "shop"}}},
		},
		Edits:      ws.objectEdits(),
		Alias:      map[tree.Path]tree.Path{"key": "contentType"}, // whose default goes by the key
		Unreadable: map[tree.Path]string{"content": "S3 keeps its digest beside it, and looking reads no more"},
		Silent:     map[tree.Path]string{"source": "it excludes content, so that no prop alone goes from one to the other; TestObjectFile changes the file"},
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	for _, c := range kindtest.Checks() {
		s := objectSuite()
		if c.Name == "a crash at any call heals" { // each change but of the tags is one upload
			s.Variants = slices.DeleteFunc(s.Variants, func(v kindtest.Variant) bool { return v.Name != "rich" && v.Name != "moved" })
		}
		t.Run(c.Name, func(t *testing.T) { c.Do(t, s) })
	}
}

// objectEdits upload the object anew with one aspect changed, as somebody else would.
func (ws worlds) objectEdits() []kindtest.Edit {
	var all []kindtest.Edit
	put := func(path tree.Path, change func(*sdk.PutObjectInput)) {
		all = append(all, kindtest.Edit{Path: path, From: "rich", Do: func(t kindtest.T, w kindtest.World, attrs map[string]any) {
			ws[w.Dir].reupload(t, attrs, change)
		}})
	}
	put("content", func(in *sdk.PutObjectInput) { in.Body = strings.NewReader("ein anderer Text") })
	put("contentType", func(in *sdk.PutObjectInput) { in.ContentType = new("text/html") })
	put("cacheControl", func(in *sdk.PutObjectInput) { in.CacheControl = nil })
	put("contentDisposition", func(in *sdk.PutObjectInput) { in.ContentDisposition = new("inline") })
	put("contentEncoding", func(in *sdk.PutObjectInput) { in.ContentEncoding = new("gzip") })
	put("contentLanguage", func(in *sdk.PutObjectInput) { in.ContentLanguage = nil })
	put("metadata", func(in *sdk.PutObjectInput) { in.Metadata = map[string]string{"origin": "elsewhere"} })
	put("storageClass", func(in *sdk.PutObjectInput) { in.StorageClass = types.StorageClassStandard })
	put("encryption", func(in *sdk.PutObjectInput) { in.ServerSideEncryption = types.ServerSideEncryptionAwsKmsDsse })
	put("websiteRedirect", func(in *sdk.PutObjectInput) { in.WebsiteRedirectLocation = nil })
	put("encryption.kmsKey", func(in *sdk.PutObjectInput) {
		in.SSEKMSKeyId = new("arn:aws:kms:us-east-1:123456789012:key/11111111-018e-4065-a703-eff731de951e")
	})
	put("tags.kind", func(in *sdk.PutObjectInput) { in.Tagging = new(strings.Replace(*in.Tagging, "kind=", "kind=other", 1)) })
	all = append(all, kindtest.Edit{Path: "encryption", Do: func(t kindtest.T, w kindtest.World, attrs map[string]any) {
		ws[w.Dir].reupload(t, attrs, func(in *sdk.PutObjectInput) { in.ServerSideEncryption = types.ServerSideEncryptionAwsKms })
	}})
	all = append(all, kindtest.Edit{Path: "tags", Do: func(t kindtest.T, w kindtest.World, attrs map[string]any) {
		_, err := ws[w.Dir].others.DeleteObjectTagging(t.Context(), &sdk.DeleteObjectTaggingInput{
			Bucket: awssdk.String(attrs["bucket"].(string)), Key: awssdk.String(attrs["key"].(string)),
		})
		if err != nil {
			t.Fatalf("edit tags: %v", err)
		}
	}})
	return all
}

// reupload puts the object as it is, with one change.
func (w *world) reupload(t kindtest.T, attrs map[string]any, change func(*sdk.PutObjectInput)) {
	t.Helper()
	ctx := t.Context()
	bucket, key := awssdk.String(attrs["bucket"].(string)), awssdk.String(attrs["key"].(string))
	is, err := w.others.GetObject(ctx, &sdk.GetObjectInput{Bucket: bucket, Key: key})
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	content, err := io.ReadAll(is.Body)
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	tags, err := w.others.GetObjectTagging(ctx, &sdk.GetObjectTaggingInput{Bucket: bucket, Key: key})
	if err != nil {
		t.Fatalf("get tags: %v", err)
	}
	in := &sdk.PutObjectInput{
		Bucket: bucket, Key: key, Body: bytes.NewReader(content), ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
		ContentType: is.ContentType, CacheControl: is.CacheControl, ContentDisposition: is.ContentDisposition,
		ContentEncoding: is.ContentEncoding, ContentLanguage: is.ContentLanguage, Metadata: is.Metadata,
		WebsiteRedirectLocation: is.WebsiteRedirectLocation, StorageClass: is.StorageClass,
		ServerSideEncryption: is.ServerSideEncryption, SSEKMSKeyId: is.SSEKMSKeyId, Tagging: new(tagQuery(tagMap(tags.TagSet))),
	}
	change(in)
	if _, err := w.others.PutObject(ctx, in); err != nil {
		t.Fatalf("put: %v", err)
	}
}
