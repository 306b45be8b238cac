package s3

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// ObjectProps declare an object and all of its content.
type ObjectProps struct {
	// Bucket is the name of the bucket.
	Bucket BucketName `prop:"required,immutable" wire:"-"`
	// Key is the object's name in the bucket, at most 1,024 bytes.
	Key string `prop:"required,immutable" wire:"-"`
	// Content is the object's content as text; it may be empty. It excludes source.
	Content *string
	// Source is a file, relative to the stack's directory, of at most 5 GiB, which is what S3 takes in one
	// upload. It excludes content.
	Source string
	// ContentType is the media type. Left out, it goes by the ending of the key, and is application/octet-stream
	// where that says nothing.
	ContentType *string `wire:"ContentType"`
	// CacheControl is the header Cache-Control of answers, such as "max-age=3600".
	CacheControl string `wire:"CacheControl"`
	// ContentDisposition is the header Content-Disposition of answers.
	ContentDisposition string `wire:"ContentDisposition"`
	// ContentEncoding says how the content is encoded, such as gzip. It does not make it so.
	ContentEncoding string `wire:"ContentEncoding"`
	// ContentLanguage is the language of the content, such as en-GB.
	ContentLanguage string `wire:"ContentLanguage"`
	// WebsiteRedirect is where requests of the object are sent by the bucket's site: a URL, or a key with "/" before it.
	WebsiteRedirect string `wire:"WebsiteRedirectLocation"`
	// Metadata are headers of one's own, at most 2 KiB together. Keys are lower case.
	Metadata map[string]string `prop:"whole" wire:"Metadata"`
	// StorageClass of the object. A lifecycle rule that moves the object makes it differ, and the next deploy puts
	// it back; declare the class that the rule moves to, or ignore changes of this prop.
	StorageClass *string `prop:"enum=STANDARD|REDUCED_REDUNDANCY|STANDARD_IA|ONEZONE_IA|INTELLIGENT_TIERING|GLACIER|DEEP_ARCHIVE|GLACIER_IR,default=STANDARD" wire:"StorageClass"`
	// Encryption of the object. Left out, it is that of the bucket, and an object of another one is uploaded again;
	// one that S3 stored before it encrypted everything (January 2023) is left as it is.
	Encryption *ObjectEncryption `prop:"each" wire:"*"`
	// Tags of the object, at most 5 beside the owner tags: S3 takes 10 in all. Keys that begin with
	// "athanor:" or "aws:" are not for authors.
	Tags map[string]string `prop:"maxitems=5"`
}

// ObjectEncryption is how one object is encrypted.
type ObjectEncryption struct {
	// Algorithm is AES256 with keys of S3, or aws:kms or aws:kms:dsse with keys of KMS.
	Algorithm string `prop:"required,enum=AES256|aws:kms|aws:kms:dsse" wire:"ServerSideEncryption"`
	// KMSKey is the ARN of a key, for the algorithms of KMS. Left out, they use the account's key aws/s3.
	KMSKey string `wire:"SSEKMSKeyId"`
}

// Object is what others may refer to of an object.
type Object struct {
	// Bucket that the object is in.
	Bucket BucketName `attr:"early"`
	// Key of the object.
	Key string `attr:"early"`
	// ARN of the object.
	ARN aws.ARN `attr:"early"`
	// ETag changes with the content and with the encryption.
	ETag string `attr:"mutable"`
	// VersionID is that of the current version; "" in a bucket that never had versioning.
	VersionID string `attr:"mutable"`
	// URL is where the object is served to those who may read it.
	URL string `attr:"early"`
}

// liveObject is an observed object.
type liveObject struct {
	attrs Object
	have  ObjectProps
	// digest is the SHA-256 of the content in hex, "" where it is neither known nor read.
	digest string
	tags   map[string]string
	// byDefault is how an object is encrypted that says nothing of it, nil when that was not asked.
	byDefault *ObjectEncryption
}

