package s3

import (
	"context"
	"crypto/md5" //nolint:gosec // S3's ETags are made with it
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strconv"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/athanor-dev/athanor/reconcile/token"
)

// recognized returns the SHA-256 of an object of which S3 keeps none, because another tool uploaded it: the wanted digest where the
// ETag says that the object has the wanted content, else the digest of the bytes, which are read for it. It returns "" where nothing is
// wanted, where the sizes differ, and where the bytes may not be read: then the content counts as different.
//
// The ETag is the MD5 of the bytes, or that of the MD5s of the parts, unless a key of KMS or of the customer encrypts the object:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html
func recognized(ctx context.Context, t target, s objectSite, key string, head *sdk.HeadObjectOutput) (string, error) {
	if c := s.Want.Content; s.Assets[contentAsset].Path == "" && (c == nil || token.Has(*c)) {
		return "", nil
	}
	body, want, err := contentOf(ctx, s.Facts, s.Want)
	if err != nil {
		return "", err
	}
	defer func() { _ = body.Close() }() // it was only read
	if awssdk.ToInt64(head.ContentLength) != want.Size {
		return "", nil
	}
	etag, part := strings.Trim(awssdk.ToString(head.ETag), `"`), int64(0)
	if strings.Contains(etag, "-") {
		first, err := ask(ctx, t, t.HeadObject, sdk.HeadObjectInput{Key: &key, PartNumber: new(int32(1))})
		if err != nil {
			return "", missing(err)
		}
		part = awssdk.ToInt64(first.ContentLength)
	}
	have, digest, err := etagOf(reader{ctx, body}, part)
	switch {
	case err != nil:
		return "", err
	case digest != want.Digest: // the file has changed since it was prepared
		return "", nil
	case have == etag:
		return digest, nil
	}
	out, err := ask(ctx, t, t.GetObject, sdk.GetObjectInput{Key: &key, IfMatch: head.ETag})
	if err != nil {
		return "", unless(missing(err), "AccessDenied", "PreconditionFailed")
	}
	defer func() { _ = out.Body.Close() }() // it was only read
	sum := sha256.New()
	if _, err := io.Copy(sum, reader{ctx, out.Body}); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// etagOf returns the ETag that S3 gives to content, and the SHA-256 of the content. part is the size of the parts that the content is
// uploaded in, 0 for an upload at once.
func etagOf(content io.Reader, part int64) (etag, digest string, err error) {
	whole := sha256.New()
	if part <= 0 {
		sum := md5.New() //nolint:gosec // S3's
		_, err := io.Copy(io.MultiWriter(sum, whole), content)
		return hex.EncodeToString(sum.Sum(nil)), hex.EncodeToString(whole.Sum(nil)), err
	}
	all, parts := md5.New(), 0 //nolint:gosec // S3's
	for err == nil {
		sum, n := md5.New(), int64(0) //nolint:gosec // S3's
		if n, err = io.CopyN(io.MultiWriter(sum, whole), content, part); n > 0 {
			parts++
			_, _ = all.Write(sum.Sum(nil)) // never fails
		}
	}
	if !errors.Is(err, io.EOF) {
		return "", "", err
	}
	return hex.EncodeToString(all.Sum(nil)) + "-" + strconv.Itoa(parts), hex.EncodeToString(whole.Sum(nil)), nil
}
