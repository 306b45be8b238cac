package aws

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// passed is how long n calls take.
func passed(t *testing.T, l *limiter, n int) time.Duration {
	t.Helper()
	start := time.Now()
	for range n {
		if err := l.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return time.Since(start)
}

func near(have, want time.Duration) bool { return (have - want).Abs() <= want/20 }

func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(10)
		if d := passed(t, l, 10); d != 0 {
			t.Errorf("a first burst waits %s", d)
		}
		if d := passed(t, l, 20); !near(d, 2*time.Second) {
			t.Errorf("20 calls at 10 a second take %s", d)
		}
	})
}

func TestLimiterLearns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(100)
		l.throttled(0)
		l.throttled(0) // of the same burst
		if l.rate != 50 {
			t.Errorf("throttled once, and the rate is %v", l.rate)
		}
		time.Sleep(2 * time.Second)
		l.throttled(0)
		if l.rate < 25 || l.rate > 27 {
			t.Errorf("throttled twice, and the rate is %v", l.rate)
		}
		for range 20 {
			time.Sleep(2 * time.Second)
			l.throttled(0)
		}
		if l.rate < slowest || l.rate > 5 {
			t.Errorf("throttled always, and the rate is %v", l.rate)
		}
		time.Sleep(recovery)
		passed(t, l, 1)
		if l.rate < 99 {
			t.Errorf("after a quiet minute the rate is %v", l.rate)
		}
	})
}

func TestLimiterLeavesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1)
		passed(t, l, 1)
		waited := make(chan time.Duration)
		start := time.Now()
		go func() {
			_ = l.wait(t.Context())
			waited <- time.Since(start)
		}()
		time.Sleep(100 * time.Millisecond)
		l.throttled(7 * time.Second)
		if d := <-waited; d < 7100*time.Millisecond || d > 12*time.Second {
			t.Errorf("a call that waited already is made after %s", d)
		}
		l.throttled(time.Hour)
		if d := passed(t, l, 1); d > longest+5*time.Second {
			t.Errorf("asked for an hour, and waits %s", d)
		}
	})
}

func TestLimiterCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(1)
		passed(t, l, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := l.wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait: %v", err)
		}
		if d := passed(t, l, 1); !near(d, 900*time.Millisecond) {
			t.Errorf("the place of a call that gave up stays taken: %s", d)
		}
	})
}

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