type (
	objectDiff = kind.Diff[liveObject]
	objectSite = kind.Site[ObjectProps, Object]
)

var objectTable = kind.TableOf[ObjectProps]().For(kind.In(sdk.PutObjectInput{}), kind.Out(sdk.HeadObjectOutput{}))

var objectKind = &kind.Kind[ObjectProps, liveObject, Object]{
	Type: objectType,
	Doc: "An object with all of its content, told from another by the SHA-256 that S3 keeps with it. An object that another tool has " +
		"uploaded has none: its ETag is compared, and where that does not say that the content is equal, each plan reads the content; " +
		"one that may not be read is uploaded again. It is found by its bucket and key: the tagging service shows no objects. " +
		"Any change but of tags uploads the object anew. Deleting it where versions are kept leaves the older ones. Not managed, and left as they are: access control lists, retention and " +
		"legal hold, annotations. An upload drops the header Expires.",

	Observe:    aws.Together(objectType, observeObject, observeObjects),
	Create:     createObject,
	Compare:    compareObject,
	Attributes: func(live liveObject) Object { return live.attrs },
	Delete:     deleteObject,
	Identity:   func(o Object) string { return string(o.Bucket) + "/" + o.Key },

	Props: objectTable,
	Default: func(want ObjectProps) ObjectProps {
		if want.ContentType == nil && !token.Has(want.Key) {
			want.ContentType = new(mediaType(want.Key))
		}
		return want
	},
	Check:   checkObject,
	Prepare: prepareObject,
	Files:   []tree.Path{"source"},
	Key:     func(want ObjectProps) string { return string(want.Bucket) + "/" + want.Key },
	Owner: tagged(
		func(want ObjectProps) map[string]string { return want.Tags },
		func(live liveObject) map[string]string { return live.tags }),

	Bulk: aws.InBulk(observeObject, observeObjects),

	// 5 GiB over a slow line take a while.
	Timeouts: kind.Timeouts{Create: time.Hour, Update: time.Hour},

	EventuallyVisible: aws.EventuallyVisible,

	API: kind.API{
		Source: source,
		Calls:  prefixed("S3.", "HeadObject GetObject GetObjectTagging GetBucketEncryption PutObject PutObjectTagging DeleteObject"),
		Permissions: kind.Permissions{
			Observe: prefixed("s3:", "ListBucket GetObject GetObjectTagging GetEncryptionConfiguration"),
			Create:  prefixed("s3:", "PutObject PutObjectTagging"),
			Update:  prefixed("s3:", "PutObject PutObjectTagging"),
			Delete:  prefixed("s3:", "DeleteObject"),
			Calls:   map[string][]string{"PutObjectTagging": {"s3:PutObjectTagging"}, "DeleteObjectTagging": {"s3:DeleteObjectTagging"}},
			// https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html#require-sse-kms
			Depends: []kind.Dependence{aws.UseKey(0, []string{"PutObject"}, []string{"kms:GenerateDataKey"}, "encryption.kmsKey")},
			Resource: func(location kind.Location, name string) []string {
				bucket, _, _ := strings.Cut(name, "/")
				return []string{string(arnOf(location, bucket)), string(arnOf(location, name))}
			},
		},
	},
}

func objectAt(location kind.Location, bucket, key string) Object {
	return Object{
		Bucket: BucketName(bucket), Key: key, ARN: arnOf(location, bucket+"/"+key),
		URL: "https://" + bucket + ".s3." + location.Region + "." + aws.Domain(location.Region) + (&url.URL{Path: "/" + key}).EscapedPath(),
	}
}

