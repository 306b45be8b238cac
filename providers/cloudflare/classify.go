package cloudflare

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/athanor-dev/athanor/reconcile"
)

// Classify says what to do about an error, by its code.
func (c *Cloud) Classify(err error) reconcile.Class { return classOf(err) }

// NotYet marks the error of a call on something that a read has just shown. The service's parts do not agree about it
// yet, so that "absent" is to be asked again instead of believed. Other errors stay as they are.
func NotYet(err error) error {
	if IsAbsent(err) {
		return &classError{err, reconcile.Transient}
	}
	return err
}

// Taken marks the error of a change to what something else has already, such as a name: looking again does not help.
// Other errors stay as they are.
func Taken(err error) error {
	if classOf(err) == reconcile.Exists {
		return Invalid(err)
	}
	return err
}

// Busy marks an error as one that goes away by waiting.
func Busy(err error) error { return &classError{err, reconcile.Busy} }

// Invalid marks an error as one that only the author can make go away.
func Invalid(err error) error { return &classError{err, reconcile.Invalid} }

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

// errCut says that an answer did not arrive whole.
var errCut = errors.New("the answer was cut")

// classOf goes by what is surest: an error of our own, the service's codes and status, the connection.
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
	if _, ok := errors.AsType[*TokenError](err); ok {
		return reconcile.Denied
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.class()
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
	return reconcile.Unknown
}

// byConnection is for calls without an answer, or with half of one.
func byConnection(err error) reconcile.Class {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return reconcile.Denied
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok && name.IsNotFound {
		return reconcile.Invalid // an endpoint that does not exist
	}
	if errors.Is(err, context.Canceled) {
		return reconcile.Unknown
	}
	if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, errCut) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return reconcile.Transient
	}
	return reconcile.Unknown
}
