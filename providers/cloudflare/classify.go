package cloudflare

import (
	"context"
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor/reconcile"
)

// Classify says what to do about an error, by its code.
func (c *Cloud) Classify(err error) reconcile.Class { return classOf(err) }

// NotYet classifies the error of a call on something that a read has just shown. The service's parts do not agree about it
// yet, so that "absent" is to be asked again instead of believed. Other errors stay as they are.
func NotYet(err error) error {
	if IsAbsent(err) {
		return reconcile.WithClass(err, reconcile.Transient)
	}
	return err
}

// Taken classifies the error of a change to what something else has already, such as a name: reading again does not help.
// Other errors stay as they are.
func Taken(err error) error {
	if classOf(err) == reconcile.Exists {
		return Invalid(err)
	}
	return err
}

// Invalid classifies an error as one that only the author can make go away.
func Invalid(err error) error { return reconcile.WithClass(err, reconcile.Invalid) }

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
	if class, ok := reconcile.ClassGiven(err); ok {
		return class
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
	class := reconcile.ClassOfConnection(err)
	if class == reconcile.Unknown && errors.Is(err, errCut) && !errors.Is(err, context.Canceled) {
		return reconcile.Transient
	}
	return class
}
