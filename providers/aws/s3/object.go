package s3

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// mostBytes is what S3 takes in one upload.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
const mostBytes = 5 << 30

type (
	objectDiff = reconcile.Diff[liveObject]
	objectSite = reconcile.Site[ObjectProps, Object]
)

var objectKind = &reconcile.Kind[ObjectProps, liveObject, Object]{
	Type: objectType,
	Doc: "An object with all of its content, told from another by the SHA-256 that S3 keeps with it. An object uploaded by " +
		"other means has none, and is uploaded again. It is found by its bucket and key: the tagging service shows no objects. Any change but of tags uploads the object anew. Deleting it where " +
		"versions are kept leaves the older ones. Not managed, and left as they are: access control lists, retention and " +
		"legal hold, annotations. An upload drops the header Expires.",

	Observe:  observeObject,
	Create:   createObject,
	Compare:  compareObject,
	Attrs:    objectAttrs,
	Delete:   deleteObject,
	Identity: func(o Object) string { return string(o.Bucket) + "/" + o.Key },

	Defaults: objectDefaults,
	Check:    checkObject,
	Prepare:  prepareObject,
	Files:    []tree.Path{"source"},
	AtBirth:  []string{"bucket", "key", "arn", "url"},
	Moves:    []string{"eTag", "versionId"},

	Given: func(want ObjectProps) string { return string(want.Bucket) + "/" + want.Key },

	Owner: func(live liveObject) reconcile.Mark { return adopt.MarkOf(live.tags) },

	// 5 GiB over a slow line take a while.
	Timeouts: reconcile.Timeouts{Create: time.Hour, Update: time.Hour},

	Source: source,
	Calls:  []string{"S3.HeadObject", "S3.GetObjectTagging", "S3.GetBucketEncryption", "S3.PutObject", "S3.PutObjectTagging", "S3.DeleteObject"},
	Permissions: reconcile.Permissions{
		Observe: []string{"s3:ListBucket", "s3:GetObject", "s3:GetObjectTagging", "s3:GetEncryptionConfiguration"},
		Create:  []string{"s3:PutObject", "s3:PutObjectTagging"},
		Update:  []string{"s3:PutObject", "s3:PutObjectTagging"},
		Delete:  []string{"s3:DeleteObject"},
		Resource: func(place reconcile.Place, name string) []string {
			bucket, _, _ := strings.Cut(name, "/")
			return []string{string(arnOf(place.Region, bucket)), string(arnOf(place.Region, name))}
		},
	},
}

func attrsOfObject(bucket, key, region, etag, version string) Object {
	return Object{
		Bucket: BucketName(bucket), Key: key, ETag: etag, VersionID: version,
		ARN: arnOf(region, bucket+"/"+key),
		URL: "https://" + bucket + ".s3." + region + "." + domainOf(region) + (&url.URL{Path: "/" + key}).EscapedPath(),
	}
}

func objectAttrs(live liveObject) Object {
	return attrsOfObject(live.bucket, live.key, live.region, live.etag, live.version)
}

func objectDefaults(want ObjectProps) ObjectProps {
	if want.StorageClass == nil {
		want.StorageClass = new("STANDARD")
	}
	if want.ContentType == nil && !token.Has(want.Key) {
		want.ContentType = new(mediaType(want.Key))
	}
	want.Metadata, want.Tags = orNil(maps.Clone(want.Metadata)), maps.Clone(want.Tags)
	return want
}

// checkObject finds what S3 would refuse or change.
func checkObject(want ObjectProps) error {
	var bad props.Errors
	say := func(path, problem string) { bad = append(bad, problemAt(path, problem)) }
	if (want.Content == nil) == (want.Source == "") {
		say("content", "needs either content or source")
	}
	if !token.Has(want.Key) && len(want.Key) > 1024 {
		say("key", fmt.Sprintf("has %d bytes; S3 takes 1024", len(want.Key)))
	}
	if e := want.Encryption; e != nil && e.Algorithm == "AES256" && e.KMSKey != "" {
		say("encryption.kmsKey", "needs an algorithm of KMS")
	}
	if e := want.Encryption; e != nil && strings.Contains(e.KMSKey, "alias/") {
		say("encryption.kmsKey", "wants a key's ARN: S3 shows keys, never aliases, so that an alias could not be compared")
	}
	for k := range want.Metadata {
		if !token.Has(k) && k != strings.ToLower(k) {
			say("metadata", "key "+k+" must be lower case: S3 makes it so")
		}
	}
	bad = append(bad, checkTags(want.Tags, 5)...)
	if len(bad) == 0 {
		return nil
	}
	return bad
}

// contentAsset is the name under which Prepare gives the file.
const contentAsset = "source"

// prepareObject digests the file, without holding it in memory.
func prepareObject(ctx context.Context, work reconcile.Workspace, want ObjectProps) (map[string]reconcile.Asset, error) {
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
	return map[string]reconcile.Asset{contentAsset: {Digest: hex.EncodeToString(sum.Sum(nil)), Path: path, Size: n}}, nil
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

// checksum is a digest as S3 writes it.
func checksum(digest string) (string, error) {
	sum, err := hex.DecodeString(digest)
	return base64.StdEncoding.EncodeToString(sum), err
}

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}
