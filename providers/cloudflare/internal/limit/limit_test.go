package limit

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/reconcile/rate"
)

// spend makes n calls under a limiter and tells how long that took.
func spend(t *testing.T, l *rate.Limiter, n int, header http.Header) time.Duration {
	t.Helper()
	begin := time.Now()
	for range n {
		if err := l.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		call := l.Begin()
		if left, reset, ok := Remaining(header); ok {
			l.Told(left, reset)
		}
		call.Answered()
	}
	return time.Since(begin)
}

// refuse makes a call that the service refuses.
func refuse(t *testing.T, l *rate.Limiter, after time.Duration) {
	t.Helper()
	if err := l.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Begin().Throttled(after)
}

func TestPublishedLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New().Of("endpoint", "token")
		if d := spend(t, l, quota, nil); d != 0 {
			t.Errorf("the first %d calls wait %s", quota, d)
		}
		if d := spend(t, l, 1, nil); d != window {
			t.Errorf("one more waits %s, want the window of %s", d, window)
		}
		if d := spend(t, l, quota-1, nil); d != 0 {
			t.Errorf("the next window's calls wait %s", d)
		}
	})
}

// TestToldLimit: the service's own count is believed, since others use the token too.
func TestToldLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New().Of("endpoint", "token")
		told := http.Header{"Ratelimit": {`"burst";r=100;t=60, "default";r=2;t=20`}}
		spend(t, l, 1, told)
		if d := spend(t, l, 2, nil); d != 0 {
			t.Errorf("two are left, and wait %s", d)
		}
		if d := spend(t, l, 1, nil); d != 20*time.Second {
			t.Errorf("the third waits %s, want 20s", d)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := New()
		l := limits.Of("endpoint", "token")
		refuse(t, l, 7*time.Second)
		if d := spend(t, limits.Of("endpoint", "token"), 1, nil); d != 7*time.Second {
			t.Errorf("waits %s, want 7s", d)
		}
		if d := spend(t, limits.Of("endpoint", "another token"), 1, nil); d != 0 {
			t.Errorf("another token waits %s", d)
		}
		refuse(t, l, time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Wait(ctx); err == nil {
			t.Error("a caller that has no more time goes on")
		}
		if d := spend(t, l, 1, nil); d != window-time.Second {
			t.Errorf("an hour is asked for, and the wait is %s", d)
		}
	})
}

func TestRemaining(t *testing.T) {
	for header, want := range map[string]int{
		``: -1, `"default";r=5;t=30`: 5, `"a";r=5;t=30,"b";r=4;t=1`: 4, `"default";t=30`: -1, `"default";r=x;t=30`: -1, `r=1`: -1,
	} {
		left, _, ok := Remaining(http.Header{"Ratelimit": {header}})
		if !ok {
			left = -1
		}
		if left != want {
			t.Errorf("%q: %d, want %d", header, left, want)
		}
	}
}
