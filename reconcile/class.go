package reconcile

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
)

// WithClass gives an error a class of its own, which goes before whatever a provider would make of it.
func WithClass(err error, class Class) error { return &classError{err, class} }

type classError struct {
	error
	class Class
}

func (e *classError) Unwrap() error { return e.error }

// ClassGiven is the class that WithClass gave to an error.
func ClassGiven(err error) (Class, bool) {
	given, ok := errors.AsType[*classError](err)
	if !ok {
		return Unknown, false
	}
	return given.class, true
}

// ClassOfStatus is for answers over HTTP whose code no table knows. 404 is never Absent then: a wrong address answers it
// too. It is Unknown below 300, which is an answer that was cut or garbled on its way.
func ClassOfStatus(status int) Class {
	switch {
	case status == http.StatusTooManyRequests:
		return Throttled
	case status >= 500 && status != http.StatusNotImplemented, status == http.StatusRequestTimeout:
		return Transient
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Denied
	case status == http.StatusConflict:
		return Conflict
	case status >= 300, status == http.StatusNotImplemented:
		return Invalid
	}
	return Unknown
}

// ClassOfConnection is for calls without an answer, or with half of one. Transient means that the call may have been done.
func ClassOfConnection(err error) Class {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return Denied
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok && name.IsNotFound {
		return Invalid // a region or an endpoint that does not exist
	}
	if errors.Is(err, context.Canceled) {
		return Unknown
	}
	if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Transient
	}
	return Unknown
}
