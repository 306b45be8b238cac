package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/athanor-dev/athanor/statestore/internal/objects"
)

// attemptTimeout is how long one request may take. What a store writes at once is some megabytes at most.
const attemptTimeout = 30 * time.Second

// client is a bucket of S3.
type client struct {
	address Address
	config  Config

	mu  sync.Mutex
	api *awss3.Client
}

var _ objects.Bucket = (*client)(nil)

// Bucket is the bucket of a store, by the requests of S3.
func Bucket(address Address, config Config) objects.Bucket {
	return &client{address: address, config: config}
}

// connect makes the SDK's client once. Requests are sent once: what is to be sent again is decided where the protocol is
// known.
func (c *client) connect() (*awss3.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.api != nil {
		return c.api, nil
	}
	cfg, err := c.config(c.address.Region)
	if err != nil {
		return nil, err
	}
	if cfg.Region == "" && c.address.Endpoint != "" {
		cfg.Region = "auto" // the name that servers take which have no regions
	}
	if cfg.Region == "" {
		return nil, &RegionError{Bucket: c.address.Bucket}
	}
	cfg.APIOptions = nil // gates of calls on resources
	c.api = awss3.NewFromConfig(cfg, func(o *awss3.Options) {
		o.Retryer = aws.NopRetryer{}
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		if c.address.Endpoint != "" {
			o.BaseEndpoint = &c.address.Endpoint
		}
		if o.BaseEndpoint != nil {
			o.UsePathStyle = true
		}
	})
	return c.api, nil
}

// RegionError says that nobody has said which region a bucket is in.
type RegionError struct{ Bucket string }

func (e *RegionError) Error() string { return "the region of bucket " + e.Bucket + " is not known" }

// Hint says what the user can do.
func (e *RegionError) Hint() string {
	return "add ?region=… to the URL of the store, or set AWS_REGION"
}

// Get implements [objects.Bucket].
func (c *client) Get(ctx context.Context, key, etag string) (objects.Object, error) {
	api, err := c.connect()
	if err != nil {
		return objects.Object{}, err
	}
	ctx, stop := context.WithTimeout(ctx, attemptTimeout)
	defer stop()
	in := &awss3.GetObjectInput{Bucket: &c.address.Bucket, Key: &key}
	if etag != "" {
		in.IfNoneMatch = &etag
	}
	out, err := api.GetObject(ctx, in)
	if err != nil {
		return objects.Object{Date: dateOf(err)}, c.meaning(ctx, "s3:GetObject", err)
	}
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	if err == nil && out.ContentLength != nil && int64(len(body)) != *out.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return objects.Object{}, &uncertainError{err}
	}
	object := objects.Object{Body: body, ETag: aws.ToString(out.ETag)}
	if out.LastModified != nil {
		object.Modified = *out.LastModified
	}
	object.Date, _ = middleware.GetServerTime(out.ResultMetadata)
	return object, nil
}

// Put implements [objects.Bucket].
func (c *client) Put(ctx context.Context, key string, body []byte, when objects.Condition) (objects.Object, error) {
	api, err := c.connect()
	if err != nil {
		return objects.Object{}, err
	}
	ctx, stop := context.WithTimeout(ctx, attemptTimeout+time.Duration(len(body))*time.Second/(64<<10))
	defer stop()
	in := &awss3.PutObjectInput{Bucket: &c.address.Bucket, Key: &key, Body: bytes.NewReader(body)}
	if when.Absent {
		in.IfNoneMatch = aws.String("*")
	}
	if when.ETag != "" {
		in.IfMatch = &when.ETag
	}
	out, err := api.PutObject(ctx, in)
	if err != nil {
		return objects.Object{Date: dateOf(err)}, c.meaning(ctx, "s3:PutObject", err)
	}
	object := objects.Object{ETag: aws.ToString(out.ETag)}
	object.Date, _ = middleware.GetServerTime(out.ResultMetadata)
	return object, nil
}

// List implements [objects.Bucket].
func (c *client) List(ctx context.Context, prefix, after string) ([]objects.Listed, bool, error) {
	api, err := c.connect()
	if err != nil {
		return nil, false, err
	}
	ctx, stop := context.WithTimeout(ctx, attemptTimeout)
	defer stop()
	in := &awss3.ListObjectsV2Input{Bucket: &c.address.Bucket, Prefix: &prefix}
	if after != "" {
		in.StartAfter = &after
	}
	out, err := api.ListObjectsV2(ctx, in)
	if err != nil {
		return nil, false, c.meaning(ctx, "s3:ListBucket", err)
	}
	listed := make([]objects.Listed, 0, len(out.Contents))
	for _, o := range out.Contents {
		l := objects.Listed{Key: aws.ToString(o.Key)}
		if o.LastModified != nil {
			l.Modified = *o.LastModified
		}
		listed = append(listed, l)
	}
	return listed, aws.ToBool(out.IsTruncated), nil
}

