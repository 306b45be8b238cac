// Package storetest is the one conformance suite of [statestore.Store]: every implementation passes the
// same cases, so that the stores cannot drift apart and the engine need not know which one it has.
//
// It knows the contract. It does not know how any store keeps its record, beyond being told how to damage it.
package storetest

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// World is the machine as a store sees it: clocks, and which processes live.
type World = host.World

// Process is one process of a machine.
type Process = host.Process

// Subject is one empty store.
type Subject struct {
	// Open gives another handle on the store, as another process in the given world would have it.
	Open func(World) statestore.Store
	// Damage changes one bit of the stored record of a row.
	Damage func(t *testing.T, stage statestore.Stage, address string)
	// Records returns what the store keeps of a stage, and SetRecords replaces it, as a writer of the store can.
	Records    func(t *testing.T, stage statestore.Stage) Records
	SetRecords func(t *testing.T, stage statestore.Stage, records Records)
	// LosesAnswers is for a store that is reached over a connection which breaks: the answer to a commit may be lost, and
	// the next try come too late to be told that it was made.
	LosesAnswers bool
}

// Records are the records of a stage by table and key.
type Records map[string]map[string][]byte

// Run runs the whole suite. New makes an empty store for each case.
func Run(t *testing.T, newSubject func(t *testing.T) Subject) { run(t, newSubject, 1) }

// RunSample runs every third case of each group, and with [proctest.Whole] the whole suite: for a store that runs it whole in another place.
func RunSample(t *testing.T, newSubject func(t *testing.T) Subject) { run(t, newSubject, 3) }

// run runs the cases of each group, one in so many.
func run(t *testing.T, newSubject func(t *testing.T) Subject, oneIn int) {
	groups := cases()
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		t.Run(group, func(t *testing.T) {
			for n, name := range slices.Sorted(maps.Keys(groups[group])) {
				if !proctest.Played(n, oneIn) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					groups[group][name](newFixture(t, newSubject(t)))
				})
			}
		})
	}
}

// cases are all cases, by group and name. docs/store.md says which line of the contract each one proves.
func cases() map[string]map[string]func(*fixture) {
	return map[string]map[string]func(*fixture){
		"rows": rowCases, "lease": leaseCases, "replay": replayCases,
		"move": moveCases, "history": historyCases, "damage": damageCases, "journal": journalCases, "wire": wireCases, "head": headCases,
		"versions": versionCases,
	}
}

// machine is a simulated machine whose clocks and processes a case commands.
type machine struct {
	mu   sync.Mutex
	now  time.Time
	up   time.Duration
	dead map[int]bool
}

// pass lets time go by on all clocks.
func (m *machine) pass(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now, m.up = m.now.Add(d), m.up+d
}

// set changes the wall clock alone.
func (m *machine) set(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

func (m *machine) kill(pid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead[pid] = true
}

// world is the machine as the process with this id sees it.
func (m *machine) world(boot string, pid int) World {
	return World{
		Now: func() time.Time {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.now
		},
		Uptime: func() (time.Duration, bool) {
			m.mu.Lock()
			defer m.mu.Unlock()
			if boot != firstBoot {
				return m.up - 50*time.Minute, true // it was started later
			}
			return m.up, true
		},
		Self: host.Process{Host: "box", PID: pid, Boot: boot, Space: "time:[1]"},
		Dead: func(p host.Process) bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return p.Boot == boot && m.dead[p.PID]
		},
	}
}

// fixture is one case's store, machine and stage.
type fixture struct {
	*testing.T
	machine *machine
	subject Subject
	store   statestore.Store
	stage   statestore.Stage
}

func newFixture(t *testing.T, subject Subject) *fixture {
	t.Helper()
	m := &machine{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), up: time.Hour, dead: make(map[int]bool)}
	f := &fixture{T: t, machine: m, subject: subject, stage: statestore.Stage{Stack: "shop", Name: "test"}}
	f.store = f.process(1)
	return f
}

// process opens the store as another process on the same machine.
func (f *fixture) process(pid int) statestore.Store { return f.other(firstBoot, pid) }

// firstBoot is the machine that a case begins on.
const firstBoot = "boot-1"

// other opens the store on a machine with this boot id.
func (f *fixture) other(boot string, pid int) statestore.Store {
	s := f.subject.Open(f.machine.world(boot, pid))
	f.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.Error(err)
		}
	})
	return s
}

// writer holds a lease and counts its batches.
type writer struct {
	f     *fixture
	store statestore.Store
	lease statestore.Lease
	seq   uint64
}

// begin takes the lease of the stage or fails the case.
func (f *fixture) begin(store statestore.Store, run string) *writer {
	f.Helper()
	lease, err := store.Acquire(f.Context(), f.stage, statestore.Claim{Run: run, Command: "deploy", User: "ann", TTL: time.Minute})
	if err != nil {
		f.Fatalf("acquire for %s: %v", run, err)
	}
	return &writer{f: f, store: store, lease: lease}
}

// try commits the next batch; a refused one does not use its number up.
func (w *writer) try(batch statestore.Batch) error {
	batch.Seq = w.seq + 1
	lease, err := w.store.Commit(w.f.Context(), w.lease, batch)
	if err == nil {
		w.lease, w.seq = lease, batch.Seq
	}
	return err
}

func (w *writer) commit(batch statestore.Batch) {
	w.f.Helper()
	if err := w.try(batch); err != nil {
		w.f.Fatalf("commit %d: %v", w.seq+1, err)
	}
}

func (w *writer) put(rows ...statestore.Row) {
	w.f.Helper()
	w.commit(statestore.Batch{Put: rows})
}

func (w *writer) finish() {
	w.f.Helper()
	w.commit(statestore.Batch{Finish: statestore.Succeeded})
}

func (f *fixture) load() *statestore.Snapshot {
	f.Helper()
	snap, err := f.store.Load(f.Context(), f.stage)
	if err != nil {
		f.Fatalf("load: %v", err)
	}
	return snap
}

// lawful fails the case when any invariant of the stage is broken.
func (f *fixture) lawful() {
	f.Helper()
	for _, err := range f.load().Check() {
		f.Errorf("invariant: %v", err)
	}
}

// row is a plausible row with one live generation.
func row(address string, version uint64, needs ...string) statestore.Row {
	return statestore.Row{
		Address: address, Version: version, Birth: address, Needs: needs, Body: []byte("row of " + address),
		Generations: []statestore.Generation{{
			Number: 1, State: statestore.Live, Kind: "aws.sqs.Queue", Place: statestore.Place{Provider: "aws", Account: "1", Region: "eu"},
			Identity: "id of " + address, Body: []byte("body of " + address), Written: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		}},
	}
}

// gone is a row to be removed.
func gone(address string, version uint64) statestore.Row {
	return statestore.Row{Address: address, Version: version}
}

func numbered(format string, n int) string { return fmt.Sprintf(format, n) }
