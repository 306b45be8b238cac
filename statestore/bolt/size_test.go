package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// sealed is a row as the engine writes one of local.Value: its body cannot be compressed.
func sealed(chance *rand.Rand, n int, version uint64) statestore.Row {
	address, body := fmt.Sprintf("r%d", n), make([]byte, 162)
	for i := range body {
		body[i] = byte(chance.Uint32())
	}
	return statestore.Row{
		Address: address, Version: version, Birth: address,
		Generations: []statestore.Generation{{
			Number: 1, State: statestore.Live, Kind: "local.Value", Identity: address, Place: statestore.Place{Provider: "local"},
			Body: body, Written: time.Unix(1795412680, int64(chance.Uint32())),
		}},
	}
}

// happened are the two events that the engine writes of a change.
func happened(run string, seq uint64, row statestore.Row) []statestore.Event {
	when := time.Unix(1795412680, int64(seq)*98_765).UTC().Format(time.RFC3339Nano)
	var events []statestore.Event
	for _, status := range []string{"started", "done"} {
		body := fmt.Sprintf(`{"time":%q,"run":%q,"seq":%d,"type":"resource","address":%q,"kind":"local.Value","action":"create","status":%q,"number":1,"elapsed":%d}`,
			when, run, seq, row.Address, status, 250_000_000+seq*777)
		events = append(events, statestore.Event{Seq: seq, Body: []byte(body)})
		seq++
	}
	return events
}

// program is a stage whose rows are put and removed by one run after the other.
type program struct {
	t      *testing.T
	s      *Store
	chance *rand.Rand
	rows   map[int]uint64 // versions
	runs   int
	moment func() // after each commit
}

// run puts or removes rows, so many with each commit, and ends.
func (p *program) run(numbers []int, remove bool, group int) {
	p.t.Helper()
	p.runs++
	run := fmt.Sprintf("20261123-054437-%06d", p.runs)
	lease, err := p.s.Acquire(p.t.Context(), stage, statestore.Claim{Run: run, TTL: time.Hour})
	seq, event := uint64(0), uint64(0)
	commit := func(batch statestore.Batch) {
		if err == nil {
			seq++
			batch.Seq = seq
			lease, err = p.s.Commit(p.t.Context(), lease, batch)
			p.moment()
		}
	}
	for len(numbers) > 0 {
		var batch statestore.Batch
		for _, n := range numbers[:min(group, len(numbers))] {
			row := sealed(p.chance, n, p.rows[n])
			p.rows[n]++
			if remove {
				row.Generations = nil
				delete(p.rows, n)
			}
			batch.Put = append(batch.Put, row)
			batch.Events = append(batch.Events, happened(run, event, row)...)
			event += 2
		}
		commit(batch)
		numbers = numbers[min(group, len(numbers)):]
	}
	commit(statestore.Batch{Finish: statestore.Succeeded})
	if err != nil {
		p.t.Fatal(err)
	}
}

