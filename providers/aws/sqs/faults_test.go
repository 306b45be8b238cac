package sqs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
)

func TestCalls(t *testing.T) {
	w := newWorld(t)
	props := tuned()
	delete(props, "name")
	out := w.Settled(t, props, nil)
	if have := w.Wrote(); !slices.Equal(have, []string{"SQS.CreateQueue"}) {
		t.Errorf("a creation with everything makes %v", have)
	}
	w.Server.Reset()
	out = w.Settled(t, props, &out)
	if have := w.Wrote(); len(have) > 0 {
		t.Errorf("unchanged, and %v are made", have)
	}
	if n := len(w.Server.Calls()); n != 2 {
		t.Errorf("a look makes %d calls, want 2", n)
	}
	props["visibilityTimeout"], props["delay"], props["maxReceives"], props["policy"] = "1m", "1s", int64(9), sendPolicy("sqs:*")
	w.Server.Reset()
	out = w.Settled(t, props, &out)
	if have := w.Wrote(); !slices.Equal(have, []string{"SQS.SetQueueAttributes"}) {
		t.Errorf("four attributes changed, and %v are made", have)
	}
	props["tags"] = obj{"team": "another"}
	w.Server.Reset()
	w.Settled(t, props, &out)
	if have := w.Wrote(); !slices.Equal(have, []string{"SQS.TagQueue", "SQS.UntagQueue"}) {
		t.Errorf("one tag changed and one dropped, and %v are made", have)
	}
}

// quick is the kind with a short bound of visibility, for faults after which it must be waited for.
func quick() reconcile.Any { return kindtest.Quick(queueKind, 300*time.Millisecond) }

// TestFaults breaks one call of a creation at a time. In the end there is one queue, made by as few calls as can be.
func TestFaults(t *testing.T) {
	awstest.Faults(t, newWorld, quick(), obj{"delay": "5s"}, (*world).queues, awstest.Broken{
		{"the answer of the creation is lost", awstest.Fault{Op: "SQS.CreateQueue", Kind: awstest.DropAnswer}, 1},
		{"the creation never arrives", awstest.Fault{Op: "SQS.CreateQueue", Kind: awstest.CutBefore}, 2},
		{"the creation is throttled twice", awstest.Fault{Op: "SQS.CreateQueue", Kind: awstest.Throttle, Times: 2}, 3},
		{"the creation meets an error of the service", awstest.Fault{Op: "SQS.CreateQueue", Kind: awstest.ServerError}, 2},
		{"reads are throttled", awstest.Fault{Op: "SQS.Get*", Kind: awstest.Throttle, Times: 2}, 1},
		{"an answer to a read is lost", awstest.Fault{Op: "SQS.GetQueueAttributes", Kind: awstest.DropAnswer}, 1},
		{"the tags cannot be read at first", awstest.Fault{Op: "SQS.ListQueueTags", Kind: awstest.ServerError}, 1},
		{"the queue is not shown at first", awstest.Fault{Op: "SQS.GetQueueAttributes", Kind: awstest.Stale, Times: 2}, 1},
	})
}

// TestChangeShownLate is about attributes that reads show late, as SQS does for up to a minute: they are not set
// twice.
func TestChangeShownLate(t *testing.T) {
	w := newWorld(t)
	out := w.Settled(t, obj{"delay": "5s"}, nil)
	w.Server.Reset()
	stale := w.Server.Inject(awstest.Fault{Op: "SQS.GetQueueAttributes", Kind: awstest.Stale, Nth: 2, Times: 2})
	w.Settled(t, obj{"delay": "6s"}, &out)
	if have := w.Wrote(); !slices.Equal(have, []string{"SQS.SetQueueAttributes"}) || stale.Fired() != 2 {
		t.Errorf("wrote %v after %d old answers", have, stale.Fired())
	}
}

func TestDenied(t *testing.T) {
	awstest.Denied(t, newWorld, obj{}, "SQS.GetQueueUrl", "SQS.CreateQueue", "SQS.ListQueueTags")
}

// refusing fails the first calls of one operation. It stands for what the emulator never answers.
type refusing struct {
	operation string
	times     int
	err       error
}

func (r *refusing) Enter(_ context.Context, call reconcile.Call) (func(error), error) {
	if call.String() == r.operation && r.times > 0 {
		r.times--
		return nil, r.err
	}
	return func(error) {}, nil
}

