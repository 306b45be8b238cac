package aws

import (
	"errors"
	"net"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/athanor-dev/athanor/reconcile"
)

// codes is what the services' error codes mean. It is the only place where they are judged. Codes are those of the
// services' API references.
var codes = map[string]reconcile.Class{
	"NoSuchBucket": reconcile.Absent, "NoSuchKey": reconcile.Absent, "NoSuchUpload": reconcile.Absent, "NotFound": reconcile.Absent,
	"NotFoundException": reconcile.Absent, "ResourceNotFoundException": reconcile.Absent,
	"QueueDoesNotExist": reconcile.Absent, "AWS.SimpleQueueService.NonExistentQueue": reconcile.Absent,

	"BucketAlreadyOwnedByYou": reconcile.Exists, "QueueNameExists": reconcile.Exists, "QueueAlreadyExists": reconcile.Exists,
	"ResourceAlreadyExistsException": reconcile.Exists, "PreconditionFailed": reconcile.Exists,
	"BucketAlreadyExists": reconcile.Invalid, // it is somebody else's, everywhere

	"OperationAborted": reconcile.Conflict, "ConditionalRequestConflict": reconcile.Conflict,
	"ConcurrentModificationException": reconcile.Conflict, "ConcurrentAccess": reconcile.Conflict, "ConcurrentAccessException": reconcile.Conflict,
	"ResourceConflictException": reconcile.Conflict, "BucketNotEmpty": reconcile.Conflict, "StaleTag": reconcile.Conflict,
	"StaleTagException": reconcile.Conflict, "TagPolicy": reconcile.Invalid,

	"QueueDeletedRecently": reconcile.Busy, "AWS.SimpleQueueService.QueueDeletedRecently": reconcile.Busy,
	"PurgeQueueInProgress": reconcile.Busy,

	"Throttling": reconcile.Throttled, "ThrottlingException": reconcile.Throttled, "ThrottledException": reconcile.Throttled,
	"Throttled": reconcile.Throttled, "RequestThrottled": reconcile.Throttled, "RequestThrottledException": reconcile.Throttled,
	"TooManyRequestsException": reconcile.Throttled, "RequestLimitExceeded": reconcile.Throttled, "SlowDown": reconcile.Throttled,
	"BandwidthLimitExceeded": reconcile.Throttled, "EC2ThrottledException": reconcile.Throttled, "TransactionInProgressException": reconcile.Throttled,
	"KMS.ThrottlingException": reconcile.Throttled, "KmsThrottled": reconcile.Throttled,

	"InternalError": reconcile.Transient, "InternalFailure": reconcile.Transient, "InternalServerError": reconcile.Transient,
	"InternalErrorException": reconcile.Transient, "ServiceUnavailable": reconcile.Transient, "RequestTimeout": reconcile.Transient,
	"RequestTimeoutException": reconcile.Transient, "PriorRequestNotComplete": reconcile.Transient,

	"AccessDenied": reconcile.Denied, "AccessDeniedException": reconcile.Denied, "AuthorizationError": reconcile.Denied,
	"AuthorizationErrorException": reconcile.Denied, "UnauthorizedOperation": reconcile.Denied, "InvalidAccessKeyId": reconcile.Denied,
	"SignatureDoesNotMatch": reconcile.Denied, "ExpiredToken": reconcile.Denied, "ExpiredTokenException": reconcile.Denied,
	"InvalidClientTokenId": reconcile.Denied, "UnrecognizedClientException": reconcile.Denied, "OptInRequired": reconcile.Denied,
	"Forbidden": reconcile.Denied, "InvalidSecurity": reconcile.Denied, "AllAccessDisabled": reconcile.Denied,

	"TooManyBuckets": reconcile.Quota, "OverLimit": reconcile.Quota, "TopicLimitExceeded": reconcile.Quota,
	"TopicLimitExceededException": reconcile.Quota, "SubscriptionLimitExceeded": reconcile.Quota,
	"SubscriptionLimitExceededException": reconcile.Quota, "FilterPolicyLimitExceeded": reconcile.Quota,
	"FilterPolicyLimitExceededException": reconcile.Quota, "TagLimitExceeded": reconcile.Quota, "TagLimitExceededException": reconcile.Quota,
	"ServiceQuotaExceededException": reconcile.Quota, "LimitExceededException": reconcile.Quota,
}

// classify goes by the service's code first, then by the HTTP status, then by how the connection ended.
func classify(err error) reconcile.Class {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		if class, known := codes[api.ErrorCode()]; known {
			return class
		}
	}
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return byStatus(response.HTTPStatusCode())
	}
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return byStatus(response.HTTPStatusCode())
	}
	// Nothing was answered: the call may have had its effect.
	if _, ok := errors.AsType[*smithyhttp.RequestSendError](err); ok {
		return reconcile.Transient
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return reconcile.Transient
	}
	return reconcile.Unknown
}

func byStatus(status int) reconcile.Class {
	switch {
	case status == http.StatusNotFound:
		return reconcile.Absent
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		return reconcile.Denied
	case status == http.StatusTooManyRequests:
		return reconcile.Throttled
	case status == http.StatusConflict:
		return reconcile.Conflict
	case status >= 500:
		return reconcile.Transient
	case status >= 400:
		return reconcile.Invalid
	case status >= 200 && status < 300:
		return reconcile.Transient // the answer was cut or garbled
	default:
		return reconcile.Unknown
	}
}
