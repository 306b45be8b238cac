package model_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
	"github.com/athanor-dev/athanor/statestore/internal/objects"
	"github.com/athanor-dev/athanor/statestore/internal/objects/objectstest"
)

var stage = statestore.Stage{Stack: "shop", Name: "prod"}

// party is one client of a run, with what it was told.
type party struct {
	w     *world
	id    int
	store *objects.Store
	lease statestore.Lease
	seq   uint64
	// acked and sent are the versions of the client's own row that are certain, and possible.
	acked, sent uint64
	finished    bool
	// until is when it stops to believe that the lease is its own.
	until time.Time
}

// world is one run.
type world struct {
	t      testing.TB
	ctx    context.Context
	bucket *objectstest.Memory
	net    *network
	random func() string
	merge  int
	grace  time.Duration

	mu      sync.Mutex
	holder  uint64 // the newest epoch that somebody was told of
	wrong   []string
	cancels bool // a cancel was acknowledged
	unlocks bool // an unlock was tried
	taking  bool // somebody tries to take the lease
	parties []*party
}

func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// open opens the store as a process on a machine of its own. Its requests go through the network, unless direct.
func (w *world) open(id int, direct bool) *objects.Store {
	var bucket objects.Bucket = client{w.net, id}
	if direct {
		bucket = w.bucket
	}
	machine := host.World{
		// Machines' wall clocks are wrong, each by another hour.
		Now:    func() time.Time { return time.Now().Add(time.Duration(id-1) * time.Hour) },
		Uptime: func() (time.Duration, bool) { return 0, false },
		Self:   host.Process{Host: "m", PID: id, Boot: fmt.Sprintf("boot-%d", id)}, Dead: func(host.Process) bool { return false },
	}
	began := time.Now()
	return objects.New(bucket, machine, objects.Settings{
		Place: "model", Patience: time.Minute, Random: w.random, Probed: func() bool { return true },
		Uptime: func() time.Duration { return time.Since(began) }, MergeAfter: w.merge, Grace: w.grace,
	})
}

const ttl = 30 * time.Second

// acquire takes the lease, or reports that somebody else has it.
func (p *party) acquire(run string) bool {
	p.w.mu.Lock()
	p.w.taking = p.w.holder > 0
	p.w.mu.Unlock()
	began := time.Now()
	lease, err := p.store.Acquire(p.w.ctx, stage, statestore.Claim{Run: run, TTL: ttl})
	if errors.Is(err, statestore.ErrHeld) {
		return false
	}
	if err != nil {
		p.w.fail("%s acquires: %v", run, err)
		return false
	}
	p.w.mu.Lock()
	if lease.Epoch <= p.w.holder {
		p.w.wrong = append(p.w.wrong, fmt.Sprintf("epoch %d after %d", lease.Epoch, p.w.holder))
	}
	p.w.holder = lease.Epoch
	for _, o := range p.w.parties {
		if o != p && !o.finished && !p.w.unlocks && time.Now().Before(o.until) {
			p.w.wrong = append(p.w.wrong, fmt.Sprintf("%s has the lease, and client %d is sure of it for another %s", run, o.id, time.Until(o.until)))
		}
	}
	p.w.mu.Unlock()
	p.lease, p.seq = lease, 0
	p.until = began.Add(lease.TTL - lease.Margin)
	return true
}

func rowOf(address string, version uint64) statestore.Row {
	return statestore.Row{Address: address, Version: version, Generations: []statestore.Generation{
		{Number: 1, State: statestore.Live, Kind: "k", Identity: "of " + address},
	}}
}

// commit writes the client's own row; false when the lease is lost.
func (p *party) commit(finish statestore.RunState) bool {
	p.w.mu.Lock()
	late := p.w.holder > p.lease.Epoch
	p.w.mu.Unlock()
	began := time.Now()
	if finish != "" {
		p.until = time.Time{} // it starts nothing more
	}
	batch := statestore.Batch{Seq: p.seq + 1, Renew: true, Finish: finish}
	batch.Put = []statestore.Row{rowOf(fmt.Sprintf("row-%d", p.id), p.sent), rowOf(fmt.Sprintf("twin-%d", p.id), p.sent)}
	batch.Events = []statestore.Event{{Seq: batch.Seq, Body: []byte("e")}}
	lease, err := p.store.Commit(p.w.ctx, p.lease, batch)
	switch {
	case err == nil && late:
		p.w.fail("client %d commits in epoch %d, after epoch %d was given out", p.id, p.lease.Epoch, p.w.holder)
	case err == nil:
		p.seq++
		p.sent++
		p.acked = p.sent
		p.lease = lease
		p.until = began.Add(lease.TTL - lease.Margin)
		p.finished = finish != ""
		return true
	case errors.Is(err, statestore.ErrFenced):
		p.w.mu.Lock()
		defer p.w.mu.Unlock()
		if p.w.holder == p.lease.Epoch && !p.w.unlocks && !p.w.taking {
			p.w.wrong = append(p.w.wrong, fmt.Sprintf("client %d is fenced, and nobody took the lease", p.id))
		}
		p.sent++ // an answer that was lost may have been a yes
		return false
	default:
		p.w.fail("client %d commits: %v", p.id, err)
	}
	return false
}

