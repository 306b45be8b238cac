package aws

import (
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

func TestLimitsAreShared(t *testing.T) {
	l := newLimits()
	call := reconcile.Call{Service: "SQS", Operation: "GetQueueUrl", Place: reconcile.Place{Account: "1", Region: "r"}}
	same, write, elsewhere := call, call, call
	same.Operation = "ListQueues"
	write.Mutates = true
	elsewhere.Place.Account = "2"
	if l.of(call) != l.of(same) || l.of(call) == l.of(write) || l.of(call) == l.of(elsewhere) {
		t.Error("reads of one service in one place share a limit, and nothing else does")
	}
}
