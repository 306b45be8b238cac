package aws

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/athanor-dev/athanor/reconcile"
)

// TestCallTakesItsInput: the types of a call and of its input are compared when it is made, since the compiler no longer knows them.
func TestCallTakesItsInput(t *testing.T) {
	call := CallOf(func(reconcile.Cloud) *sqs.Client { t.Error("a client is asked for"); return nil }, (*sqs.Client).DeleteQueue)
	if _, ok := call.Input().(*sqs.DeleteQueueInput); !ok {
		t.Errorf("its input is %T", call.Input())
	}
	defer func() {
		if recover() == nil {
			t.Error("it takes the input of another operation")
		}
	}()
	_ = call.Send(t.Context(), nil, &sqs.PurgeQueueInput{})
}