// commits writes so many times, and once more with an end, while the lease lasts.
func (p *party) commits(n int, finish statestore.RunState) bool {
	for range n {
		if !p.commit("") {
			return false
		}
	}
	return p.commit(finish)
}

// load reads the stage: each client's two rows always change together, and nothing that was acknowledged is missing.
func (p *party) load() {
	var floor []uint64
	for _, o := range p.w.parties {
		floor = append(floor, o.acked)
	}
	snap, err := p.store.Load(p.w.ctx, stage)
	if err != nil {
		p.w.fail("client %d loads: %v", p.id, err)
		return
	}
	for i, o := range p.w.parties {
		row, twin := snap.Rows[fmt.Sprintf("row-%d", o.id)].Version, snap.Rows[fmt.Sprintf("twin-%d", o.id)].Version
		if row != twin || row < floor[i] {
			p.w.fail("client %d reads versions %d and %d of client %d, of which %d were acknowledged", p.id, row, twin, o.id, floor[i])
		}
	}
}

// scenario is what two clients do.
type scenario struct {
	before func(w *world, a, b *party) // without the network
	a, b   func(p *party)
	faults int
	merge  int
	pauses int
}

func scenarios() map[string]scenario {
	hold := func(_ *world, a, _ *party) {
		direct := *a
		direct.store = a.w.open(1, true)
		if !direct.acquire("a") || !direct.commit("") {
			panic("the first run is refused")
		}
		a.lease, a.seq, a.acked, a.sent = direct.lease, direct.seq, direct.acked, direct.sent
	}
	return map[string]scenario{
		"two begin a stage": {
			a:      func(p *party) { _ = p.acquire("a") && p.commits(1, statestore.Succeeded) },
			b:      func(p *party) { _ = p.acquire("b") && p.commit(statestore.Succeeded) },
			faults: 1,
		},
		"a commit and a cancel": {
			before: hold,
			a:      func(p *party) { p.commits(2, statestore.Succeeded) },
			b: func(p *party) {
				asked, err := p.store.Interrupt(p.w.ctx, stage, statestore.Order{Who: "eve"})
				if err != nil {
					p.w.fail("cancel: %v", err)
				}
				p.w.mu.Lock()
				defer p.w.mu.Unlock()
				p.w.cancels = asked
			},
			faults: 1,
		},
		"a commit and an unlock": {
			before: hold,
			a:      func(p *party) { p.commits(1, statestore.Succeeded) },
			b: func(p *party) {
				p.w.mu.Lock()
				p.w.unlocks = true
				p.w.mu.Unlock()
				done, err := p.store.Interrupt(p.w.ctx, stage, statestore.Order{Unlock: true})
				runs, err2 := p.w.open(9, true).Runs(p.w.ctx, stage, 0)
				if lost := err2 == nil && runs[len(runs)-1].State == statestore.Lost; err != nil || done != lost {
					p.w.fail("unlock: %v, %v, and the run is %s", done, err, runs[len(runs)-1].State)
				}
				if p.acquire("b") {
					p.load()
					p.commit(statestore.Succeeded)
				}
			},
			faults: 1,
		},
		"a commit and a takeover": {
			before: func(w *world, a, b *party) {
				hold(w, a, b)
				time.Sleep(2 * ttl)
			},
			pauses: 1,
			a:      func(p *party) { p.commits(1, "") },
			b:      func(p *party) { _ = p.acquire("b") && p.commits(1, statestore.Succeeded) },
			faults: 1,
		},
		"a merge and a reader": {
			before: hold,
			a:      func(p *party) { p.commits(3, statestore.Succeeded) },
			b: func(p *party) {
				p.load()
				p.load()
			},
			faults: 1, merge: 2,
		},
		"a sweep and a reader": {
			before: func(w *world, a, b *party) {
				hold(w, a, b)
				direct := *a
				direct.store = w.open(1, true)
				for range 3 {
					direct.commit("")
				}
				direct.commit(statestore.Succeeded)
				a.acked, a.sent = direct.acked, direct.sent
				time.Sleep(ttl)
			},
			a:     func(p *party) { _ = p.acquire("c") && p.commits(1, statestore.Succeeded) },
			b:     func(p *party) { p.load() },
			merge: 1,
		},
	}
}

