package aws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/athanor-dev/athanor/reconcile"
)

func answered(status int, header http.Header, err error) error {
	return &smithy.OperationError{ServiceID: "SQS", OperationName: "CreateQueue", Err: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status, Header: header}}, Err: err,
	}}
}

func coded(code string) error {
	return &smithy.GenericAPIError{Code: code, Message: "as the service says"}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err  error
		want reconcile.Class
	}{
		{coded("AWS.SimpleQueueService.NonExistentQueue"), reconcile.Absent},
		{answered(400, nil, coded("QueueDoesNotExist")), reconcile.Absent},
		{answered(404, nil, coded("NoSuchBucket")), reconcile.Absent},
		{answered(404, nil, coded("NotFound")), reconcile.Absent},
		{answered(404, nil, coded("SomethingNew")), reconcile.Invalid}, // a wrong address answers 404 as well
		{coded("KMS.NotFoundException"), reconcile.Invalid},            // the key is missing, not the queue
		{coded("QueueAlreadyExists"), reconcile.Exists},
		{coded("BucketAlreadyOwnedByYou"), reconcile.Exists},
		{coded("BucketAlreadyExists"), reconcile.Denied}, // it is somebody else's
		{coded("AWS.SimpleQueueService.QueueDeletedRecently"), reconcile.Busy},
		{coded("OperationAborted"), reconcile.Conflict},
		{answered(409, nil, coded("SomethingNew")), reconcile.Conflict},
		{answered(400, nil, coded("RequestThrottled")), reconcile.Throttled},
		{answered(503, nil, coded("SlowDown")), reconcile.Throttled},
		{answered(429, nil, coded("SomethingNew")), reconcile.Throttled},
		{answered(500, nil, coded("InternalError")), reconcile.Transient},
		{answered(502, nil, errors.New("a page of a proxy")), reconcile.Transient},
		{answered(501, nil, coded("NotImplemented")), reconcile.Invalid},
		{answered(403, nil, coded("AccessDenied")), reconcile.Denied},
		{answered(403, nil, coded("SomethingNew")), reconcile.Denied},
		{answered(400, nil, coded("InvalidParameterValue")), reconcile.Invalid},
		{answered(400, nil, coded("SomethingNew")), reconcile.Invalid},
		{answered(200, nil, &smithy.DeserializationError{Err: io.ErrUnexpectedEOF}), reconcile.Transient},
		{coded("TopicLimitExceeded"), reconcile.Quota},
		{&smithyhttp.RequestSendError{Err: syscall.ECONNREFUSED}, reconcile.Transient},
		{&smithyhttp.RequestSendError{Err: &net.DNSError{IsNotFound: true}}, reconcile.Invalid},
		{&smithyhttp.RequestSendError{Err: &net.DNSError{IsTemporary: true}}, reconcile.Transient},
		{fmt.Errorf("read: %w", io.ErrUnexpectedEOF), reconcile.Transient},
		{&smithyhttp.RequestSendError{Err: context.Canceled}, reconcile.Unknown},
		{&AccountError{Have: "1", Allowed: "2"}, reconcile.Denied},
		{fmt.Errorf("sign: %w", &CredentialsError{Err: syscall.ECONNREFUSED}), reconcile.Denied},
		{fmt.Errorf("place: %w", errNoRegion), reconcile.Invalid},
		{NotYet(coded("QueueDoesNotExist")), reconcile.Transient},
		{NotYet(coded("AccessDenied")), reconcile.Denied},
		{Busy(coded("InvalidParameterValue")), reconcile.Busy},
		{errors.New("anything"), reconcile.Unknown},
		{nil, reconcile.Unknown},
	} {
		if have := classOf(c.err); have != c.want {
			t.Errorf("%v: %q, want %q", c.err, have, c.want)
		}
	}
}

// TestCodesOnce finds codes that stand in two classes: which one counts would be chance.
func TestCodesOnce(t *testing.T) {
	seen := map[string]reconcile.Class{}
	for class, names := range codes {
		for _, name := range names {
			if other, twice := seen[name]; twice {
				t.Errorf("%s is %s and %s", name, class, other)
			}
			seen[name] = class
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0} {
		err := answered(429, http.Header{"Retry-After": {value}}, coded("SlowDown"))
		if have := retryAfter(err); have != want {
			t.Errorf("%q: %s, want %s", value, have, want)
		}
	}
	if retryAfter(coded("SlowDown")) != 0 {
		t.Error("no answer, no time")
	}
}

func TestReads(t *testing.T) {
	for name, want := range map[[2]string]bool{
		{"SQS", "GetQueueAttributes"}: true, {"SQS", "ListQueues"}: true, {"SQS", "ReceiveMessage"}: false, {"SQS", "CreateQueue"}: false,
		{"S3", "HeadBucket"}: true, {"S3", "PutObject"}: false, {"S3", "CreateSession"}: false, {"SNS", "Subscribe"}: false,
		{"SNS", "CheckIfPhoneNumberIsOptedOut"}: true, {"STS", "GetCallerIdentity"}: true, {"STS", "AssumeRole"}: true,
		{"Tagging", "GetResources"}: true, {"Tagging", "StartReportCreation"}: false, {"Unheard", "GetAnything"}: false,
	} {
		if have := reads(name[0], name[1]); have != want {
			t.Errorf("%s.%s reads: %v", name[0], name[1], have)
		}
	}
}

// TestIsUnknownOperation tells what a service does not know from what it refuses.
func TestIsUnknownOperation(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{coded("UnknownOperationException"), true},
		{answered(501, nil, coded("InternalFailure")), true},
		{answered(400, nil, coded("InvalidOperationException")), false},
		{answered(403, nil, coded("AccessDeniedException")), false},
		{answered(500, nil, coded("InternalFailure")), false},
		{context.Canceled, false},
	} {
		if have := IsUnknownOperation(c.err); have != c.want {
			t.Errorf("%v: %v", c.err, have)
		}
	}
}
