package aws

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// limits are the rates of all services, shared by all handles of a provider: a service counts the calls of an
// account, whoever makes them.
type limits struct {
	mu sync.Mutex
	by map[limitKey]*limiter
}

type limitKey struct {
	account, region, service string
	mutates                  bool
}

func newLimits() *limits { return &limits{by: map[limitKey]*limiter{}} }

// of is the limiter that a call is under.
func (l *limits) of(call reconcile.Call) *limiter {
	key := limitKey{call.Place.Account, call.Place.Region, call.Service, call.Mutates}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by[key] == nil {
		l.by[key] = newLimiter(ceiling(call.Service))
	}
	return l.by[key]
}

// ceiling is the greatest number of calls per second. It is no service's limit, most of which are not
// published: it keeps the first burst from running far into one, and throttling finds the rest. S3 is made for more:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html
func ceiling(service string) float64 {
	if service == "S3" {
		return 1000
	}
	return 100
}

const (
	slowest  = 0.5              // calls per second, however often the service throttles
	recovery = time.Minute      // from nothing to the ceiling
	oneSlump = time.Second      // throttled answers within it are of one burst, and count once
	longest  = 30 * time.Second // that a service can ask for
)

// limiter is a bucket of tokens whose rate is halved when the service throttles and recovers slowly. Calls wait
// in turn: a token may be taken before it is there.
type limiter struct {
	ceiling float64

	mu     sync.Mutex
	rate   float64   // tokens per second
	tokens float64   // below zero: so many calls wait
	at     time.Time // when tokens were counted; in the future while the service wants to be left alone
	slump  time.Time // when the rate was last halved
}

func newLimiter(ceiling float64) *limiter {
	return &limiter{ceiling: ceiling, rate: ceiling, tokens: ceiling, at: time.Now()}
}

// errTurn is what a call waits for that the service would throttle.
var errTurn = errors.New("the service limits how often it is called")

// wait blocks until a call may be made.
func (l *limiter) wait(ctx context.Context) error {
	for {
		pause, ready := l.take(time.Now())
		if ready {
			return ctx.Err()
		}
		if err := reconcile.Wait(ctx, pause, errTurn); err != nil {
			l.giveBack()
			return err
		}
		if l.kept(time.Now()) {
			return nil
		}
	}
}

// take takes a token and says when it is there.
func (l *limiter) take(now time.Time) (pause time.Duration, ready bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refill(now)
	l.tokens--
	if l.tokens >= 0 && !now.Before(l.at) {
		return 0, true
	}
	pause = max(l.at.Sub(now), 0)
	if l.tokens < 0 {
		pause += time.Duration(-l.tokens / l.rate * float64(time.Second))
	}
	return pause, false
}

// kept reports whether a token that was waited for still counts. It does not when the service asked to be left alone
// meanwhile: the token is given back.
func (l *limiter) kept(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.at) {
		l.tokens++
		return false
	}
	return true
}

func (l *limiter) giveBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens++
}

// refill counts the tokens up to now. The rate grows with time alone, not with calls: a quiet service is not
// tried harder than a busy one.
func (l *limiter) refill(now time.Time) {
	passed := now.Sub(l.at)
	if passed <= 0 {
		return
	}
	l.at = now
	l.tokens = min(l.tokens+passed.Seconds()*l.rate, max(l.rate, 1))
	l.rate = min(l.rate+l.ceiling*passed.Seconds()/recovery.Seconds(), l.ceiling)
}

// throttled tells that the service refused a call, and how long it wants to be left alone.
func (l *limiter) throttled(after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.refill(now)
	if after = min(after, longest); after > 0 && l.at.Before(now.Add(after)) {
		l.at = now.Add(after)
	}
	if !l.slump.IsZero() && now.Sub(l.slump) < oneSlump {
		return
	}
	l.slump = now
	l.rate = max(l.rate/2, slowest)
	l.tokens = min(l.tokens, 0)
}
