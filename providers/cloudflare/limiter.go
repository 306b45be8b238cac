package cloudflare

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// limits are the rates of all tokens, shared by all handles of a provider: Cloudflare counts what a token asks,
// whatever for and in whichever account.
type limits struct {
	mu sync.Mutex
	by map[[sha256.Size]byte]*limiter
}

func newLimits() *limits { return &limits{by: map[[sha256.Size]byte]*limiter{}} }

// of is the limiter that calls with a token are under.
func (l *limits) of(endpoint, token string) *limiter {
	key := sha256.Sum256([]byte(endpoint + "\x00" + token))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by[key] == nil {
		l.by[key] = &limiter{left: quota}
	}
	return l.by[key]
}

// The limit of the API, and what follows when it is exceeded: everything is refused for the rest of the window.
// https://developers.cloudflare.com/fundamentals/api/reference/limits/
const (
	quota  = 1200
	window = 5 * time.Minute
)

// limiter counts the calls of one window down. The service says how many are left and until when; without its word
// the published limit is believed.
type limiter struct {
	mu    sync.Mutex
	left  int       // calls that may still be made in this window
	until time.Time // the end of the window; zero while nothing was called in it
	out   int       // calls under way, which the service may not have counted yet
}

// errWindow is what a call waits for when none is left in the window of the limit.
var errWindow = errors.New("the limit of calls is reached")

// wait blocks until a call may be made. done is to be called with the headers of its answer, nil without one.
func (l *limiter) wait(ctx context.Context) (done func(http.Header), err error) {
	for {
		pause := l.take(time.Now())
		if pause <= 0 {
			return l.done, ctx.Err()
		}
		if err := reconcile.Wait(ctx, pause, errWindow); err != nil {
			return nil, err
		}
	}
}

// take counts a call, or says how long to wait before asking again.
func (l *limiter) take(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Before(l.until) {
		l.left, l.until = quota, now.Add(window)
	}
	if l.left <= 0 {
		return l.until.Sub(now)
	}
	l.left--
	l.out++
	return 0
}

// done believes what the service said about its window.
func (l *limiter) done(h http.Header) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out--
	if left, reset, ok := remaining(h); ok {
		l.left, l.until = max(left-l.out, 0), time.Now().Add(reset)
	}
}

// refused tells that the service refused a call, and how long it wants to be left alone.
func (l *limiter) refused(after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if after = min(after, window); after > 0 {
		l.left, l.until = 0, time.Now().Add(after)
	}
}

// remaining reads the header Ratelimit, such as "default";r=1199;t=300. Of several limits the tightest counts.
func remaining(h http.Header) (left int, reset time.Duration, ok bool) {
	for item := range strings.SplitSeq(strings.Join(h.Values("Ratelimit"), ","), ",") {
		r, t := -1, -1
		for param := range strings.SplitSeq(item, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
			n, err := strconv.Atoi(value)
			switch {
			case err != nil || n < 0:
			case name == "r":
				r = n
			case name == "t":
				t = n
			}
		}
		if r >= 0 && t >= 0 && (!ok || r < left) {
			left, reset, ok = r, min(time.Duration(t)*time.Second, window), true
		}
	}
	return left, reset, ok
}
