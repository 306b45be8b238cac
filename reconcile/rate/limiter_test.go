package rate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/rate"
)

// server answers or refuses a call at a time.
type server interface{ allows(now time.Time) bool }

// bucket is a server that counts as most of AWS does.
type bucket struct {
	rate, burst, tokens float64
	at                  time.Time
}

func newBucket(rate float64) *bucket {
	return &bucket{rate: rate, burst: rate, tokens: rate, at: time.Now()}
}

func (b *bucket) allows(now time.Time) bool {
	b.tokens = min(b.tokens+now.Sub(b.at).Seconds()*b.rate, b.burst)
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// windows is a server that counts in windows of the clock.
type windows struct {
	most, count int
	every       time.Duration
	at          time.Time
}

func (w *windows) allows(now time.Time) bool {
	if window := now.Truncate(w.every); window != w.at {
		w.at, w.count = window, 0
	}
	w.count++
	return w.count <= w.most
}

// sliding is a server that counts what it allowed in the last second.
type sliding struct {
	most int
	made []time.Time
}

func (s *sliding) allows(now time.Time) bool {
	for len(s.made) > 0 && now.Sub(s.made[0]) >= time.Second {
		s.made = s.made[1:]
	}
	if len(s.made) >= s.most {
		return false
	}
	s.made = append(s.made, now)
	return true
}

// load is calls through limiters that do not know of each other, so many at once, until all are answered.
type load struct {
	clients, calls, parallel int
	latency                  time.Duration
	after                    time.Duration // that a refusal asks to be left alone for
	quota                    rate.Quota    // that is published
}

func (l load) run(t *testing.T, srv server) (took time.Duration, throttled int) {
	t.Helper()
	var mu sync.Mutex
	var done sync.WaitGroup
	random := rand.New(rand.NewPCG(1, 2))
	half := func() time.Duration { return time.Duration(float64(l.latency) / 2 * (0.75 + random.Float64()/2)) }
	attempt := func(limiter *rate.Limiter) bool {
		if err := limiter.Wait(t.Context()); err != nil {
			t.Error(err)
			return true
		}
		call := limiter.Begin()
		mu.Lock()
		there, back := half(), half()
		mu.Unlock()
		time.Sleep(there)
		mu.Lock()
		allowed := srv.allows(time.Now())
		if !allowed {
			throttled++
		}
		mu.Unlock()
		time.Sleep(back)
		if allowed {
			call.Answered()
		} else {
			call.Throttled(l.after)
		}
		return allowed
	}
	since := time.Now()
	for range l.clients {
		limiter, todo := rate.New(l.quota), l.calls/l.clients
		for range l.parallel {
			done.Go(func() {
				for {
					mu.Lock()
					todo--
					over := todo < 0
					mu.Unlock()
					if over {
						return
					}
					for !attempt(limiter) {
					}
				}
			})
		}
	}
	done.Wait()
	return time.Since(since), throttled
}

// TestControl holds the limiter to servers of which it knows nothing: little more time than the quota takes, and few refusals.
func TestControl(t *testing.T) {
	servers := map[string]func(allowed float64) server{
		"bucket of 1 s":  func(r float64) server { return newBucket(r) },
		"bucket of 5 s":  func(r float64) server { return &bucket{rate: r, burst: 5 * r, tokens: 5 * r, at: time.Now()} },
		"windows of 1 s": func(r float64) server { return &windows{most: int(r), every: time.Second} },
		"sliding second": func(r float64) server { return &sliding{most: int(r)} },
	}
	for name, serve := range servers {
		for _, allowed := range []float64{5, 20, 100} {
			for _, latency := range []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 400 * time.Millisecond, 2 * time.Second} {
				for _, clients := range []int{1, 4} {
					if clients > 1 && (allowed < 20 || latency != 50*time.Millisecond) {
						continue // below that each would have a call in a second
					}
					control(t, name, serve, allowed, latency, clients)
				}
			}
		}
	}
}

func control(t *testing.T, name string, serve func(float64) server, allowed float64, latency time.Duration, clients int) {
	t.Helper()
	slowest, most := 1.1, 0.05
	switch {
	case clients > 1:
		slowest, most = 1.6, 0.1 // they find their shares without knowing of each other
	case latency > time.Second:
		slowest, most = 1.75, 0.16 // so many calls are under way when a refusal is known
	case latency > 100*time.Millisecond:
		slowest = 1.25
	case name == "sliding second":
		slowest = 1.15 // the second of a burst is lost
	}
	switch {
	case latency > time.Second || allowed >= 20:
	case name == "bucket of 5 s":
		most = 0.1 // what it has saved up looks as if it allowed far more
	default:
		most = 0.07 // each refusal is a larger part of what it allows
	}
	l := load{clients: clients, calls: int(60 * allowed), parallel: 16, latency: latency}
	if allowed*latency.Seconds() > 8 {
		l.parallel = int(3 * allowed * latency.Seconds())
	}
	l.check(t, func() server { return serve(allowed) }, time.Minute, slowest, most, "%s, %v/s, %s, %d clients", name, allowed, latency, clients)
}