// once makes one run of a scenario and returns what was wrong.
func once(t testing.TB, s scenario, by *search) []string {
	w := &world{t: t, ctx: t.Context(), random: objectstest.Texts(), merge: s.merge, grace: time.Second}
	w.bucket = objectstest.NewMemory(t, time.Now)
	w.bucket.Page = 100
	w.net = &network{search: by, bucket: w.bucket, faults: s.faults, pauses: s.pauses}
	a, b := &party{w: w, id: 1}, &party{w: w, id: 2}
	w.parties = []*party{a, b}
	if s.before != nil {
		s.before(w, a, b)
	}
	a.store, b.store = w.open(1, false), w.open(2, false)
	var group sync.WaitGroup
	var mu sync.Mutex
	left := 2
	for _, run := range []func(){func() { s.a(a) }, func() { s.b(b) }} {
		group.Go(func() {
			run()
			mu.Lock()
			defer mu.Unlock()
			left--
		})
	}
	w.net.run(func() bool {
		mu.Lock()
		defer mu.Unlock()
		return left == 0
	})
	group.Wait()
	w.after(s.faults, a, b)
	if len(w.wrong) > 0 {
		return append(w.wrong, w.net.trace...)
	}
	return nil
}

// after compares what a new process finds with what the clients were told.
func (w *world) after(faults int, parties ...*party) {
	store := w.open(9, true)
	snap, err := store.Load(w.ctx, stage)
	if err != nil {
		w.fail("afterwards: %v", err)
		return
	}
	for _, err := range snap.Check() {
		w.fail("afterwards: %v", err)
	}
	runs, err := store.Runs(w.ctx, stage, 0)
	if err != nil {
		w.fail("runs: %v", err)
	}
	var total uint64
	for _, p := range parties {
		row, twin := snap.Rows[fmt.Sprintf("row-%d", p.id)].Version, snap.Rows[fmt.Sprintf("twin-%d", p.id)].Version
		if row != twin || row < p.acked || row > p.sent {
			w.fail("versions %d and %d of client %d: %d were acknowledged, %d sent", row, twin, p.id, p.acked, p.sent)
		}
		total += row
		for _, run := range runs {
			if p.finished && run.Epoch == p.lease.Epoch && run.State != statestore.Succeeded {
				w.fail("the run of client %d is %s after it was told that it ended", p.id, run.State)
			}
			if p.lease.Epoch == run.Epoch && w.cancels && p.id == 1 && !run.Cancelled {
				w.fail("a cancel that was acknowledged is not in the record")
			}
		}
		if p.lease.Epoch > 0 && p.acked > 0 {
			events, err := store.Events(w.ctx, stage, runOf(runs, p.lease.Epoch), 0, 0)
			if err != nil || uint64(len(events)) < p.seq || w.net.faults == faults && uint64(len(events)) > p.seq {
				w.fail("%d events of client %d, which committed %d batches: %v", len(events), p.id, p.seq, err)
			}
		}
	}
	if snap.Serial != total {
		w.fail("serial %d after %d changes", snap.Serial, total)
	}
}

func runOf(runs []statestore.Run, epoch uint64) string {
	for _, run := range runs {
		if run.Epoch == epoch {
			return run.ID
		}
	}
	return ""
}

// Every order of the requests of two clients, with lost and late ones, keeps what was acknowledged, and gives nobody a
// write after another holds the stage.
func TestEveryOrder(t *testing.T) {
	t.Parallel()
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				by, runs := &search{}, 0
				for more := true; more; more = by.next() {
					runs++
					if wrong := once(t, s, by); wrong != nil {
						t.Fatalf("run %d:\n%s", runs, strings.Join(wrong, "\n"))
					}
				}
				t.Logf("%d runs", runs)
			})
		})
	}
}
