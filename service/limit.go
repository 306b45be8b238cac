package service

import (
	"sync"
	"time"
)

// limiter lets each key do so many events a second on average, and a burst of them at once.
type limiter struct {
	rate, burst float64
	now         func() time.Time

	mu      sync.Mutex
	buckets map[string]bucket
	swept   time.Time
}

// bucket is what a key had left at a time.
type bucket struct {
	left float64
	at   time.Time
}

func newLimiter(rate, burst float64, now func() time.Time) *limiter {
	return &limiter{rate: rate, burst: max(burst, 1), now: now, buckets: map[string]bucket{}, swept: now()}
}

// take takes one event of a key. It returns how long to wait when there is none, and then takes nothing.
func (l *limiter) take(key string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	left, now := l.left(key)
	if left < 1 {
		return l.until(left)
	}
	l.buckets[key] = bucket{left - 1, now}
	l.sweep(now)
	return 0
}

// wait returns how long a key has to wait for its next event, and takes nothing.
func (l *limiter) wait(key string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left, _ := l.left(key); left < 1 {
		return l.until(left)
	}
	return 0
}

// left is what a key has now. The lock is held.
func (l *limiter) left(key string) (float64, time.Time) {
	now := l.now()
	b, known := l.buckets[key]
	if !known {
		return l.burst, now
	}
	return min(l.burst, b.left+max(0, now.Sub(b.at).Seconds())*l.rate), now
}

func (l *limiter) until(left float64) time.Duration {
	return time.Duration((1 - left) / l.rate * float64(time.Second))
}

// sweep forgets the keys that have everything back, once in the time that this takes. The lock is held.
func (l *limiter) sweep(now time.Time) {
	full := time.Duration(l.burst / l.rate * float64(time.Second))
	if now.Sub(l.swept) < full {
		return
	}
	l.swept = now
	for key, b := range l.buckets {
		if now.Sub(b.at) >= full {
			delete(l.buckets, key)
		}
	}
}