// Delete implements [objects.Bucket].
func (c *client) Delete(ctx context.Context, keys []string) error {
	api, err := c.connect()
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, attemptTimeout)
	defer stop()
	in := &awss3.DeleteObjectsInput{Bucket: &c.address.Bucket, Delete: &types.Delete{Quiet: aws.Bool(true)}}
	for _, key := range keys {
		in.Delete.Objects = append(in.Delete.Objects, types.ObjectIdentifier{Key: &key})
	}
	if _, err = api.DeleteObjects(ctx, in); !unknown(err) {
		return c.meaning(ctx, "s3:DeleteObject", err)
	}
	// MinIO before 2025 wants an MD5 of the body, which the SDK no longer sends; others do not know the operation.
	for _, key := range keys {
		if _, err := api.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: &c.address.Bucket, Key: &key}); err != nil {
			return c.meaning(ctx, "s3:DeleteObject", err)
		}
	}
	return nil
}

// unknown reports whether a server refused a request for its form, or does not know the operation.
func unknown(err error) bool {
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok {
		return false
	}
	status := answer.HTTPStatusCode()
	return status == http.StatusBadRequest || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
}

// dateOf is the server's time in an answer that is an error.
func dateOf(err error) time.Time {
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && answer.Response != nil {
		if date, err := http.ParseTime(answer.Response.Header.Get("Date")); err == nil {
			return date
		}
	}
	return time.Time{}
}

// meaning says which of the bucket's errors an error is.
func (c *client) meaning(ctx context.Context, permission string, err error) error {
	if err == nil {
		return nil
	}
	status, code, text := 0, "", ""
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status = answer.HTTPStatusCode()
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code, text = api.ErrorCode(), api.ErrorMessage()
	}
	said := fmt.Errorf("%s: %s", code, text)
	if code == "" {
		said = fmt.Errorf("status %d", status)
	}
	switch {
	case status == 0 && ctx.Err() == nil && !sent(err):
		return err // it never left: no credentials, no region
	case status == 0:
		return &uncertainError{plain(err)}
	case code == "RequestTimeout", code == "IncompleteBody", code == "ClientDisconnect": // the body did not arrive whole
		return &uncertainError{said}
	case code == "NoSuchBucket":
		return &bucketError{said, "the bucket " + c.address.Bucket + " does not exist there: create it, or name another"}
	case status == http.StatusNotFound:
		return objects.ErrMissing
	case status == http.StatusNotModified:
		return objects.ErrUnchanged
	case status == http.StatusPreconditionFailed:
		return objects.ErrPrecondition
	case status == http.StatusConflict, status == http.StatusTooManyRequests, code == "SlowDown":
		return &busyError{said}
	case code == "RequestTimeTooSkewed":
		return &bucketError{c.skewed(err), "set the clock of this machine"}
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		return &bucketError{said, fmt.Sprintf("the credentials at hand need %s on %s", permission, c.address)}
	case status == http.StatusMovedPermanently, status == http.StatusTemporaryRedirect, code == "AuthorizationHeaderMalformed":
		return &bucketError{said, "the bucket is in another region: add ?region=… to the URL of the store"}
	case status == http.StatusNotImplemented:
		return &objects.UnsafeError{Place: c.address.String(), What: "it does not know conditional writes (" + said.Error() + ")"}
	case status >= 500:
		return &uncertainError{said}
	}
	return said
}

// skewed says by how much the clock of this machine is off.
func (c *client) skewed(err error) error {
	off := time.Since(dateOf(err)).Round(time.Minute)
	if off < 0 {
		return fmt.Errorf("the clock of this machine is %d minutes behind that of the server", -int(off.Minutes()))
	}
	return fmt.Errorf("the clock of this machine is %d minutes ahead of that of the server", int(off.Minutes()))
}

// sent reports whether a request without an answer was on its way.
func sent(err error) bool {
	_, sending := errors.AsType[*smithyhttp.RequestSendError](err)
	return sending
}

// plain takes out what the SDK says around the reason.
func plain(err error) error {
	if sending, ok := errors.AsType[*smithyhttp.RequestSendError](err); ok {
		return sending.Err
	}
	if operation, ok := errors.AsType[*smithy.OperationError](err); ok {
		return operation.Err
	}
	return err
}

type uncertainError struct{ err error }

func (e *uncertainError) Error() string        { return e.err.Error() }
func (e *uncertainError) Unwrap() error        { return e.err }
func (e *uncertainError) Is(target error) bool { return target == objects.ErrUncertain }

type busyError struct{ err error }

func (e *busyError) Error() string        { return e.err.Error() }
func (e *busyError) Unwrap() error        { return e.err }
func (e *busyError) Is(target error) bool { return target == objects.ErrBusy }

// bucketError is a refusal with what the user can do.
type bucketError struct {
	err  error
	hint string
}

func (e *bucketError) Error() string { return e.err.Error() }
func (e *bucketError) Unwrap() error { return e.err }

// Hint says what the user can do.
func (e *bucketError) Hint() string { return e.hint }
