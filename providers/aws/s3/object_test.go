package s3

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
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
		out, err := w.Others.ListObjectsV2(ctx, &sdk.ListObjectsV2Input{Bucket: &bucket})
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		for _, o := range out.Contents {
			one := shown(t, w.Others.HeadObject, sdk.HeadObjectInput{Bucket: &bucket, Key: o.Key, ChecksumMode: types.ChecksumModeEnabled})
			delete(one, "LastModified")
			tags, err := w.Others.GetObjectTagging(ctx, &sdk.GetObjectTaggingInput{Bucket: &bucket, Key: o.Key})
			if err != nil {
				t.Fatalf("tags: %v", err)
			}
			one["tags"], one["bucket"], one["key"] = awstest.Owned(tagMap(tags.TagSet)), bucket, *o.Key
			all = append(all, one)
		}
	}
	return all
}

// objectWorld is a world with two buckets and files.
func objectWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.made(t, "one")
	w.made(t, "two")
	for name, content := range map[string]string{"page.html": "<p>hello</p>", "other.bin": strings.Repeat("0123456789", 20_000)} {
		if err := os.WriteFile(filepath.Join(w.Dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func objectSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Derive(objectTable, kindtest.Suite{
		Kind:  objectKind.Erase(),
		World: ws.Make(objectWorld, (*world).objects),
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
		Hands:      objectHands(ws),
		Others:     map[tree.Path][]any{"content": {"ein anderer Text"}, "source": {"other.bin"}},
		Alias:      map[tree.Path]tree.Path{"key": "contentType"}, // whose default goes by the key
		Silent:     map[tree.Path]string{"source": "it excludes content, so that no prop alone goes from one to the other; TestObjectFile changes the file"},
		Unreadable: map[tree.Path]string{"content": "S3 keeps its digest beside it, and looking reads no more"},
	})
}

func TestObject(t *testing.T) {
	t.Parallel()
	for _, c := range kindtest.Checks() {
		s := objectSuite()
		if c.Name == kindtest.Crashes { // each change but of the tags is one upload
			s.Variants = slices.DeleteFunc(s.Variants, func(v kindtest.Variant) bool { return v.Name != "rich" && v.Name != "moved" })
		}
		t.Run(c.Name, func(t *testing.T) { c.Do(t, s) })
	}
}

// TestObjectTagsUncounted is about heads that do not count tags, as S3 leaves it out for those who may not read them: tags are read
// all the same, and a refusal is an error, never "no tags".
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadObject.html#API_HeadObject_ResponseSyntax
func TestObjectTagsUncounted(t *testing.T) {
	t.Parallel()
	w, kind := objectWorld(t), kindtest.Quick(objectKind, 300*time.Millisecond)
	declared := obj{"bucket": "one", "key": "a", "content": "x", "tags": obj{"team": "shop"}}
	out, err := kind.Settle(t.Context(), w.Job(t, kind, declared, nil), reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	w.like.mu.Lock()
	w.like.uncounted = true
	w.like.mu.Unlock()
	look, err := kind.Look(t.Context(), w.Job(t, kind, declared, &out))
	if err != nil || len(look.Steps) > 0 || look.Owner == (reconcile.Mark{}) {
		t.Errorf("without a count: steps %v, owner %+v (%v)", look.Steps, look.Owner, err)
	}
	w.Server.Inject(awstest.Fault{Op: "S3.GetObjectTagging", Kind: awstest.Deny, Times: -1})
	if look, err := kind.Look(t.Context(), w.Job(t, kind, declared, &out)); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Errorf("the tags may not be read, and the look shows %v (%v)", look.Steps, err)
	}
}

// reupload puts the object as it is, with one change.
func (w *world) reupload(t kindtest.T, attrs map[string]any, change func(*sdk.PutObjectInput)) {
	t.Helper()
	ctx := t.Context()
	bucket, key := placeOf(attrs)
	is, err := w.Others.GetObject(ctx, &sdk.GetObjectInput{Bucket: bucket, Key: key})
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	content, err := io.ReadAll(is.Body)
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	tags, err := w.Others.GetObjectTagging(ctx, &sdk.GetObjectTaggingInput{Bucket: bucket, Key: key})
	if err != nil {
		t.Fatalf("get tags: %v", err)
	}
	query := url.Values{}
	for _, tag := range tags.TagSet {
		query.Set(*tag.Key, *tag.Value)
	}
	in := &sdk.PutObjectInput{
		Bucket: bucket, Key: key, Body: bytes.NewReader(content), ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
		ContentType: is.ContentType, CacheControl: is.CacheControl, ContentDisposition: is.ContentDisposition,
		ContentEncoding: is.ContentEncoding, ContentLanguage: is.ContentLanguage, Metadata: is.Metadata,
		WebsiteRedirectLocation: is.WebsiteRedirectLocation, StorageClass: is.StorageClass,
		ServerSideEncryption: is.ServerSideEncryption, SSEKMSKeyId: is.SSEKMSKeyId, Tagging: new(query.Encode()),
	}
	change(in)
	if _, err := w.Others.PutObject(ctx, in); err != nil {
		t.Fatalf("put: %v", err)
	}
}
