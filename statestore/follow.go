package statestore

import (
	"context"
	"iter"
	"time"
)

// silence is how long nothing must come before a follower asks whether the run is still at work.
const silence = 2 * time.Second

// page is how many events a follower reads at once.
const page = 1000

// Follow gives the events of a run behind a cursor, each once and in order, as they become durable, and ends when the
// run has ended and all of them were given. It asks again after every, so that an event comes that much later at most
// than it is in the store. It ends too when the run is no longer known, and when its holder has ended or is out of
// time: such a run stays "running" in state until the next one takes over. A caller that wants to know how it ended
// reads [Store.Runs] afterwards. An error ends it.
func Follow(ctx context.Context, store Store, stage Stage, run string, after uint64, every time.Duration) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := follower{store: store, stage: stage, run: run, heard: time.Now()}
		timer := time.NewTimer(0)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				yield(Event{}, context.Cause(ctx))
				return
			case <-timer.C:
			}
			// The order matters: what is read after the run was seen to be over is all that there will be.
			over, err := f.over(ctx)
			var events []Event
			if err == nil {
				events, err = store.Events(ctx, stage, run, after, page)
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
				after, f.heard = e.Seq, time.Now()
			}
			switch {
			case len(events) == page:
				timer.Reset(0)
			case over:
				return
			default:
				timer.Reset(every)
			}
		}
	}
}

// follower knows how long a run was silent.
type follower struct {
	store Store
	stage Stage
	run   string
	heard time.Time
}

// over reports that no more events will come.
func (f *follower) over(ctx context.Context) (bool, error) {
	running, err := f.running(ctx)
	if err != nil || !running {
		return true, err
	}
	if time.Since(f.heard) < silence {
		return false, nil
	}
	f.heard = time.Now()
	snap, err := f.store.Load(ctx, f.stage)
	if err != nil || snap.Holder != nil && snap.Holder.Run == f.run {
		return false, err
	}
	return true, nil
}

// running reports that the record has the run as running. Only the newest one can be.
func (f *follower) running(ctx context.Context) (bool, error) {
	newest, err := f.store.Runs(ctx, f.stage, 1)
	return len(newest) == 1 && newest[0].ID == f.run && newest[0].State == Running, err
}
