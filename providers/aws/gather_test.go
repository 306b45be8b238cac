package aws

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// asked is a call that takes a second and answers at most so many questions, each with its double.
func asked(most int, calls *[][]int) func(context.Context, []int) []Answer[int] {
	return func(ctx context.Context, all []int) []Answer[int] {
		all = all[:min(most, len(all))]
		*calls = append(*calls, slices.Sorted(slices.Values(all)))
		answers := make([]Answer[int], len(all))
		select {
		case <-time.After(time.Second):
			for i, n := range all {
				answers[i].Value = 2 * n
			}
		case <-ctx.Done():
			for i := range all {
				answers[i].Err = ctx.Err()
			}
		}
		return answers
	}
}

// TestGather: the first question is asked alone, those that come meanwhile together, and no call takes more than it can.
func TestGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gather[int, int]
		var calls [][]int
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				if n, err := g.Ask(t.Context(), i, asked(5, &calls)); n != 2*i || err != nil {
					t.Errorf("%d is answered %d, %v", i, n, err)
				}
			})
		}
		all.Wait()
		want := [][]int{{0}, {1, 2, 3, 4, 5}, {6, 7}}
		if !slices.EqualFunc(calls, want, slices.Equal) {
			t.Errorf("calls %v, want %v", calls, want)
		}
	})
}

// TestGatherIsLeft: a caller whose time ends leaves without an answer, whether it waits, is to make the next call or is making
// one; the others are answered, or told to ask again.
func TestGatherIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gather[int, int]
		var calls [][]int
		var all sync.WaitGroup
		errs := make([]error, 4)
		for i, patience := range []time.Duration{time.Hour, 1500 * time.Millisecond, 500 * time.Millisecond, time.Hour} {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				_, errs[i] = g.Ask(ctx, i, asked(5, &calls))
			})
		}
		all.Wait()
		class, _ := reconcile.ClassGiven(errs[3])
		if errs[0] != nil || !errors.Is(errs[1], context.DeadlineExceeded) || !errors.Is(errs[2], context.DeadlineExceeded) ||
			class != reconcile.Transient {
			t.Errorf("errors: %v", errs)
		}
		if want := [][]int{{0}, {1, 3}}; !slices.EqualFunc(calls, want, slices.Equal) {
			t.Errorf("calls %v, want %v", calls, want)
		}
	})
}

// TestGatherIsInterrupted: who waits for a call of somebody else does not begin one when the run is asked to stop, and what was
// sent is answered.
func TestGatherIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gather[int, int]
		var calls [][]int
		var all sync.WaitGroup
		stop, errs := make(chan struct{}), make([]error, 3)
		ctx := reconcile.WithInterrupt(t.Context(), stop)
		for i, at := range []time.Duration{0, time.Millisecond, 1200 * time.Millisecond} {
			all.Go(func() {
				time.Sleep(at)
				_, errs[i] = g.Ask(ctx, i, asked(5, &calls))
			})
		}
		time.Sleep(1500 * time.Millisecond)
		close(stop)
		all.Wait()
		if errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], reconcile.ErrInterrupted) {
			t.Errorf("errors: %v", errs)
		}
		if want := [][]int{{0}, {1}}; !slices.EqualFunc(calls, want, slices.Equal) {
			t.Errorf("calls %v, want %v", calls, want)
		}
	})
}
