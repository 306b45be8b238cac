package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/athanor-dev/athanor/reconcile"
)

// Classify says what to do about an error, by its code.
func (c *Cloud) Classify(err error) reconcile.Class { return classOf(err) }

// NotYet classifies the error of a call on something that a read has just shown. The service's parts do not agree
// about it yet, so that "absent" is to be asked again instead of believed. Other errors stay as they are.
func NotYet(err error) error {
	if classOf(err) == reconcile.Absent {
		return reconcile.WithClass(err, reconcile.Transient)
	}
	return err
}

// Busy classifies an error as one that goes away by waiting.
func Busy(err error) error { return reconcile.WithClass(err, reconcile.Busy) }

// IsAbsent reports whether the service answered that there is none.
func IsAbsent(err error) bool { return classOf(err) == reconcile.Absent }

// Absent turns the service's word for "there is none", and nothing else, into ErrAbsent.
func Absent(err error) error {
	if IsAbsent(err) {
		return fmt.Errorf("%w: %w", reconcile.ErrAbsent, err)
	}
	return err
}

// OrNone is nil for the service's word for "there is none": of a part of an object that was just observed.
func OrNone(err error) error {
	if IsAbsent(err) {
		return nil
	}
	return err
}

// IsExists reports whether the service answered that there is one already.
func IsExists(err error) bool { return classOf(err) == reconcile.Exists }

// IsUnknownOperation reports whether the service answered that it does not know the operation, as emulators do and regions that do
// not have it yet. Only of what cannot be there then may this be taken as "there is none".
func IsUnknownOperation(err error) bool {
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return HasCode(err, "UnknownOperationException", "NotImplemented") || ok && answer.HTTPStatusCode() == http.StatusNotImplemented
}

// HasCode reports whether the service answered with one of these codes.
func HasCode(err error, codes ...string) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && slices.Contains(codes, api.ErrorCode())
}

// classOf goes by what is surest: an error of our own, the service's code, the status, the connection.
func classOf(err error) reconcile.Class {
	if err == nil {
		return reconcile.Unknown
	}
	if class, ok := reconcile.ClassGiven(err); ok {
		return class
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
		if class := reconcile.ClassOfStatus(answer.HTTPStatusCode()); class != reconcile.Unknown {
			return class
		}
	}
	return byConnection(err)
}

// byConnection is for calls without an answer, or with half of one.
func byConnection(err error) reconcile.Class {
	class := reconcile.ClassOfConnection(err)
	if class == reconcile.Unknown && !errors.Is(err, context.Canceled) &&
		(is[*smithyhttp.RequestSendError](err) || is[*smithy.DeserializationError](err)) {
		return reconcile.Transient
	}
	return class
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