// checkObject finds what S3 would refuse or change.
func checkObject(want ObjectProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	if (want.Content == nil) == (want.Source == "") {
		wrong("content", "needs either content or source")
	}
	if !token.Has(want.Key) && len(want.Key) > 1024 {
		wrong("key", fmt.Sprintf("has %d bytes; S3 takes 1024", len(want.Key)))
	}
	if e := want.Encryption; e != nil && e.Algorithm == "AES256" && e.KMSKey != "" {
		wrong("encryption.kmsKey", "needs an algorithm of KMS")
	}
	if e := want.Encryption; e != nil && strings.Contains(e.KMSKey, "alias/") {
		wrong("encryption.kmsKey", "wants a key's ARN: S3 shows keys, never aliases, so that an alias could not be compared")
	}
	for k := range want.Metadata {
		if !token.Has(k) && k != strings.ToLower(k) {
			wrong("metadata", "key "+k+" must be lower case: S3 makes it so")
		}
	}
	return problems.OrNil()
}

// mostBytes is what S3 takes in one upload.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
const mostBytes = 5 << 30

// contentAsset is the name under which Prepare gives the file.
const contentAsset = "source"

// prepareObject digests the file, without holding it in memory.
func prepareObject(ctx context.Context, work kind.Workspace, want ObjectProps) (map[string]kind.Asset, error) {
	if want.Source == "" || token.Has(want.Source) {
		return nil, nil
	}
	path := want.Source
	if !filepath.IsAbs(path) {
		path = filepath.Join(work.Dir, filepath.FromSlash(path))
	}
	work.Reads(path)
	f, err := localfile.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a file", path)
	case info.Size() > mostBytes:
		return nil, fmt.Errorf("%s: %d bytes, and S3 takes at most 5 GiB in one upload", path, info.Size())
	}
	sum := sha256.New()
	n, err := io.Copy(sum, reader{ctx, f})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	files := asset.List(map[string]string{filepath.ToSlash(want.Source): digest}, n)
	return map[string]kind.Asset{contentAsset: {Digest: digest, Path: path, Size: n, Files: files}}, nil
}

// reader stops reading when its context ends.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// observeObject asks for the head, then for the tags, and for the bucket's encryption where that is what is wanted. The head's
// answer has no body: a missing bucket and a missing object are both NotFound. Without the permission to list the bucket S3 says
// "denied" of a missing object, which is never taken as absence.
func observeObject(ctx context.Context, s objectSite) (live liveObject, err error) {
	return observeWith(ctx, s, byDefaultIn)
}

// observeObjects reads how each bucket encrypts once. S3 has no call for the headers or the tags of several objects.
func observeObjects(ctx context.Context, all []objectSite) ([]*aws.Answer[liveObject], error) {
	byDefault := map[string]*ObjectEncryption{}
	for _, s := range all {
		bucket := string(s.Last.Bucket)
		if _, known := byDefault[bucket]; known || !asksDefault(s) {
			continue
		}
		var err error
		if byDefault[bucket], err = byDefaultIn(ctx, targetOf(s.Facts, bucket)); err != nil {
			return nil, err
		}
	}
	known := func(_ context.Context, t target) (*ObjectEncryption, error) { return byDefault[t.bucket], nil } //nolint:unparam // the other way asks
	return aws.EachOf(ctx, all, func(int) bool { return false }, func(ctx context.Context, _ int, s objectSite) (liveObject, error) {
		return observeWith(ctx, s, known)
	}), nil
}

// asksDefault: how the bucket encrypts counts for what is declared without an encryption of its own.
func asksDefault(s objectSite) bool { return s.Want.Bucket != "" && s.Want.Encryption == nil }