// check holds a load to a time, as a multiple of the least, and to a part of calls that are throttled.
func (l load) check(t *testing.T, serve func() server, least time.Duration, slowest, most float64, what string, args ...any) {
	t.Helper()
	var slower, part float64
	synctest.Test(t, func(t *testing.T) {
		took, throttled := l.run(t, serve())
		slower, part = took.Seconds()/least.Seconds(), float64(throttled)/float64(l.calls+throttled)
	})
	report := t.Logf
	if slower > slowest || part > most {
		report = t.Errorf
	}
	report("%s: %.2f of the least time, %.1f %% throttled", fmt.Sprintf(what, args...), slower, 100*part)
}

// TestShort: a run of half a minute has few refusals too, although it begins without knowing anything.
func TestShort(t *testing.T) {
	for _, allowed := range []float64{5, 20, 100} {
		for _, latency := range []time.Duration{5 * time.Millisecond, 50 * time.Millisecond, 400 * time.Millisecond} {
			l := load{clients: 1, calls: int(30 * allowed), parallel: max(16, int(3*allowed*latency.Seconds())), latency: latency}
			l.check(t, func() server { return newBucket(allowed) }, 30*time.Second, 1.1, 0.07, "%v/s, %s", allowed, latency)
		}
	}
}

// TestLeftAlone: a service that wants to be left alone for long after each refusal is seldom given a reason to.
func TestLeftAlone(t *testing.T) {
	for _, after := range []time.Duration{time.Second, 5 * time.Second, 20 * time.Second} {
		for _, allowed := range []float64{5, 100} {
			l := load{clients: 1, calls: int(120 * allowed), parallel: 16, latency: 50 * time.Millisecond, after: after}
			l.check(t, func() server { return newBucket(allowed) }, 2*time.Minute, 1.4, 0.03, "%v/s, %s after a refusal", allowed, after)
		}
	}
}

// TestNoConstantBounds: a service that allows all calls is limited by the number of calls at once alone.
func TestNoConstantBounds(t *testing.T) {
	for _, parallel := range []int{16, 64} {
		var took time.Duration
		l := load{clients: 1, calls: 481 * 5, parallel: parallel, latency: 50 * time.Millisecond}
		synctest.Test(t, func(t *testing.T) { took, _ = l.run(t, newBucket(1e6)) })
		least := time.Duration(l.calls/parallel) * l.latency
		if over := took - least; over > time.Second {
			t.Errorf("%d at once: %s, at least %s", parallel, took, least)
		}
	}
}

// TestQuotaMoves: the rate follows a quota that rises, and one that falls, within seconds.
func TestQuotaMoves(t *testing.T) {
	for _, c := range []struct{ from, to float64 }{{5, 50}, {20, 100}, {20, 400}, {400, 20}, {100, 20}, {50, 5}} {
		for _, latency := range []time.Duration{5 * time.Millisecond, 50 * time.Millisecond, 400 * time.Millisecond} {
			for _, published := range []bool{false, true} {
				l := load{clients: 1, calls: int(30 * (c.from + c.to)), parallel: max(32, int(3*max(c.from, c.to)*latency.Seconds())), latency: latency}
				if published {
					l.quota = rate.Quota{Rate: c.from, Burst: c.from, Published: true}
				}
				slowest, most := 1.25, 0.05
				if latency > 100*time.Millisecond {
					most = 0.1 // a refusal is known late
				}
				if c.from > c.to {
					slowest = 1.6 // each call that was not made before is made so many times slower
				}
				serve := func() server { return &moving{newBucket(c.from), time.Now().Add(30 * time.Second), c.to} }
				l.check(t, serve, time.Minute, slowest, most, "%v to %v/s, %s, published %t", c.from, c.to, latency, published)
			}
		}
	}
}

// TestPublished: a limiter begins with what is published, stays there, and finds what holds where somebody else uses half of it
// or where it was raised.
func TestPublished(t *testing.T) {
	for name, c := range map[string]struct{ published, allowed, slowest, part float64 }{
		"it holds":           {15, 15, 1.05, 0.02},
		"a small one":        {5, 5, 1.05, 0.03},
		"half of it is used": {15, 7.5, 1.25, 0.1},
		"it was raised":      {15, 300, 1.3, 0.02},
	} {
		l := load{
			clients: 1, calls: int(60 * c.allowed), parallel: 32, latency: 50 * time.Millisecond,
			quota: rate.Quota{Rate: c.published, Burst: c.published, Published: true},
		}
		l.check(t, func() server { return newBucket(c.allowed) }, time.Minute, c.slowest, c.part, "%s", name)
	}
}