func newProgram(t *testing.T) *program {
	s, err := Open(filepath.Join(t.TempDir(), ".athanor", "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	return &program{t: t, s: s, chance: rand.New(rand.NewPCG(1, 2)), rows: map[int]uint64{}, moment: func() {}}
}

// count is the numbers from 0 in the order of their addresses.
func count(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	slices.SortFunc(numbers, func(a, b int) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return numbers
}

// bytesOf is how long the store's files are together.
func (p *program) bytesOf() (all int64) {
	entries, err := os.ReadDir(filepath.Dir(p.s.Path()))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			all += info.Size()
		}
	}
	return all
}

// live is how long the file would be with nothing in it but what it holds.
func (p *program) live() int64 {
	p.t.Helper()
	path := filepath.Join(p.t.TempDir(), "compact")
	from, err := bbolt.Open(p.s.Path(), 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		p.t.Fatal(err)
	}
	defer from.Close()
	into, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := bbolt.Compact(into, from, 0); err != nil {
		p.t.Fatal(err)
	}
	size := int64(0)
	err = into.View(func(tx *bbolt.Tx) error { size = tx.Size(); return nil })
	if err := into.Close(); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		p.t.Fatal(err)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return size
}

// shuffled returns numbers in a random order.
func shuffled(numbers []int) []int {
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	return numbers
}

// TestTheFileIsSmall holds the file of a first deploy to its size, with rows in order and out of order.
func TestTheFileIsSmall(t *testing.T) {
	for _, tt := range []struct {
		rows, group int
		most        int64
	}{{1_000, 7, 1_200_000}, {1_000, 130, 1_200_000}, {10_000, 130, 8_000_000}} {
		for name, numbers := range map[string][]int{"in order": count(tt.rows), "out of order": shuffled(count(tt.rows))} {
			t.Run(fmt.Sprintf("%d by %d %s", tt.rows, tt.group, name), func(t *testing.T) {
				p := newProgram(t)
				p.moment = func() {
					if size := p.bytesOf(); size > tt.most {
						t.Fatalf("%d bytes, at most %d", size, tt.most)
					}
				}
				p.run(numbers, false, tt.group)
				t.Logf("%d bytes, live %d", p.bytesOf(), p.live())
				sound(t, p.s.Path())
			})
		}
	}
}

// TestTheFileStaysSmall deploys and destroys at random, while another process has the file open: after no commit is the
// file larger than twice what was ever live, and what is live does not grow with the number of runs.
func TestTheFileStaysSmall(t *testing.T) {
	const rows = 1500
	once := newProgram(t)
	once.run(count(rows), false, rows)
	p, largest, most := newProgram(t), int64(0), int64(0)
	p.moment = func() { most = max(most, p.bytesOf()) }
	var readers []*os.File
	rounds := 20
	if proctest.Whole() {
		rounds = 50
	}
	for round := range rounds {
		var numbers []int
		remove, share := round%2 == 1, p.chance.Float64()
		for _, n := range count(rows) {
			if _, there := p.rows[n]; (there || !remove) && p.chance.Float64() < share {
				numbers = append(numbers, n)
			}
		}
		if p.chance.IntN(2) == 0 {
			numbers = shuffled(numbers)
		}
		p.run(numbers, remove, 30+p.chance.IntN(rows/15))
		largest = max(largest, p.live())
		reader, err := os.Open(p.s.Path())
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, reader)
	}
	for _, reader := range readers {
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("at most %d bytes, at most %d live, %d after one run", most, largest, once.live())
	if most > 2*largest {
		t.Errorf("the file had %d bytes, at most %d were live", most, largest)
	}
	if most := once.live() + 2*keptEvents + keptPast; largest > most { // what one run leaves, the history, and the versions
		t.Errorf("%d bytes are live after %d runs, at most %d should be", largest, rounds, most)
	}
	sound(t, p.s.Path())
}

// keptPast is what earlier versions take of the file, with what the database adds to each entry.
const keptPast = ledger.MostPast * 5 / 4

// TestNothingIsLeftOfADestroyedStage: six rounds leave a file of the history and of earlier versions alone.
func TestNothingIsLeftOfADestroyedStage(t *testing.T) {
	p := newProgram(t)
	for range 6 {
		p.run(count(2000), false, 200)
		p.run(count(2000), true, 200)
	}
	if size := p.bytesOf(); size > 2*keptEvents+keptPast {
		t.Errorf("%d bytes with nothing in it", size)
	}
	if err := p.s.Compact(t.Context()); err != nil { // which gives the versions up
		t.Fatal(err)
	}
	if size := p.bytesOf(); size > 2*keptEvents {
		t.Errorf("%d bytes with nothing in it, not even versions", size)
	}
}

// TestCompactLeavesNothingBehind: what was replaced and deleted before is not in the file any more.
func TestCompactLeavesNothingBehind(t *testing.T) {
	p := newProgram(t)
	if err := p.s.Compact(t.Context()); err != nil {
		t.Fatalf("without a file: %v", err)
	}
	p.run(count(40), false, 10)
	lease, err := p.s.Acquire(t.Context(), stage, statestore.Claim{Run: "rotate", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	row := sealed(p.chance, 7, 1)
	old := row.Generations[0].Body
	lease, err = p.s.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Put: []statestore.Row{row}})
	if err != nil {
		t.Fatal(err)
	}
	if lease, err = p.s.Commit(t.Context(), lease, statestore.Batch{Seq: 2, Put: []statestore.Row{sealed(p.chance, 7, 2)}}); err != nil {
		t.Fatal(err)
	}
	holds := func() bool {
		whole, err := os.ReadFile(p.s.Path())
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(whole, old)
	}
	if !holds() {
		t.Fatal("the replaced body is not in the file to begin with")
	}
	if err := p.s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if holds() {
		t.Error("the replaced body is still in the file")
	}
	if _, err = p.s.Commit(t.Context(), lease, statestore.Batch{Seq: 3, Put: []statestore.Row{sealed(p.chance, 7, 3)}}); err != nil {
		t.Errorf("the run cannot go on: %v", err)
	}
	if snap, err := p.s.Load(t.Context(), stage); err != nil || len(snap.Rows) != 40 || snap.Rows["r7"].Version != 4 {
		t.Errorf("%d rows, %v", len(snap.Rows), err)
	}
	if info, err := os.Stat(p.s.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	sound(t, p.s.Path())
}

// TestOnlyASubstituteTakesThePlace: a file with another name, or behind a symbolic link, stays as it is.
func TestOnlyASubstituteTakesThePlace(t *testing.T) {
	for name, change := range map[string]func(path, other string) error{
		"another name": os.Link,
		"behind a link": func(path, other string) error {
			return errors.Join(os.Rename(path, other), os.Symlink(other, path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProgram(t)
			p.run(count(40), false, 10)
			if err := change(p.s.Path(), filepath.Join(t.TempDir(), "other")); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(p.s.Path())
			if err != nil {
				t.Fatal(err)
			}
			if err := p.s.Compact(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("compact: %v", err)
			}
			if after, err := os.Lstat(p.s.Path()); err != nil || !os.SameFile(before, after) {
				t.Errorf("another file: %v", err)
			}
			if entries, err := os.ReadDir(filepath.Dir(p.s.Path())); err != nil || len(entries) != 3 {
				t.Errorf("files left: %v, %v", entries, err)
			}
			p.run(count(40), true, 10)
			sound(t, p.s.Path())
		})
	}
}

// TestWhatACommitAllocates holds the commit of rows that need six others each, and have two events, to a number of
// allocations that leaves no room for lists of what is read next: only stores on other machines read ahead.
func TestWhatACommitAllocates(t *testing.T) {
	const rows, most = 500, 78
	p := newProgram(t)
	lease, err := p.s.Acquire(t.Context(), stage, statestore.Claim{Run: "r", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	batch := statestore.Batch{Seq: 1}
	for n := range rows {
		row := sealed(p.chance, n, 0)
		for k := range min(n, 6) {
			row.Needs = append(row.Needs, fmt.Sprintf("r%d", k))
		}
		batch.Put = append(batch.Put, row)
		batch.Events = append(batch.Events, happened("r", uint64(2*n), row)...)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err = p.s.Commit(t.Context(), lease, batch); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if each := float64(after.Mallocs-before.Mallocs) / rows; each > most {
		t.Errorf("%.1f allocations for each row, at most %d", each, most)
	}
}
