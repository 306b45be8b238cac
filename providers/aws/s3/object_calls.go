package s3

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
)

// liveObject is what S3 shows of an object, in the shape of its props.
type liveObject struct {
	bucket, key, region string
	etag, version       string
	// digest is the SHA-256 of the content in hex, "" when S3 keeps none.
	digest string
	have   ObjectProps
	tags   map[string]string
	// unset is how an object is encrypted that says nothing of it, nil when nobody asked.
	unset *ObjectEncryption
}

// observeObject asks for the head, then for the tags where it says that there are any, and for the bucket's encryption
// where that is what is wanted. The head's answer has no
// body: a missing bucket and a missing object are both NotFound. Without leave to list the bucket S3 says
// "denied" of a missing object, which is never taken as absence.
func observeObject(ctx context.Context, site objectSite) (liveObject, error) {
	live := liveObject{bucket: string(site.Want.Bucket), key: site.Want.Key, region: site.Place.Region}
	switch {
	case site.ID != "":
		live.bucket, live.key, _ = strings.Cut(withoutARN(site.ID), "/")
	case site.Last != nil:
		live.bucket, live.key = string(site.Last.Bucket), site.Last.Key
	}
	t, err := targetOf(site.Cloud, site.Place, live.bucket)
	if err != nil {
		return live, err
	}
	head, err := t.HeadObject(ctx, &sdk.HeadObjectInput{
		Bucket: t.bucket, Key: new(live.key), ExpectedBucketOwner: t.owner, ChecksumMode: types.ChecksumModeEnabled,
	})
	switch {
	case has(err, "NotFound", "NoSuchKey", "NoSuchBucket"):
		return live, reconcile.ErrAbsent
	case err != nil:
		return live, err
	}
	live.read(head)
	group, ctx := errgroup.WithContext(ctx)
	if awssdk.ToInt32(head.TagCount) > 0 {
		group.Go(func() error { return live.readTags(ctx, t) })
	}
	if site.Want.Bucket != "" && site.Want.Encryption == nil {
		group.Go(func() error { return live.readDefault(ctx, t) })
	}
	return live, group.Wait()
}

func (o *liveObject) readTags(ctx context.Context, t target) error {
	out, err := t.GetObjectTagging(ctx, &sdk.GetObjectTaggingInput{Bucket: t.bucket, Key: new(o.key), ExpectedBucketOwner: t.owner})
	switch {
	case has(err, "NoSuchKey", "NoSuchBucket"):
		return reconcile.ErrAbsent
	case err != nil:
		return err
	}
	o.tags = tagMap(out.TagSet)
	return nil
}

// readDefault asks how the bucket encrypts objects that say nothing of it.
func (o *liveObject) readDefault(ctx context.Context, t target) error {
	var of liveBucket
	if err := readEncryption(ctx, t, &of); has(err, "NoSuchBucket") {
		return reconcile.ErrAbsent
	} else if err != nil {
		return err
	}
	o.unset = &ObjectEncryption{Algorithm: of.have.Encryption.Algorithm, KMSKey: of.have.Encryption.KMSKey}
	if strings.Contains(o.unset.KMSKey, "alias/") {
		o.unset.KMSKey = "" // objects show the key that the alias stood for
	}
	return nil
}

func (o *liveObject) read(head *sdk.HeadObjectOutput) {
	o.etag, o.version, o.tags = awssdk.ToString(head.ETag), awssdk.ToString(head.VersionId), map[string]string{}
	// The checksum of an upload in parts is one of its parts' checksums, and says so by its ending.
	if sum, err := base64.StdEncoding.DecodeString(awssdk.ToString(head.ChecksumSHA256)); err == nil {
		o.digest = hex.EncodeToString(sum)
	}
	o.have = ObjectProps{
		ContentType: head.ContentType, CacheControl: awssdk.ToString(head.CacheControl),
		ContentDisposition: awssdk.ToString(head.ContentDisposition), ContentEncoding: awssdk.ToString(head.ContentEncoding),
		ContentLanguage: awssdk.ToString(head.ContentLanguage), Metadata: orNil(head.Metadata),
		WebsiteRedirect: awssdk.ToString(head.WebsiteRedirectLocation), StorageClass: new("STANDARD"),
		Encryption: &ObjectEncryption{Algorithm: string(head.ServerSideEncryption), KMSKey: awssdk.ToString(head.SSEKMSKeyId)},
	}
	if head.StorageClass != "" { // which S3 leaves out for STANDARD
		o.have.StorageClass = new(string(head.StorageClass))
	}
}

