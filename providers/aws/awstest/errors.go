package awstest

import (
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/reconcile"
)

// Errors are those of a service by their class, with the codes that it has for them: for kindtest.Suite.
func Errors(denied, throttled, transient string) func(reconcile.Class) error {
	return func(class reconcile.Class) error {
		switch class {
		case reconcile.Denied:
			return &smithy.GenericAPIError{Code: denied, Message: "not authorized"}
		case reconcile.Throttled:
			return &smithy.GenericAPIError{Code: throttled, Message: "Rate exceeded"}
		case reconcile.Transient:
			return &smithy.GenericAPIError{Code: transient, Message: "We encountered an internal error."}
		}
		return nil
	}
}