// TestUsedBefore: a service that has saved nothing up, since somebody called it a moment ago, is not taken for one that allows less.
func TestUsedBefore(t *testing.T) {
	const run = 15 * time.Second
	for _, allowed := range []float64{3, 5, 15, 100} {
		quotas := map[string]rate.Quota{
			"nothing published": {},
			"published":         {Rate: allowed, Published: true},
			"published burst":   {Rate: allowed, Burst: allowed, Published: true},
		}
		for _, left := range []float64{0, 0.2, 0.5, 0.9} {
			for _, latency := range []time.Duration{5 * time.Millisecond, 50 * time.Millisecond, 400 * time.Millisecond} {
				for name, quota := range quotas {
					l := load{clients: 1, calls: int(run.Seconds() * allowed), parallel: max(16, int(3*allowed*latency.Seconds())), latency: latency, quota: quota}
					most := 0.1
					if !quota.Published {
						most += 6 / float64(l.calls) // refusals until a little is known
					}
					serve := func() server { return &bucket{rate: allowed, burst: allowed, tokens: left * allowed, at: time.Now()} }
					l.check(t, serve, run, 1.15, most, "%v/s, %v of them left, %s, %s", allowed, left, latency, name)
				}
			}
		}
	}
}

// moving is a server whose quota changes.
type moving struct {
	*bucket
	after time.Time
	to    float64
}

func (m *moving) allows(now time.Time) bool {
	if now.After(m.after) {
		m.rate, m.burst = m.to, m.to
	}
	return m.bucket.allows(now)
}

// TestLeavesAlone: a service that asks to be left alone is, by calls that wait already too, and not for ever.
func TestLeavesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rate.New(rate.Quota{Rate: 1, Burst: 1})
		turn := func() time.Duration {
			since := time.Now()
			if err := l.Wait(t.Context()); err != nil {
				t.Error(err)
			}
			return time.Since(since)
		}
		turn()
		call := l.Begin()
		waited := make(chan time.Duration)
		go func() { waited <- turn() }()
		time.Sleep(100 * time.Millisecond)
		call.Throttled(7 * time.Second)
		if d := <-waited; d < 7*time.Second || d > 10*time.Second {
			t.Errorf("a call that waited already is made after %s", d)
		}
		l.Begin().Throttled(time.Hour)
		if d := turn(); d < 30*time.Second || d > 35*time.Second {
			t.Errorf("asked for an hour, and waits %s", d)
		}
	})
}

// TestTurnsAreNotLost: who gives up waiting takes no turn from others, and an interrupt ends a wait at once.
func TestTurnsAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rate.New(rate.Quota{Rate: 1, Burst: 1})
		_ = l.Wait(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := l.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait: %v", err)
		}
		stop := make(chan struct{})
		go func() { time.Sleep(100 * time.Millisecond); close(stop) }()
		if err := l.Wait(reconcile.WithInterrupt(t.Context(), stop)); !errors.Is(err, reconcile.ErrInterrupted) {
			t.Errorf("wait: %v", err)
		}
		since := time.Now()
		if err := l.Wait(t.Context()); err != nil || time.Since(since) != 800*time.Millisecond {
			t.Errorf("%v; the place of a call that gave up stays taken: %s", err, time.Since(since))
		}
	})
}