func observeWith(ctx context.Context, s objectSite, byDefault func(context.Context, target) (*ObjectEncryption, error)) (live liveObject, err error) {
	bucket, key := string(s.Want.Bucket), s.Want.Key
	if s.Last != nil {
		bucket, key = string(s.Last.Bucket), s.Last.Key
	}
	if s.ID != "" {
		id, err := aws.NameOf(objectSite{Facts: s.Facts, ID: s.ID}, aws.Names[Object]{
			In: func(resource string) string { return resource }, ARN: arnOf,
		})
		if err != nil {
			return live, err
		}
		bucket, key, _ = strings.Cut(id, "/")
	}
	t := targetOf(s.Facts, bucket)
	head, err := ask(ctx, t, t.HeadObject, sdk.HeadObjectInput{Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	switch {
	case has(err, "NotFound", "NoSuchKey", "NoSuchBucket"):
		return live, reconcile.ErrAbsent
	case err != nil:
		return live, err
	}
	live = liveObject{attrs: objectAt(s.Location, bucket, key), tags: map[string]string{}}
	live.attrs.ETag, live.attrs.VersionID = awssdk.ToString(head.ETag), awssdk.ToString(head.VersionId)
	// The checksum of an upload in parts is one of its parts' checksums, and says so by its ending.
	sum, err := base64.StdEncoding.DecodeString(awssdk.ToString(head.ChecksumSHA256))
	if err == nil && len(sum) == sha256.Size {
		live.digest = hex.EncodeToString(sum)
	}
	if live.have, err = objectTable.Read(kind.Struct(head)); err != nil {
		return live, err
	}
	live.have.Bucket, live.have.Key = live.attrs.Bucket, key
	group, ctx := errgroup.WithContext(ctx)
	if live.digest == "" {
		group.Go(func() error {
			var err error
			live.digest, err = recognized(ctx, t, s, key, head)
			return err
		})
	}
	// Whether the head counts tags or not: S3 leaves the count out for those who may not read them.
	group.Go(func() error {
		out, err := ask(ctx, t, t.GetObjectTagging, sdk.GetObjectTaggingInput{Key: &key})
		if err == nil {
			live.tags = tagMap(out.TagSet)
		}
		return missing(err)
	})
	if asksDefault(s) {
		group.Go(func() error {
			var err error
			live.byDefault, err = byDefault(ctx, t)
			return missing(err)
		})
	}
	return live, group.Wait()
}

// missing makes it absence that the object or its bucket was deleted meanwhile.
func missing(err error) error {
	if has(err, "NoSuchKey", "NoSuchBucket") {
		return reconcile.ErrAbsent
	}
	return err
}

// byDefaultIn asks how a bucket encrypts objects that say nothing of it.
func byDefaultIn(ctx context.Context, t target) (*ObjectEncryption, error) {
	of := unset()
	err := reading(t, t.GetBucketEncryption, of.readEncryption, "ServerSideEncryptionConfigurationNotFoundError")(ctx)
	by := of.Encryption.ApplyServerSideEncryptionByDefault
	is := &ObjectEncryption{Algorithm: string(by.SSEAlgorithm), KMSKey: awssdk.ToString(by.KMSMasterKeyID)}
	if is.Algorithm == "AES256" || strings.Contains(is.KMSKey, "alias/") {
		is.KMSKey = "" // objects show the key that an alias stood for
	}
	return is, err
}

// compareObject: all that an upload carries shares one call; tags have their own.
func compareObject(d *objectDiff, want ObjectProps, live liveObject) {
	put := kind.Set("PutObject", func(ctx context.Context, u kind.Update[liveObject]) error {
		_, err := upload(ctx, targetOf(u.Facts, string(u.Live.attrs.Bucket)), u.Live.attrs.Key, u.Facts, want, false)
		return err
	})
	compareContent(d, want, live, put)
	shown, have := want, live.have
	if want.ContentType == nil { // which is so only while the key is unknown
		have.ContentType = nil
	}
	if want.Encryption == nil && have.Encryption != nil { // without one it was stored before S3 encrypted everything
		shown.Encryption = live.byDefault
	}
	have.Encryption = shown.Encryption.among(have.Encryption)
	kind.Compare(d, objectTable, shown, have, put)
	compareTags(d, want.Tags, live.tags, "PutObjectTagging",
		func(ctx context.Context, u kind.Update[liveObject], tags []types.Tag) error {
			t := targetOf(u.Facts, string(u.Live.attrs.Bucket))
			in := sdk.PutObjectTaggingInput{Key: &u.Live.attrs.Key, Tagging: &types.Tagging{TagSet: tags}}
			return set(ctx, t, t.PutObjectTagging, in)
		})
}

// among is how an object is encrypted, as far as that counts: nothing where no encryption is wanted, and the wanted key where
// none is named or both mean one.
func (e *ObjectEncryption) among(have *ObjectEncryption) *ObjectEncryption {
	if e == nil || have == nil {
		return nil
	}
	is := *have
	if e.KMSKey == "" || sameKey(e.KMSKey, is.KMSKey) {
		is.KMSKey = e.KMSKey
	}
	return &is
}

// compareContent compares digests. Content with what is not known yet in it has none.
func compareContent(d *objectDiff, want ObjectProps, live liveObject, put *kind.Operation[liveObject]) {
	have := "sha256:" + live.digest
	file, ok := d.Asset(contentAsset)
	switch {
	case want.Content != nil && d.Unknown("content", *want.Content):
		reconcile.Value(d, "content", *want.Content, have, put)
	case want.Content != nil:
		reconcile.Value(d, "content", "sha256:"+digestOf(*want.Content), have, put)
	case ok:
		reconcile.Value(d, "source", "sha256:"+file.Digest, have, put)
		if was, told := d.OldAsset(contentAsset); told && was.Digest == live.digest {
			d.Files("source", contentAsset)
		}
	case want.Source == "": // nothing is declared, as when somebody asks what is there
		reconcile.Value(d, "content", "", have, put)
	default:
		reconcile.Value(d, "source", want.Source, have, put)
	}
}

// createObject uploads only if there is no object of that key.
func createObject(ctx context.Context, s objectSite) (Object, error) {
	out, err := upload(ctx, targetOf(s.Facts, string(s.Want.Bucket)), s.Want.Key, s.Facts, s.Want, true)
	if err != nil {
		return Object{}, err
	}
	o := objectAt(s.Location, string(s.Want.Bucket), s.Want.Key)
	o.ETag, o.VersionID = awssdk.ToString(out.ETag), awssdk.ToString(out.VersionId)
	return o, nil
}

func deleteObject(ctx context.Context, s objectSite) error {
	t := targetOf(s.Facts, string(s.Last.Bucket))
	return unless(set(ctx, t, t.DeleteObject, sdk.DeleteObjectInput{Key: &s.Last.Key}), "NoSuchKey", "NoSuchBucket")
}

// upload puts an object. The checksum is that of what was compared, so that S3 refuses a file that has changed since.
func upload(ctx context.Context, t target, key string, s kind.Facts, want ObjectProps, create bool) (*sdk.PutObjectOutput, error) {
	body, file, err := contentOf(ctx, s, want)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // it was only read
	sum, err := hex.DecodeString(file.Digest)
	if err != nil {
		return nil, err
	}
	tags := url.Values{}
	for k, v := range aws.Tags(s.Cloud, want.Tags, s.Owner) {
		tags.Set(k, v)
	}
	in := sdk.PutObjectInput{
		Key: &key, Body: body, ContentLength: &file.Size, Tagging: aws.OrNil(tags.Encode()),
		ChecksumSHA256: new(base64.StdEncoding.EncodeToString(sum)), ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
	}
	if err := objectTable.Created(want, kind.Struct(&in)); err != nil {
		return nil, err
	}
	if create {
		in.IfNoneMatch = new("*")
	}
	return ask(ctx, t, t.PutObject, in)
}

// contentOf opens what is to be uploaded. Files are streamed.
func contentOf(ctx context.Context, s kind.Facts, want ObjectProps) (io.ReadSeekCloser, kind.Asset, error) {
	if c := want.Content; c != nil {
		return unclosed{strings.NewReader(*c)}, kind.Asset{Digest: digestOf(*c), Size: int64(len(*c))}, nil
	}
	file := s.Assets[contentAsset]
	if file.Path == "" {
		return nil, file, fmt.Errorf("source %s was not prepared", want.Source)
	}
	f, err := localfile.Open(ctx, file.Path)
	return f, file, err
}

type unclosed struct{ *strings.Reader }

func (unclosed) Close() error { return nil }
