package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrUnsafe says that a server does not keep the conditions of writes (*UnsafeError).
var ErrUnsafe = errors.New("the server loses updates")

// UnsafeError says what a server did that it must not do.
type UnsafeError struct {
	Place string
	What  string
}

func (e *UnsafeError) Error() string { return fmt.Sprintf("%s: %v: %s", e.Place, ErrUnsafe, e.What) }

// Is reports ErrUnsafe, and that nothing was written.
func (e *UnsafeError) Is(target error) bool { return target == ErrUnsafe }

// Hint says what the user can do.
func (e *UnsafeError) Hint() string {
	return "a store needs conditional writes that are atomic: AWS S3, R2, MinIO and versitygw have them"
}

const (
	racers = 20
	// clearAnswers is how often an answer is asked for that has to be clear.
	clearAnswers = 6
	probeBytes   = 64 << 10 // a server that is not atomic is caught while it takes a body
	// writeEvery is how often one object can be written where a server limits that: R2 documents one write a second.
	writeEvery = time.Second
)

// errNoWinner says that a server let none of many writes at once through.
var errNoWinner = errors.New("none of many writes at once won")

// probe proves, once in a while, that the server keeps the conditions of writes, also of many at once.
func (s *Store) probe(ctx context.Context) error {
	s.mu.Lock()
	done := s.probed
	s.mu.Unlock()
	if done || s.set.Probed != nil && s.set.Probed() {
		return nil
	}
	at := s.prefix + probeName + s.set.Random()
	keys := []string{at + "-1", at + "-2"}
	err := s.prove(ctx, keys)
	_ = s.bucket.Delete(context.WithoutCancel(ctx), keys) // what stays is small, and of no stage
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.probed = true
	s.mu.Unlock()
	if s.set.Remember != nil {
		s.set.Remember()
	}
	return nil
}

func (s *Store) prove(ctx context.Context, keys []string) error {
	unsafe := func(what string) error { return &UnsafeError{Place: s.set.Place, What: what} }
	write := func(key, body string, when Condition) error {
		return s.patiently(ctx, func() error {
			_, err := s.put(ctx, key, []byte(body), when)
			return err
		})
	}
	// A write whose condition does not hold must be refused, and clearly: where no answer says so, nobody knows what a run
	// wrote.
	refused := func(key, body string, when Condition, what string) error {
		var err error
		p := s.patience()
		for unclear := 0; unclear < clearAnswers; {
			if _, err = s.put(ctx, key, []byte(body), when); !again(err) || !p.pause(ctx) {
				break
			}
			if errors.Is(err, ErrUncertain) {
				unclear++
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case errors.Is(err, ErrPrecondition):
			return nil
		case err == nil:
			return unsafe("it took " + what)
		case errors.Is(err, ErrUncertain):
			return unsafe(fmt.Sprintf("it has no clear answer (%v) to %s", err, what))
		}
		return err
	}
	// An answer to the first write may be lost, and its repetition refused: what counts is that it is there.
	if err := write(keys[0], "one", Condition{Absent: true}); err != nil && !errors.Is(err, ErrPrecondition) {
		return err
	}
	first, err := s.get(ctx, keys[0], "")
	if err != nil {
		return err
	}
	if err := refused(keys[0], "again", Condition{Absent: true}, "a write of an object that exists, which must not exist (If-None-Match: *)"); err != nil {
		return err
	}
	if err := write(keys[0], "two", Condition{ETag: first.ETag}); err != nil && !errors.Is(err, ErrPrecondition) {
		return err
	}
	if err := refused(keys[0], "stale", Condition{ETag: first.ETag}, "a write whose condition was a stale ETag (If-Match)"); err != nil {
		return err
	}
	if err := s.race(ctx, keys[1], Condition{Absent: true}); err != nil {
		return err
	}
	object, err := s.get(ctx, keys[1], "")
	if err != nil {
		return err
	}
	return s.race(ctx, keys[1], Condition{ETag: object.ETag})
}

// race writes one object from many sides at once. A server that lets none through, because it limits how often one object is
// written, is asked again after that time.
func (s *Store) race(ctx context.Context, key string, when Condition) error {
	for n := 1; ; n++ {
		err := s.raceOnce(ctx, key, when)
		if n == clearAnswers || !errors.Is(err, errNoWinner) {
			return err
		}
		if err := s.set.Wait(ctx, writeEvery); err != nil {
			return err
		}
	}
}

// raceOnce writes one object from many sides at once; one may win, and what stands there afterwards is the winner's.
func (s *Store) raceOnce(ctx context.Context, key string, when Condition) error {
	bodies, errs := make([][]byte, racers), make([]error, racers)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range racers {
		bodies[i] = bytes.Repeat([]byte{'a' + byte(i)}, probeBytes)
		copy(bodies[i], s.set.Random())
		all.Go(func() {
			<-start
			_, errs[i] = s.bucket.Put(ctx, key, bodies[i], when)
		})
	}
	close(start)
	all.Wait()
	winner, won, unknown := -1, 0, 0
	for i, err := range errs {
		switch {
		case err == nil:
			winner = i
			won++
		case errors.Is(err, ErrUncertain):
			unknown++
		case !errors.Is(err, ErrPrecondition) && !errors.Is(err, ErrBusy):
			return err
		}
	}
	if won > 1 {
		return &UnsafeError{Place: s.set.Place, What: fmt.Sprintf("%d of %d writes at once won, whose condition one alone could meet", won, racers)}
	}
	object, err := s.get(ctx, key, "")
	switch {
	case errors.Is(err, ErrMissing) && won == 0 || won == 0 && unknown == 0:
		return fmt.Errorf("%w: %w", ErrUncertain, errNoWinner)
	case err != nil:
		return err
	case won == 1 && !bytes.Equal(object.Body, bodies[winner]):
		return &UnsafeError{Place: s.set.Place, What: "what stands in an object is not what the one write wrote that won"}
	}
	return nil
}