// TestOnlyTheRefusedCallIsRepeated: a call that is throttled is made again until it succeeds, however often, while others succeed;
// a service that refuses everything is given up after a minute.
func TestOnlyTheRefusedCallIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, throttled := rate.New(rate.Quota{}), errors.New("slow down")
		judge := func(err error) (reconcile.Class, time.Duration) {
			if err != nil {
				return reconcile.Throttled, 0
			}
			return reconcile.Unknown, 0
		}
		counted := &counting{}
		ctx := reconcile.WithGate(t.Context(), counted)
		calls, made := 0, 0
		go func() {
			for range 100 {
				time.Sleep(3 * time.Second)
				_ = l.Through(ctx, reconcile.Call{}, rate.Attempt{Do: func(context.Context) error { return nil }, Judge: judge})
			}
		}()
		err := l.Through(ctx, reconcile.Call{}, rate.Attempt{
			Do: func(context.Context) error {
				if calls++; calls < 40 {
					return throttled
				}
				return nil
			},
			Judge: judge, Again: func() error { made++; return nil },
		})
		if err != nil || calls != 40 || made != 39 || counted.throttled != 39 {
			t.Errorf("%v after %d calls, %d made ready again, %d counted", err, calls, made, counted.throttled)
		}
		time.Sleep(time.Hour)
		since := time.Now()
		err = l.Through(ctx, reconcile.Call{}, rate.Attempt{Do: func(context.Context) error { return throttled }, Judge: judge})
		if took := time.Since(since); !errors.Is(err, throttled) || took < time.Minute || took > 2*time.Minute {
			t.Errorf("%v after %s", err, took)
		}
		calls = 0
		err = l.Through(ctx, reconcile.Call{}, rate.Attempt{
			Do: func(context.Context) error { calls++; return throttled }, Judge: judge, Again: func() error { return errors.New("a stream") },
		})
		if !errors.Is(err, throttled) || calls != 1 {
			t.Errorf("%v after %d calls of what cannot be repeated", err, calls)
		}
	})
}

// counting is a gate that counts refusals.
type counting struct{ throttled int }

// Enter lets every call through.
func (c *counting) Enter(context.Context, reconcile.Call) (func(error), error) {
	return func(err error) {
		if class, given := reconcile.ClassGiven(err); given && class == reconcile.Throttled {
			c.throttled++
		}
	}, nil
}

// TestRefusedConnectionsAreTold: what nobody listens to is known within five seconds, however many calls are made: none of them
// counts against a quota.
func TestRefusedConnectionsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, since := rate.New(rate.Quota{}), time.Now()
		judge := func(err error) (reconcile.Class, time.Duration) { return reconcile.ClassOfConnection(err), 0 }
		refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		var done sync.WaitGroup
		for range 481 {
			done.Go(func() {
				_, err := reconcile.Retry(t.Context(), reconcile.ClassOfConnection, func(ctx context.Context) (any, error) {
					return nil, l.Through(ctx, reconcile.Call{}, rate.Attempt{Do: func(context.Context) error { return refused }, Judge: judge})
				})
				if _, spent := errors.AsType[*reconcile.AttemptsError](err); !spent {
					t.Error(err)
				}
			})
		}
		done.Wait()
		if took := time.Since(since); took > 5*time.Second {
			t.Errorf("told after %s", took)
		}
	})
}

// narrow is a gate with few places, whose calls wait for them in the order in which they came. It asks whether they are ready.
type narrow chan struct{}

// Enter waits for a place.
func (n narrow) Enter(ctx context.Context, _ reconcile.Call) (func(error), error) {
	n <- struct{}{}
	if !reconcile.Ready(ctx) {
		<-n
		return nil, reconcile.ErrNotReady
	}
	return func(error) { <-n }, nil
}

// TestPlacesAreNarrow: calls that have waited for a place since their turn are not sent all at once when places come free, nor while the
// service wants to be left alone.
func TestPlacesAreNarrow(t *testing.T) {
	for _, allowed := range []float64{5, 20, 200, 300} {
		synctest.Test(t, func(t *testing.T) {
			const places, latency = 16, 50 * time.Millisecond
			l, gate := rate.New(rate.Quota{}), make(narrow, places)
			ctx := reconcile.WithGate(t.Context(), gate)
			throttled, srv := errors.New("slow down"), newBucket(allowed)
			var done sync.WaitGroup
			var mu sync.Mutex
			calls, refused := int(60*allowed), 0
			since := time.Now()
			for range places { // others have the places for a second
				go func() {
					leave, _ := gate.Enter(t.Context(), reconcile.Call{})
					time.Sleep(time.Second)
					leave(nil)
				}()
			}
			synctest.Wait()
			for range calls {
				done.Go(func() {
					err := l.Through(ctx, reconcile.Call{}, rate.Attempt{
						Do: func(context.Context) error {
							mu.Lock()
							defer mu.Unlock()
							if !srv.allows(time.Now()) {
								refused++
								return throttled
							}
							mu.Unlock()
							time.Sleep(latency)
							mu.Lock()
							return nil
						},
						Judge: func(err error) (reconcile.Class, time.Duration) {
							if err != nil {
								return reconcile.Throttled, 0
							}
							return reconcile.Unknown, 0
						},
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			done.Wait()
			slower, part := (time.Since(since)-time.Second).Seconds()/60, float64(refused)/float64(calls+refused)
			report := t.Logf
			if slower > 1.2 || part > 0.05 {
				report = t.Errorf
			}
			report("%v/s: %.2f of the ideal time, %.1f %% throttled", allowed, slower, 100*part)
		})
	}
}
