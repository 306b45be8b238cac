package aws

import (
	"context"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// limits holds one bucket for each (owner, region, service, reading or writing) of the process.
type limits struct {
	mu      sync.Mutex
	buckets map[limitKey]*bucket
}

type limitKey struct {
	owner, region, service string
	mutates                bool
}

// Rates in calls a second before anything is learned: far above what one deployment needs, since the services
// publish no limits for most of these operations and say by throttling when it is enough.
const (
	readRate  = 100
	writeRate = 50
	// lowestRate keeps a service that throttles all the time from being given up.
	lowestRate = 0.5
	// recovery is how much of the first rate comes back each second without a throttle.
	recovery = 0.05
)

func newLimits() *limits { return &limits{buckets: map[limitKey]*bucket{}} }

func (l *limits) of(owner, region, service string, mutates bool) *bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := limitKey{owner, region, service, mutates}
	b, ok := l.buckets[key]
	if !ok {
		top := float64(readRate)
		if mutates {
			top = writeRate
		}
		b = &bucket{top: top, rate: top, tokens: top, filled: time.Now()}
		l.buckets[key] = b
	}
	return b
}

// bucket is a token bucket whose rate is halved on a throttle and recovers slowly.
type bucket struct {
	mu     sync.Mutex
	top    float64
	rate   float64
	tokens float64 // negative: promised to calls that wait
	filled time.Time
	halved time.Time
}

// take waits for a token, or for the end of ctx.
func (b *bucket) take(ctx context.Context) error {
	wait := b.reserve(time.Now())
	if wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		b.mu.Lock()
		defer b.mu.Unlock()
		b.tokens++
		return context.Cause(ctx)
	}
}

func (b *bucket) reserve(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	elapsed := now.Sub(b.filled).Seconds()
	b.filled = now
	b.tokens = min(b.tokens+elapsed*b.rate, b.rate)
	b.rate = min(b.rate+elapsed*recovery*b.top, b.top)
	b.tokens--
	if b.tokens >= 0 {
		return 0
	}
	return time.Duration(-b.tokens / b.rate * float64(time.Second))
}

// learn halves the rate on a throttle, at most once a second: the calls in flight were sent at the old rate.
func (b *bucket) learn(err error) {
	if err == nil || classify(err) != reconcile.Throttled {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if now.Sub(b.halved) < time.Second {
		return
	}
	b.halved = now
	b.rate = max(b.rate/2, lowestRate)
	b.tokens = min(b.tokens, 0)
}