// TestNameTaken is about a name that SQS keeps for a minute after a deletion.
func TestNameTaken(t *testing.T) {
	w, kind := newWorld(t), queueKind.Erase()
	gate := &refusing{"SQS.CreateQueue", 2, &smithy.GenericAPIError{
		Code: "AWS.SimpleQueueService.QueueDeletedRecently", Message: "You must wait 60 seconds after deleting a queue",
	}}
	var notes []string
	_, err := kind.Settle(reconcile.WithGate(t.Context(), gate), w.Job(t, kind, obj{}, nil),
		reconcile.Hooks{Note: func(text string) { notes = append(notes, text) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "wait 60 seconds") {
		t.Errorf("told: %q", notes)
	}
}

// TestDeadLetterNotYet is about a dead-letter queue that comes while it is waited for.
func TestDeadLetterNotYet(t *testing.T) {
	w, kind := newWorld(t), queueKind.Erase()
	var notes []string
	_, err := kind.Settle(t.Context(), w.Job(t, kind, obj{"deadLetter": arn("dead-late")}, nil), reconcile.Hooks{Note: func(text string) {
		notes = append(notes, text)
		if _, err := w.Others.CreateQueue(t.Context(), &sdk.CreateQueueInput{QueueName: new("dead-late")}); err != nil {
			t.Error(err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(notes) == 0 || !strings.Contains(notes[0], "dead-letter queue is not there, or not yet") {
		t.Errorf("told: %q", notes)
	}
}

func TestDelete(t *testing.T) {
	w, kind := newWorld(t), queueKind.Erase()
	out := w.Settled(t, obj{}, nil)
	if _, err := w.Others.SendMessage(t.Context(), &sdk.SendMessageInput{QueueUrl: urlOf(out.Attrs), MessageBody: new("an order")}); err != nil {
		t.Fatal(err)
	}
	look, err := kind.Look(t.Context(), w.Job(t, kind, obj{}, &out))
	if err != nil || !look.Holds {
		t.Errorf("a queue with a message holds data: %v, %v", look.Holds, err)
	}
	job := w.Job(t, kind, nil, &out)
	if err := kind.Delete(t.Context(), job); !errors.Is(err, reconcile.ErrHoldsData) {
		t.Errorf("deleted without leave: %v", err)
	}
	if len(w.queues(t)) != 1 {
		t.Fatal("it is missing")
	}
	job.MayDelete = true
	w.Server.Reset()
	stale := w.Server.Inject(awstest.Fault{Op: "SQS.GetQueueAttributes", Kind: awstest.Stale})
	if err := kind.Delete(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if len(w.queues(t)) != 0 || stale.Fired() != 1 {
		t.Errorf("queues: %v, and the deletion looked %d times at what is shown late", w.queues(t), stale.Fired())
	}
	job.MayDelete = false
	if err := kind.Delete(t.Context(), job); err != nil {
		t.Errorf("deleting again: %v", err)
	}
}

// TestOwner is about owners that owner tags tell apart: ours by stack, and another's that is there under the name.
func TestOwner(t *testing.T) {
	w, kind := newWorld(t), queueKind.Erase()
	if _, err := w.Others.CreateQueue(t.Context(), &sdk.CreateQueueInput{
		QueueName: new("shop-test-orders"), Tags: map[string]string{"athanor:stack": "other", "athanor:stage": "test", "athanor:id": "net/q=a@"},
	}); err != nil {
		t.Fatal(err)
	}
	look, err := kind.Look(t.Context(), w.Job(t, kind, obj{}, nil))
	if want := (reconcile.Mark{Stack: "other", Stage: "test", Address: "net/q[a]"}); err != nil || look.Owner != want {
		t.Errorf("owner %+v, %v", look.Owner, err)
	}
}

func TestElsewhere(t *testing.T) {
	awstest.Elsewhere(t, newWorld, obj{}, "arn:aws:sqs:eu-west-1:"+account+":shop-test-orders",
		func(string) []string { return []string{"shop-test-orders"} })
}

func TestDiscover(t *testing.T) {
	awstest.Discovered(t, newWorld, Service(), obj{}, "shop-test-orders")
}

func TestCheck(t *testing.T) {
	kindtest.Refuses(t, queueKind.Erase(), kindtest.Refusals{
		{obj{"name": "a.fifo"}, "end in .fifo"},
		{obj{"name": "a", "fifo": true}, "end in .fifo"},
		{obj{"name": "a b"}, "want up to 80 letters"},
		{obj{"name": strings.Repeat("a", 81)}, "want up to 80 letters"},
		{obj{"contentBasedDeduplication": true}, "fifo alone"},
		{obj{"deduplicationScope": "queue"}, "fifo alone"},
		{obj{"fifo": true, "fifoThroughputLimit": "perMessageGroupId"}, "needs the deduplicationScope messageGroup"},
		{obj{"kmsMasterKeyId": "k", "sqsManagedSse": true}, "either"},
		{obj{"redriveAllow": obj{"permission": "byQueue"}}, "byQueue needs the queues"},
		{obj{"redriveAllow": obj{"permission": "denyAll", "sources": list{"a"}}}, "byQueue needs the queues"},
		{obj{"visibilityTimeout": "1500ms"}, "whole seconds"},
		{obj{"visibilityTimeout": "13h"}, "12h"},
		{obj{"tags": obj{"athanor:stack": "x"}}, "not for authors"},
		{obj{"tags": obj{"aws:x": "x"}}, "not for authors"},
		{tuned(), ""},
	})
}
