package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// ErrInterrupted is matched by errors of work that ended because somebody asked the run to stop.
var ErrInterrupted = errors.New("interrupted")

// InterruptedError says what was waited for when the run was asked to stop.
type InterruptedError struct {
	// Why is what was waited for, nil when nothing was.
	Why error
}

func (e *InterruptedError) Error() string {
	if e.Why == nil {
		return ErrInterrupted.Error()
	}
	return ErrInterrupted.Error() + " while waiting: " + e.Why.Error()
}

// Is reports ErrInterrupted.
func (e *InterruptedError) Is(target error) bool { return target == ErrInterrupted }

func (e *InterruptedError) Unwrap() error { return e.Why }

type (
	interruptKey struct{}
	evenKey      struct{}
)

// WithInterrupt ends every Wait under ctx as soon as stop is closed. Calls in flight under ctx go on.
func WithInterrupt(ctx context.Context, stop <-chan struct{}) context.Context {
	return context.WithValue(ctx, interruptKey{}, stop)
}

// Interrupt returns the channel that the interrupt of ctx closes, for a select that waits for more than time. It is
// nil, and never ready, without one.
func Interrupt(ctx context.Context) <-chan struct{} {
	stop, _ := ctx.Value(interruptKey{}).(<-chan struct{})
	return stop
}

// Interrupted returns an *InterruptedError about why once the interrupt of ctx has come, and nil before.
func Interrupted(ctx context.Context, why error) error {
	select {
	case <-Interrupt(ctx):
		return &InterruptedError{Why: why}
	default:
		return nil
	}
}

// Wait waits for a time. It is the only way to wait in a run: it ends at once, with an *InterruptedError about why, when the
// run is asked to stop, and with the cause of ctx when that ends.
func Wait(ctx context.Context, d time.Duration, why error) error {
	if err := Interrupted(ctx, why); err != nil {
		return err
	}
	defer Yield(ctx)()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-Interrupt(ctx):
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
	}
	return Interrupted(ctx, why) // both may have come at the same instant
}

// Intervals returns growing intervals between attempts: from first by half more each time to longest, each randomised by
// half, so that many who wait for the same service do not ask it in step.
func Intervals(ctx context.Context, first, longest time.Duration) *backoff.ExponentialBackOff {
	spread := backoff.DefaultRandomizationFactor
	if ctx.Value(evenKey{}) != nil {
		spread = 0
	}
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(first), backoff.WithMultiplier(1.5), backoff.WithMaxInterval(longest),
		backoff.WithRandomizationFactor(spread), backoff.WithMaxElapsedTime(0),
	)
}

// EvenIntervals takes the random part out of the intervals under ctx, for tests in simulated time.
func EvenIntervals(ctx context.Context) context.Context {
	return context.WithValue(ctx, evenKey{}, true)
}

// Until asks about what goes on by itself until it has ended: at once, and then at growing intervals from first to longest. An
// answer that is not the end may say how long the service wants to be left alone, which counts up to longest. What it ended
// with, ask returns with the end. A question that is throttled or lost is asked again, since what it is about goes on. why is
// what is waited for.
func Until(ctx context.Context, cloud Cloud, first, longest time.Duration, why error, ask func(context.Context) (ended bool, again time.Duration, err error)) error {
	return Poll(ctx, first, longest, func() (*Pending, error) {
		ended, again, err := ask(ctx)
		if ended || err != nil && (ctx.Err() != nil || !classify(ctx, cloud, err).Retries()) {
			return nil, err
		}
		return &Pending{Why: why, Least: again}, nil
	})
}

// Pending is an answer that is not the end.
type Pending struct {
	// Why is what is waited for.
	Why error
	// Least is how long nobody is to ask again; Most, when it is not zero, is after how long another answer is certain.
	Least, Most time.Duration
}

