package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

// What a network does to requests, every store must bear: the caller of a store in memory may be the server of
// another program, and a journal above any store sends again what it is not sure of.
var wireCases = map[string]func(*fixture){
	"each request comes twice":     requestsTwice,
	"old requests come late":       requestsLate,
	"requests come in any order":   requestsShuffled,
	"answers are lost":             answersLost,
	"a paused holder wakes":        pausedHolder,
	"gone in mid-run and back":     goneAndBack,
	"gone until somebody else ran": goneTooLong,
	"no room for an intent":        noRoom,
}

var errWire = errors.New("the connection broke")

// wire stands between a caller and a store and treats commits as its case commands.
type wire struct {
	statestore.Store
	mu     sync.Mutex
	n      int
	commit func(n int, send func() (statestore.Lease, error)) (statestore.Lease, error)
}

func (w *wire) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	w.mu.Lock()
	w.n++
	n, commit := w.n, w.commit
	w.mu.Unlock()
	return commit(n, func() (statestore.Lease, error) { return w.Store.Commit(ctx, lease, batch) })
}

// become changes what the wire does from the next commit on.
func (w *wire) become(commit func(n int, send func() (statestore.Lease, error)) (statestore.Lease, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commit = commit
}

func through(_ int, send func() (statestore.Lease, error)) (statestore.Lease, error) { return send() }

func broken(int, func() (statestore.Lease, error)) (statestore.Lease, error) {
	return statestore.Lease{}, &statestore.UnavailableError{Path: "wire", Err: errWire}
}

// over puts a wire before the store of the fixture.
func (f *fixture) over(commit func(int, func() (statestore.Lease, error)) (statestore.Lease, error)) *wire {
	w := &wire{Store: f.store, commit: commit}
	f.store = w
	return w
}

// requestsTwice: two copies of each request race; both get the same answer and one has an effect.
func requestsTwice(f *fixture) {
	f.over(func(_ int, send func() (statestore.Lease, error)) (statestore.Lease, error) {
		var group sync.WaitGroup
		leases, errs := make([]statestore.Lease, 2), make([]error, 2)
		for i := range leases {
			group.Go(func() { leases[i], errs[i] = send() })
		}
		group.Wait()
		if (errs[0] == nil) != (errs[1] == nil) || leases[0].Epoch != leases[1].Epoch {
			f.Errorf("answers %+v, %v and %+v, %v", leases[0], errs[0], leases[1], errs[1])
		}
		return leases[0], errs[0]
	})
	j := f.journal("r1")
	for i := range 10 {
		j.Emit([]byte(numbered("%d", i)))
		f.write(j, statestore.Change{Put: []statestore.Row{row("a", 0)}})
	}
	if err := j.Finish(f.Context(), statestore.Succeeded, nil); err != nil {
		f.Fatal(err)
	}
	f.ran("r1", "a", 10, 10)
}

// ran fails unless a run succeeded and left a row at this version, and so many events.
func (f *fixture) ran(run, address string, version uint64, events int) {
	f.Helper()
	snap := f.load()
	if got := snap.Rows[address].Version; got != version || snap.LastRun == nil || snap.LastRun.ID != run || snap.LastRun.State != statestore.Succeeded {
		f.Errorf("version %d of %s, want %d; last run %+v", got, address, version, snap.LastRun)
	}
	if got, _ := f.store.Events(f.Context(), f.stage, run, 0, 0); len(got) != events {
		f.Errorf("%d events, want %d", len(got), events)
	}
	f.lawful()
}

// requestsLate: copies of all requests so far come again after each new one, the oldest last.
func requestsLate(f *fixture) {
	var sent []func() (statestore.Lease, error)
	f.over(func(_ int, send func() (statestore.Lease, error)) (statestore.Lease, error) {
		lease, err := send()
		for i := range sent {
			if _, err := sent[len(sent)-1-i](); err != nil {
				f.Errorf("a late copy: %v", err)
			}
		}
		sent = append(sent, send)
		return lease, err
	})
	w := f.begin(f.store, "r1")
	for v := range uint64(5) {
		w.put(row("a", v))
	}
	w.finish()
	f.begin(f.process(2), "r2").put(row("a", 5))
	for _, again := range sent {
		if _, err := again(); !errors.Is(err, statestore.ErrFenced) {
			f.Errorf("a copy that comes in the next epoch: %v", err)
		}
	}
	if got := f.load().Rows["a"].Version; got != 6 {
		f.Errorf("version %d", got)
	}
	f.lawful()
}

// requestsShuffled: of requests that are on their way at once, any order gives the same end, when each is sent until
// it is taken.
func requestsShuffled(f *fixture) {
	w := f.begin(f.store, "r1")
	const n = 8
	var group sync.WaitGroup
	for i := range n {
		seq := uint64(n - i)
		group.Go(func() {
			for {
				_, err := f.store.Commit(f.Context(), w.lease, statestore.Batch{Seq: seq, Put: []statestore.Row{row("a", seq-1)}})
				if !errors.Is(err, statestore.ErrReplay) {
					if err != nil {
						f.Errorf("batch %d: %v", seq, err)
					}
					return
				}
			}
		})
	}
	group.Wait()
	if snap := f.load(); snap.Rows["a"].Version != n || snap.Serial != n {
		f.Errorf("version %d at serial %d", snap.Rows["a"].Version, snap.Serial)
	}
}

// answersLost: every other answer is lost after the store did what it was asked. Nothing is done twice.
func answersLost(f *fixture) {
	f.over(func(n int, send func() (statestore.Lease, error)) (statestore.Lease, error) {
		lease, err := send()
		if n%2 == 1 && err == nil {
			return broken(n, nil)
		}
		return lease, err
	})
	j := f.journal("r1")
	lost := 0
	for range 10 {
		err := j.Commit(f.Context(), statestore.Change{Put: []statestore.Row{row("a", 0)}})
		if errors.Is(err, statestore.ErrUnavailable) {
			lost++
		} else if err != nil {
			f.Fatal(err)
		}
	}
	for errors.Is(j.Finish(f.Context(), statestore.Succeeded, nil), statestore.ErrUnavailable) {
		lost++
	}
	if lost == 0 {
		f.Error("no answer was lost")
	}
	f.ran("r1", "a", 10, 0)
}

// pausedHolder: a holder that stops in the middle of a commit, and wakes after another one took over, changes nothing.
func pausedHolder(f *fixture) {
	asleep, wake := make(chan struct{}), make(chan struct{})
	w := f.over(through)
	j := f.journal("r1")
	f.write(j, statestore.Change{Put: []statestore.Row{row("a", 0)}})
	w.become(func(_ int, send func() (statestore.Lease, error)) (statestore.Lease, error) {
		close(asleep)
		<-wake
		return send()
	})
	done := make(chan error, 1)
	go func() { done <- j.Commit(f.Context(), statestore.Change{Put: []statestore.Row{row("a", 0)}}) }()
	<-asleep
	f.machine.pass(time.Hour)
	f.store = w.Store
	second := f.begin(f.other("boot-2", 2), "r2")
	second.put(row("a", 1))
	close(wake)
	if err := <-done; !errors.Is(err, statestore.ErrFenced) {
		f.Errorf("the one that woke: %v", err)
	}
	if err := j.Held(); !errors.Is(err, statestore.ErrFenced) {
		f.Errorf("what it knows: %v", err)
	}
	second.finish()
	f.ran("r2", "a", 2, 0)
}

// goneAndBack: while the store is away commits fail as unavailable; when it is back the run goes on, and what was not
// known to be written is written once.
func goneAndBack(f *fixture) {
	w := f.over(through)
	j := f.journal("r1")
	f.write(j, statestore.Change{Put: []statestore.Row{row("a", 0)}})
	w.become(broken)
	for range 3 {
		j.Emit([]byte("e"))
		if err := j.Commit(f.Context(), statestore.Change{Put: []statestore.Row{row("a", 0)}}); !errors.Is(err, statestore.ErrUnavailable) || !errors.Is(err, errWire) {
			f.Errorf("while it is away: %v", err)
		}
	}
	if err := j.Held(); err != nil {
		f.Errorf("the lease lasts: %v", err)
	}
	w.become(through)
	f.write(j, statestore.Change{Put: []statestore.Row{row("b", 0)}})
	if err := j.Finish(f.Context(), statestore.Succeeded, nil); err != nil {
		f.Fatal(err)
	}
	// The first change that failed was on its way when the store went; the others never left.
	f.ran("r1", "a", 2, 3)
	if got := f.load().Rows["b"].Version; got != 1 {
		f.Errorf("version %d of what came after", got)
	}
}

func goneTooLong(f *fixture) {
	w := f.over(through)
	j := f.journal("r1")
	w.become(broken)
	if err := j.Commit(f.Context(), statestore.Change{Put: []statestore.Row{row("a", 0)}}); !errors.Is(err, statestore.ErrUnavailable) {
		f.Fatal(err)
	}
	f.machine.pass(2 * time.Hour)
	second := f.begin(f.other("boot-2", 2), "r2")
	w.become(through)
	if err := j.Commit(f.Context(), statestore.Change{Put: []statestore.Row{row("b", 0)}}); !errors.Is(err, statestore.ErrFenced) {
		f.Errorf("back after the takeover: %v", err)
	}
	if n := len(f.load().Rows); n != 0 {
		f.Errorf("%d rows of the run that lost its lease", n)
	}
	second.finish()
}

// noRoom: a write that the store has no room for is not known to have happened, and did not; a caller that needs it
// before going on does not go on. With room again the same run writes it.
func noRoom(f *fixture) {
	w := f.over(through)
	j := f.journal("r1")
	intent := row("a", 0)
	intent.Generations[0].Intent, intent.Generations[0].State, intent.Generations[0].Identity = true, statestore.Candidate, ""
	w.become(broken)
	if err := j.Commit(f.Context(), statestore.Change{Put: []statestore.Row{intent}}); err == nil || statestore.Refused(err) {
		f.Errorf("an intent without room: %v", err)
	}
	if n := len(f.load().Rows); n != 0 {
		f.Fatalf("%d rows", n)
	}
	w.become(through)
	if err := j.Renew(f.Context()); err != nil {
		f.Fatal(err)
	}
	if got := f.load().Rows["a"]; len(got.Generations) != 1 || !got.Generations[0].Intent {
		f.Errorf("with room again: %+v", got)
	}
}
