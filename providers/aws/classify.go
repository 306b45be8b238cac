package aws

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/athanor-dev/athanor/reconcile"
)

// Classify says what to do about an error, by its code.
func (c *Cloud) Classify(err error) reconcile.Class { return classOf(err) }

// NotYet marks the error of a call on something that a read has just shown. The service's parts do not agree
// about it yet, so that "absent" is to be asked again instead of believed. Other errors stay as they are.
func NotYet(err error) error {
	if classOf(err) == reconcile.Absent {
		return &classError{err, reconcile.Transient}
	}
	return err
}

// Busy marks an error as one that goes away by waiting.
func Busy(err error) error { return &classError{err, reconcile.Busy} }

type classError struct {
	error
	class reconcile.Class
}

func (e *classError) Unwrap() error { return e.error }

// IsAbsent reports whether the service answered that there is none.
func IsAbsent(err error) bool { return classOf(err) == reconcile.Absent }

// Absent turns the service's word for "there is none", and nothing else, into ErrAbsent.
func Absent(err error) error {
	if IsAbsent(err) {
		return fmt.Errorf("%w: %w", reconcile.ErrAbsent, err)
	}
	return err
}

// IsExists reports whether the service answered that there is one already.
func IsExists(err error) bool { return classOf(err) == reconcile.Exists }

// classOf goes by what is surest: an error of our own, the service's code, the status, the connection.
func classOf(err error) reconcile.Class {
	if err == nil {
		return reconcile.Unknown
	}
	if own, ok := errors.AsType[*classError](err); ok {
		return own.class
	}
	if _, ok := errors.AsType[*AccountError](err); ok {
		return reconcile.Denied
	}
	if _, ok := errors.AsType[*CredentialsError](err); ok {
		return reconcile.Denied
	}
	if errors.Is(err, errNoRegion) {
		return reconcile.Invalid
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		if class, ok := classes()[api.ErrorCode()]; ok {
			return class
		}
	}
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && answer.Response != nil {
		if class := byStatus(answer.HTTPStatusCode()); class != reconcile.Unknown {
			return class
		}
	}
	return byConnection(err)
}

// byStatus is for codes that no table knows. 404 is never "absent" then: a wrong address answers it too.
func byStatus(status int) reconcile.Class {
	switch {
	case status == http.StatusTooManyRequests:
		return reconcile.Throttled
	case status >= 500 && status != http.StatusNotImplemented, status == http.StatusRequestTimeout:
		return reconcile.Transient
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return reconcile.Denied
	case status == http.StatusConflict:
		return reconcile.Conflict
	case status >= 300, status == http.StatusNotImplemented:
		return reconcile.Invalid
	}
	return reconcile.Unknown // an answer that was cut or garbled on its way
}

// byConnection is for calls without an answer, or with half of one.
func byConnection(err error) reconcile.Class {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return reconcile.Denied
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok && name.IsNotFound {
		return reconcile.Invalid // a region or an endpoint that does not exist
	}
	if errors.Is(err, context.Canceled) {
		return reconcile.Unknown
	}
	for _, lost := range []func(error) bool{
		is[*smithyhttp.RequestSendError], is[*smithy.DeserializationError], is[net.Error],
		func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) },
	} {
		if lost(err) {
			return reconcile.Transient
		}
	}
	return reconcile.Unknown
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// retryAfter is how long the service asks to be left alone, 0 when it does not say.
func retryAfter(err error) time.Duration {
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || answer.Response == nil {
		return 0
	}
	seconds, convErr := strconv.Atoi(answer.Response.Header.Get("Retry-After"))
	if convErr != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