// Poll asks until the answer is nil, the end, or an error: at once, and then at growing intervals from first to longest.
func Poll(ctx context.Context, first, longest time.Duration, ask func() (*Pending, error)) error {
	pause := Intervals(ctx, first, longest)
	for {
		answer, err := ask()
		if err != nil || answer == nil {
			return err
		}
		next := min(max(answer.Least, pause.NextBackOff()), longest)
		if answer.Most > 0 {
			next = min(next, answer.Most)
		}
		if err := Wait(ctx, next, answer.Why); err != nil {
			return err
		}
	}
}

// The intervals between attempts of the same call.
const (
	firstInterval   = 100 * time.Millisecond
	longestInterval = 10 * time.Second
)

// patience bounds how often a call is made again that fails as if the service were broken: with Transient errors.
type patience struct {
	most  int           // attempts at most
	least int           // attempts, even if they take longer than time
	time  time.Duration // after the first failure, in which a further attempt is begun
}

// Attempts paces the attempts at one call and says when to give up.
type Attempts struct {
	patience patience
	pause    *backoff.ExponentialBackOff
	failed   int       // broken answers in a row
	since    time.Time // of the first of them
}

// Reads paces the attempts at one read. A broken read is given up in seconds, since it blocks only what needs it. An answer
// that was lost after a minute of silence is asked for once more all the same.
func Reads(ctx context.Context) *Attempts {
	return newAttempts(ctx, patience{most: 8, least: 2, time: 30 * time.Second})
}

// Writes paces the attempts at one change. It is tried for longer than a read, since giving it up leaves it half done.
func Writes(ctx context.Context) *Attempts {
	return newAttempts(ctx, patience{most: 12, least: 3, time: 2 * time.Minute})
}

func newAttempts(ctx context.Context, patience patience) *Attempts {
	return &Attempts{patience: patience, pause: Intervals(ctx, firstInterval, longestInterval)}
}

// Failed counts a failure. It returns nil while there are attempts left, and an *AttemptsError when there are none. A class
// that was given to the error, or one that is no failure of the service, costs no attempt: only time bounds those.
func (a *Attempts) Failed(class Class, err error) error {
	if spent, ok := errors.AsType[*AttemptsError](err); ok {
		return spent // the caller has tried it often enough
	}
	if _, given := ClassGiven(err); given || class != Transient {
		return nil
	}
	if a.failed++; a.failed == 1 {
		a.since = time.Now()
	}
	over := time.Since(a.since) > a.patience.time && a.failed >= a.patience.least
	if a.failed < a.patience.most && !over {
		return nil
	}
	return &AttemptsError{Attempts: a.failed, Err: err}
}

// Wait waits for the next attempt, as [Wait] does.
func (a *Attempts) Wait(ctx context.Context, why error) error {
	return Wait(ctx, a.pause.NextBackOff(), why)
}

// Succeeded begins again: with the shortest interval and all attempts.
func (a *Attempts) Succeeded() {
	a.failed = 0
	a.pause.Reset()
}

// stumbling bounds how long a read is tried again that is refused for a while. One that fails is bounded by attempts.
const stumbling = 30 * time.Second

// Retry reads, again as long as the error's class says so and there are attempts left. An interrupt is its error only where it
// ends a wait; otherwise the error is that of the last attempt.
func Retry[T any](ctx context.Context, classOf func(error) Class, read func(context.Context) (T, error)) (T, error) {
	attempts, since := Reads(ctx), time.Now()
	for {
		answer, err := read(ctx)
		if err == nil || ctx.Err() != nil {
			return answer, err
		}
		class := classOf(err)
		if !class.Retries() || time.Since(since) > stumbling {
			return answer, err
		}
		if spent := attempts.Failed(class, err); spent != nil {
			return answer, spent
		}
		switch stopped := attempts.Wait(ctx, err); {
		case errors.Is(stopped, ErrInterrupted):
			return answer, stopped
		case stopped != nil:
			return answer, err
		}
	}
}

// AttemptsError says that a call failed as often as it may. Err is how it failed the last time.
type AttemptsError struct {
	Attempts int
	Err      error
}

func (e *AttemptsError) Error() string { return fmt.Sprintf("%v (%d attempts)", e.Err, e.Attempts) }
func (e *AttemptsError) Unwrap() error { return e.Err }
