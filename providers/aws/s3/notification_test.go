package s3

import (
	"slices"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// telling is a bucket that tells a queue.
func telling() obj {
	return obj{"notifications": obj{"new": obj{"queue": queue("jobs"), "events": list{"s3:ObjectCreated:*"}}}}
}

// told are the notifications of a bucket as others see them.
func (w *world) told(t *testing.T, out reconcile.Outcome) *sdk.GetBucketNotificationConfigurationOutput {
	t.Helper()
	have, err := w.Others.GetBucketNotificationConfiguration(t.Context(), &sdk.GetBucketNotificationConfigurationInput{Bucket: nameOf(out.Attrs)})
	if err != nil {
		t.Fatal(err)
	}
	return have
}

// TestClosedDestination is about a queue whose policy does not let S3 in yet, since it needs the bucket's ARN: the
// notification is written untried, and nothing else that S3 refuses is.
func TestClosedDestination(t *testing.T) {
	w, kind := newWorld(t), quickBucket()
	w.like.closed = []string{queue("jobs")}
	out := w.Settled(t, telling(), nil)
	if have := w.told(t, out); len(have.QueueConfigurations) != 1 {
		t.Errorf("notifications: %+v", have)
	}
	w.like.closed = nil
	refuse := w.Server.Inject(awstest.Fault{Op: "S3.PutBucketNotificationConfiguration", Kind: awstest.Refuse, Code: "InvalidArgument", Times: -1})
	job := w.Job(t, kind, obj{"notifications": obj{"new": obj{"queue": queue("jobs"), "events": list{"s3:NoSuchEvent"}}}}, &out)
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); w.Cloud.Classify(err) != reconcile.Invalid || refuse.Fired() != 2 {
		t.Errorf("refused %d times, tried and untried: %v", refuse.Fired(), err)
	}
}

// TestNotificationLeftOut is about a queue that waits for the bucket itself.
func TestNotificationLeftOut(t *testing.T) {
	w, kind := newWorld(t), quickBucket()
	declared := telling()
	declared["notifications"].(obj)["late"] = obj{"queue": "⟦late.arn⟧", "events": list{"s3:ObjectRemoved:*"}}
	job := w.Job(t, kind, nil, nil)
	job.Props, job.Omit, job.Name = declared, []tree.Path{"notifications.late.queue"}, "shop-test-thing"
	out, err := kind.Settle(t.Context(), job, reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	names := func() []string {
		t.Helper()
		var ids []string
		for _, q := range w.told(t, out).QueueConfigurations {
			ids = append(ids, *q.Id)
		}
		slices.Sort(ids)
		return ids
	}
	if have := names(); !slices.Equal(have, []string{"new"}) {
		t.Errorf("before it is known: %v", have)
	}
	declared["notifications"].(obj)["late"].(obj)["queue"] = queue("late")
	job = w.Job(t, kind, declared, &out)
	job.Ignore = []tree.Path{"eventBridge"}
	if out, err = kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if have := names(); !slices.Equal(have, []string{"late", "new"}) {
		t.Errorf("when it is known: %v", have)
	}
}

// TestNotificationIgnored: what is ignored stays as it is when others are written.
func TestNotificationIgnored(t *testing.T) {
	w, kind := newWorld(t), quickBucket()
	out := w.Settled(t, telling(), nil)
	job := w.Job(t, kind, obj{"eventBridge": true}, &out)
	job.Ignore = []tree.Path{"notifications.new"}
	if _, err := kind.Settle(t.Context(), job, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if have := w.told(t, out); len(have.QueueConfigurations) != 1 || have.EventBridgeConfiguration == nil {
		t.Errorf("notifications: %+v", have)
	}
}