// compareObject: all that an upload carries shares one call; tags have their own.
func compareObject(d *objectDiff, want ObjectProps, live liveObject) {
	reconcile.Fixed(d, "bucket", string(want.Bucket), live.bucket)
	reconcile.Fixed(d, "key", want.Key, live.key)
	put := &reconcile.Operation[liveObject]{Name: "PutObject", Do: func(ctx context.Context, on reconcile.On[liveObject]) error {
		t, err := targetOf(on.Cloud, on.Place, on.Live.bucket)
		if err != nil {
			return err
		}
		up := upload{target: t, key: on.Live.key, want: want, mark: on.Mark, file: on.Assets[contentAsset]}
		return up.send(ctx, false)
	}}
	have := live.have
	compareContent(d, want, live, put)
	if want.ContentType != nil { // which is so only while the key is unknown
		reconcile.Value(d, "contentType", want.ContentType, have.ContentType, put)
	}
	reconcile.Value(d, "cacheControl", want.CacheControl, have.CacheControl, put)
	reconcile.Value(d, "contentDisposition", want.ContentDisposition, have.ContentDisposition, put)
	reconcile.Value(d, "contentEncoding", want.ContentEncoding, have.ContentEncoding, put)
	reconcile.Value(d, "contentLanguage", want.ContentLanguage, have.ContentLanguage, put)
	reconcile.Value(d, "websiteRedirect", want.WebsiteRedirect, have.WebsiteRedirect, put)
	reconcile.Value(d, "metadata", want.Metadata, have.Metadata, put)
	reconcile.Value(d, "storageClass", want.StorageClass, have.StorageClass, put)
	e := want.Encryption
	if e == nil && have.Encryption.Algorithm != "" { // without one it was stored before S3 encrypted everything
		e = live.unset
	}
	if e != nil {
		reconcile.Value(d, "encryption.algorithm", e.Algorithm, have.Encryption.Algorithm, put)
		if e.KMSKey != "" && !sameKey(e.KMSKey, have.Encryption.KMSKey) {
			reconcile.Value(d, "encryption.kmsKey", e.KMSKey, have.Encryption.KMSKey, put)
		}
	}
	compareObjectTags(d, want, live)
}

// compareContent compares digests. Content with what is not known yet in it has none.
func compareContent(d *objectDiff, want ObjectProps, live liveObject, put *reconcile.Operation[liveObject]) {
	have := "sha256:" + live.digest
	switch {
	case want.Content != nil && d.Unknown("content", *want.Content):
		reconcile.Value(d, "content", *want.Content, have, put)
	case want.Content != nil:
		reconcile.Value(d, "content", "sha256:"+digestOf(*want.Content), have, put)
	default:
		file, ok := d.Asset(contentAsset)
		if !ok && want.Source == "" { // nothing is declared, as when somebody asks what is there
			reconcile.Value(d, "content", "", have, put)
			return
		}
		if !ok {
			reconcile.Value(d, "source", want.Source, have, put)
			return
		}
		reconcile.Value(d, "source", "sha256:"+file.Digest, have, put)
	}
}

// createObject uploads only if there is no object of that key.
func createObject(ctx context.Context, site objectSite) (Object, error) {
	t, err := targetOf(site.Cloud, site.Place, string(site.Want.Bucket))
	if err != nil {
		return Object{}, err
	}
	up := upload{target: t, key: site.Want.Key, want: site.Want, mark: site.Mark, file: site.Assets[contentAsset]}
	if err := up.send(ctx, true); err != nil {
		return Object{}, err
	}
	return attrsOfObject(string(site.Want.Bucket), site.Want.Key, site.Place.Region, up.etag, up.version), nil
}

func deleteObject(ctx context.Context, site objectSite) error {
	if site.Last == nil {
		return nil
	}
	t, err := targetOf(site.Cloud, site.Place, string(site.Last.Bucket))
	if err != nil {
		return err
	}
	_, err = t.DeleteObject(ctx, &sdk.DeleteObjectInput{Bucket: t.bucket, Key: new(site.Last.Key), ExpectedBucketOwner: t.owner})
	return unless(err, "NoSuchKey", "NoSuchBucket")
}

// upload is one PutObject.
type upload struct {
	target
	key           string
	want          ObjectProps
	mark          reconcile.Mark
	file          reconcile.Asset
	etag, version string
}

// send uploads. The checksum is that of what was compared, so that S3 refuses a file that has changed since.
func (u *upload) send(ctx context.Context, create bool) error {
	body, digest, size, err := u.content()
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // it was only read
	sum, err := checksum(digest)
	if err != nil {
		return err
	}
	in := &sdk.PutObjectInput{
		Bucket: u.bucket, Key: new(u.key), ExpectedBucketOwner: u.owner,
		Body: body, ContentLength: new(size), ChecksumSHA256: new(sum), ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
		ContentType: u.want.ContentType, CacheControl: aws.OrNil(u.want.CacheControl), ContentDisposition: aws.OrNil(u.want.ContentDisposition),
		ContentEncoding: aws.OrNil(u.want.ContentEncoding), ContentLanguage: aws.OrNil(u.want.ContentLanguage), Metadata: u.want.Metadata,
		WebsiteRedirectLocation: aws.OrNil(u.want.WebsiteRedirect),
		StorageClass:            types.StorageClass(awssdk.ToString(u.want.StorageClass)), Tagging: aws.OrNil(tagQuery(aws.Tags(u.want.Tags, u.mark))),
	}
	if e := u.want.Encryption; e != nil {
		in.ServerSideEncryption, in.SSEKMSKeyId = types.ServerSideEncryption(e.Algorithm), aws.OrNil(e.KMSKey)
	}
	if create {
		in.IfNoneMatch = new("*")
	}
	out, err := u.PutObject(ctx, in)
	if err != nil {
		return err
	}
	u.etag, u.version = awssdk.ToString(out.ETag), awssdk.ToString(out.VersionId)
	return nil
}

// content opens what is to be uploaded. Files are streamed.
func (u *upload) content() (body io.ReadSeekCloser, digest string, size int64, err error) {
	if c := u.want.Content; c != nil {
		return unclosed{strings.NewReader(*c)}, digestOf(*c), int64(len(*c)), nil
	}
	if u.file.Path == "" {
		return nil, "", 0, fmt.Errorf("source %s was not prepared", u.want.Source)
	}
	f, err := os.Open(u.file.Path)
	return f, u.file.Digest, u.file.Size, err
}

type unclosed struct{ *strings.Reader }

func (unclosed) Close() error { return nil }
