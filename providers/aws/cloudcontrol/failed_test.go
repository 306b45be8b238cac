package cloudcontrol

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/controltest"
	"github.com/athanor-dev/athanor/reconcile"
)

// handlerCodes are the codes of handlers with what athanor does about each:
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/resource-operations-manage-requests.html
var handlerCodes = map[types.HandlerErrorCode]reconcile.Class{
	types.HandlerErrorCodeNotUpdatable:                 reconcile.Invalid,
	types.HandlerErrorCodeInvalidRequest:               reconcile.Invalid,
	types.HandlerErrorCodeAccessDenied:                 reconcile.Denied,
	types.HandlerErrorCodeUnauthorizedTaggingOperation: reconcile.Denied,
	types.HandlerErrorCodeInvalidCredentials:           reconcile.Denied,
	types.HandlerErrorCodeAlreadyExists:                reconcile.Exists,
	types.HandlerErrorCodeNotFound:                     reconcile.Absent,
	types.HandlerErrorCodeResourceConflict:             reconcile.Conflict,
	types.HandlerErrorCodeThrottling:                   reconcile.Throttled,
	types.HandlerErrorCodeServiceLimitExceeded:         reconcile.Quota,
	types.HandlerErrorCodeNotStabilized:                reconcile.Invalid,
	types.HandlerErrorCodeGeneralServiceException:      reconcile.Invalid,
	types.HandlerErrorCodeServiceInternalError:         reconcile.Transient,
	types.HandlerErrorCodeServiceTimeout:               reconcile.Transient,
	types.HandlerErrorCodeNetworkFailure:               reconcile.Transient,
	types.HandlerErrorCodeInternalFailure:              reconcile.Transient,
}

// TestFailedRequests: a request that ends FAILED is made again where its code says that this may help, and else ends in the code and the words of
// the service. Each code that Cloud Control has is among them. What a failed creation left is found by its tags, and is not made twice.
func TestFailedRequests(t *testing.T) {
	for _, code := range types.HandlerErrorCode("").Values() {
		class, ok := handlerCodes[code]
		if !ok {
			t.Errorf("%s: nothing is decided", code)
			continue
		}
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			isPassing := slices.Contains([]reconcile.Class{reconcile.Transient, reconcile.Throttled, reconcile.Conflict}, class)
			if have := newWorld(t).cloud.Classify(&HandlerError{Code: string(code)}); have != class {
				t.Errorf("it is %q, want %q", have, class)
			}
			for _, op := range []string{"CreateResource", "UpdateResource", "DeleteResource"} {
				w := newWorld(t)
				var last *reconcile.Outcome
				want := vpc()
				if op != "CreateResource" {
					last = new(w.settled(t, vpcType, vpc(), nil))
					want["EnableDnsHostnames"] = true
				}
				w.server.Refuse(controltest.Refusal{Op: op, Code: string(code), Late: true})
				k, job := w.job(t, vpcType, want, last)
				var err error
				if op == "DeleteResource" {
					err = k.Delete(t.Context(), job)
				} else {
					_, err = k.Settle(t.Context(), job, reconcile.Hooks{})
				}
				// Of a resource that is known and is said to be missing, or to be there, it is looked what holds. A name that is taken ends a creation.
				goesOn := isPassing || op != "CreateResource" && (class == reconcile.Absent || class == reconcile.Exists)
				handler, isHandler := errors.AsType[*HandlerError](err)
				switch {
				case goesOn && err != nil:
					t.Errorf("%s: %v, after %d calls", op, err, count(w.server.Calls(), op))
				case !goesOn && (!isHandler || handler.Code != string(code) || !strings.Contains(err.Error(), "refused by the test")):
					t.Errorf("%s: %v, after %d calls", op, err, count(w.server.Calls(), op))
				case !goesOn && count(w.server.Calls(), op) != 1:
					t.Errorf("%s: it is asked %d times", op, count(w.server.Calls(), op))
				}
				if made := len(w.server.Find(vpcType)); made > 1 {
					t.Errorf("%s: %d were made", op, made)
				}
			}
		})
	}
}
