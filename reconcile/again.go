package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"
)

// lookError tells a look that failed from a change that did: the one is given up sooner than the other.
type lookError struct{ err error }

func (e *lookError) Error() string { return e.err.Error() }
func (e *lookError) Unwrap() error { return e.err }

// again returns nil when an error is waited out, and else how the work ends. An answer that was lost is looked for before
// anything else.
func (s *settling) again(ctx context.Context, err error) error {
	var stop *StopError
	var busy *busyError
	switch {
	case errors.As(err, &stop), errors.Is(err, ErrInterrupted):
		return err
	case errors.Is(err, errNotYet), errors.As(err, &busy):
		return nil
	}
	class := classify(ctx, s.job.Cloud, err)
	counted := s.counter(ctx, err)
	if err = unmarked(err); !class.Retries() {
		return err
	}
	s.lastErr = err
	return counted.Failed(class, err)
}

// counter is what counts a failure: a look's own counter or that of changes.
func (s *settling) counter(ctx context.Context, err error) *Attempts {
	of, begin := &s.writes, Writes
	if _, look := errors.AsType[*lookError](err); look {
		of, begin = &s.reads, Reads
	}
	if *of == nil {
		*of = begin(ctx)
	}
	return *of
}

// unmarked removes from an error that it is of a failed read.
func unmarked(err error) error {
	if look, ok := errors.AsType[*lookError](err); ok {
		return look.err
	}
	return err
}

// wait pauses, longer each time, and tells what for.
func (s *settling) wait(ctx context.Context, why error) error {
	if s.hooks.Note != nil {
		s.hooks.Note(why.Error())
	}
	if s.writes == nil {
		s.writes = Writes(ctx)
	}
	return s.writes.Wait(ctx, why)
}

func (s *settling) unsettled(ctx context.Context, err error) error {
	err = unmarked(err)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return errors.Join(cause, err)
	}
	last := err // it may be typed, even when it says no more than that time is up
	if busy := (*busyError)(nil); errors.Is(err, errNotYet) || errors.As(err, &busy) || errors.Is(err, context.DeadlineExceeded) && s.lastErr != nil {
		last = s.lastErr
	}
	return &UnsettledError{Why: err.Error(), Steps: s.last, After: time.Since(s.since), Err: last}
}

// retry runs one operation until it succeeds, fails for good or runs out of time.
func retry(ctx context.Context, job *Job, verb string, do func() error) error {
	attempts, since := Writes(ctx), time.Now()
	for {
		err := do()
		if err == nil {
			return nil
		}
		err = &StepError{Verb: verb, Err: err}
		class := classify(ctx, job.Cloud, err)
		if !class.Retries() {
			return err
		}
		if spent := attempts.Failed(class, err); spent != nil {
			return spent
		}
		switch stopped := attempts.Wait(ctx, err); {
		case errors.Is(stopped, ErrInterrupted):
			return stopped
		case stopped != nil:
			return &UnsettledError{Why: err.Error(), After: time.Since(since), Err: err}
		}
	}
}

// bounded gives ctx the first bound that is set.
func bounded(ctx context.Context, bounds ...time.Duration) (context.Context, context.CancelFunc) {
	bound := DefaultTimeout
	for _, d := range slices.Backward(bounds) {
		if d > 0 {
			bound = d
		}
	}
	return context.WithTimeout(ctx, bound)
}
