package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/tracetest"
)

var (
	powerFull = flag.String("powerloss", "some", "some: a seeded part of the power cuts; full: after every operation, many losses each")
	powerSeed = flag.Uint64("powerloss.seed", 1, "which losses are drawn")
)

// lastBatch is how many commits the process makes that loses its power: enough for the file to grow three times and
// for pages to be freed and used again. After firstRun of them the first run ends, and the file is compacted.
const (
	firstRun  = 18
	lastBatch = 24
)

// batch is what the nth commit changes: one row always, and by turns some are added, changed and removed.
func batch(n int) statestore.Change {
	row := func(name string, size int) statestore.Row {
		r := statestore.Row{Address: name, Birth: name, Body: make([]byte, size)}
		binary.BigEndian.PutUint64(r.Body, uint64(n))
		r.Generations = []statestore.Generation{{Number: 1, State: statestore.Live, Kind: "local.Value", Identity: name, Written: time.Unix(1, 0)}}
		return r
	}
	change := statestore.Change{Put: []statestore.Row{row("counter", 8)}, Meta: map[string][]byte{"n": strconv.AppendInt(nil, int64(n), 10)}}
	for i := range 12 {
		switch {
		case n%3 == 1:
			change.Put = append(change.Put, row(fmt.Sprintf("wide-%d-%d", n, i), 700))
		case n%3 == 2 && n > 3 && i%2 == 0:
			change.Put = append(change.Put, row(fmt.Sprintf("wide-%d-%d", n-4, i), 2000))
		case n%6 == 0 && n > 4:
			change.Put = append(change.Put, statestore.Row{Address: fmt.Sprintf("wide-%d-%d", n-5, i)})
		}
	}
	return change
}

// after is the body of each row once n commits are made.
func after(n int) map[string][]byte {
	rows := map[string][]byte{}
	for k := 1; k <= n; k++ {
		for _, r := range batch(k).Put {
			if rows[r.Address] = r.Body; len(r.Generations) == 0 {
				delete(rows, r.Address)
			}
		}
	}
	return rows
}

// writeBatches makes the commits one after the other, and says each once it is acknowledged.
func writeBatches(path string) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	ctx := context.Background()
	j, err := statestore.Begin(ctx, s, stage, statestore.Claim{Run: "first", TTL: time.Hour})
	if err != nil {
		return err
	}
	fmt.Println(0)
	for n := 1; n <= lastBatch; n++ {
		if n == firstRun+1 {
			if j, err = following(ctx, s, j); err != nil {
				return err
			}
		}
		change := batch(n)
		if n > firstRun {
			snap, err := s.Load(ctx, stage)
			if err != nil {
				return err
			}
			for i, row := range change.Put {
				change.Put[i].Version = snap.Rows[row.Address].Version
			}
		}
		if err := j.Commit(ctx, change); err != nil {
			return err
		}
		fmt.Println(n)
	}
	return nil
}

// following ends a run, at which the file is compacted, and begins the next.
func following(ctx context.Context, s *Store, j *statestore.Journal) (*statestore.Journal, error) {
	before, err := os.Stat(s.Path())
	if err != nil {
		return nil, err
	}
	if err := j.Finish(ctx, statestore.Succeeded, nil); err != nil {
		return nil, err
	}
	j.Close()
	after, err := os.Stat(s.Path())
	if err != nil {
		return nil, err
	}
	if os.SameFile(before, after) {
		return nil, fmt.Errorf("the file of %d bytes was not compacted", after.Size())
	}
	return statestore.Begin(ctx, s, stage, statestore.Claim{Run: "cut short", TTL: time.Hour})
}

// recording is what a process did to the folder of its store, and when it knew of which commit.
type recording struct {
	root string // holds nothing at first
	acks string // beside it: what the process said
	base *tracetest.Disk
	ops  []tracetest.Op
}

func record(t *testing.T) recording {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := recording{root: filepath.Join(dir, "project"), acks: filepath.Join(dir, "acks")}
	if err := os.Mkdir(r.root, 0o700); err != nil {
		t.Fatal(err)
	}
	if r.base, err = tracetest.NewDisk(r.root); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(r.acks)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	env := append(os.Environ(), childRole+"=batches", childPath+"="+filepath.Join(r.root, ".athanor", "state.db"))
	status, err := tracetest.Run(os.Args[:1], &os.ProcAttr{Env: env, Files: []*os.File{nil, out, out}}, tracetest.Watch{
		Under: []string{dir},
		After: func(op tracetest.Op) {
			if op.Changes() {
				r.ops = append(r.ops, op)
			}
		},
	})
	if errors.Is(err, tracetest.ErrUnsupported) {
		t.Skip(err)
	}
	if said, _ := os.ReadFile(r.acks); err != nil || status.ExitStatus() != 0 {
		t.Fatalf("the process ended with %v, %v: %s", status, err, said)
	}
	return r
}

// cuts plays the recording and calls cut after each operation, with the last commit that was acknowledged then (-1: not
// even the file was promised), and the operation that comes next.
func (r recording) cuts(t *testing.T, forget func(tracetest.Op) bool, cut func(d *tracetest.Disk, at, acked int, next tracetest.Op)) {
	t.Helper()
	disk, acked := r.base.Clone(), -1
	for i, op := range r.ops {
		switch {
		case op.Path == r.acks:
			var err error
			if acked, err = strconv.Atoi(strings.TrimSpace(string(op.Data))); err != nil {
				t.Fatal(err)
			}
		case forget == nil || !forget(op):
			disk.Apply(op)
		}
		var next tracetest.Op
		if i+1 < len(r.ops) {
			next = r.ops[i+1]
		}
		cut(disk, i, acked, next)
	}
}

// survives proves that what a power cut left is the store as one commit made it, none before the last that was
// acknowledged.
func survives(t *testing.T, dir string, acked int) error {
	t.Helper()
	path := filepath.Join(dir, ".athanor", "state.db")
	s, err := Open(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil && acked >= 0 {
		return fmt.Errorf("commit %d was acknowledged, and the file is lost", acked)
	}
	snap, err := s.Load(t.Context(), stage)
	if err != nil {
		return err
	}
	have := map[string][]byte{}
	for address, row := range snap.Rows {
		have[address] = row.Body
	}
	n, _ := strconv.Atoi(string(snap.Meta["n"]))
	if n < acked {
		return fmt.Errorf("commit %d was acknowledged, %d is found", acked, n)
	}
	if want := after(n); !maps.EqualFunc(want, have, bytes.Equal) {
		return fmt.Errorf("the rows are not those of commit %d (-want +have): %s", n, cmp.Diff(want, have))
	}
	return checked(t, s)
}

// goesOn proves that the next run takes over when the lease has ended, changes rows and ends well. Of a machine that was
// started again no lock proves anything.
func goesOn(t *testing.T, dir string) error {
	t.Helper()
	s, err := Open(filepath.Join(dir, ".athanor", "state.db"))
	if err != nil {
		return err
	}
	s.ops.World.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	s.ops.World.Uptime = func() (time.Duration, bool) { return 0, false }
	snap, err := s.Load(t.Context(), stage)
	if err != nil {
		return err
	}
	j, err := statestore.Begin(t.Context(), s, stage, statestore.Claim{Run: "the next"})
	if err != nil {
		return fmt.Errorf("the next run: %w", err)
	}
	defer j.Close()
	n, _ := strconv.Atoi(string(snap.Meta["n"]))
	change := batch(n + 1)
	for i, row := range change.Put {
		change.Put[i].Version = snap.Rows[row.Address].Version
	}
	if err := errors.Join(j.Commit(t.Context(), change), j.Finish(t.Context(), statestore.Succeeded, nil)); err != nil {
		return fmt.Errorf("the next run: %w", err)
	}
	return checked(t, s)
}

func checked(t *testing.T, s *Store) error {
	broken, err := s.Check(t.Context())
	return errors.Join(append(broken, err)...)
}

// TestPowerLoss cuts the power of a process that makes the file and commits to it. Right before and right after each
// sync it is always cut, at other operations where the seed says so.
func TestPowerLoss(t *testing.T) {
	r := record(t)
	tries, share, runs := 2, 12, 7 // a further run waits for the disk, which a look does not
	if *powerFull == "full" {
		tries, share, runs = 30, 1, 5
	}
	place, points, chance := t.TempDir(), 0, rand.New(rand.NewPCG(*powerSeed, 0))
	r.cuts(t, nil, func(d *tracetest.Disk, at, acked int, next tracetest.Op) {
		boundary := r.ops[at].Kind == tracetest.Sync || next.Kind == tracetest.Sync
		if !boundary && chance.IntN(share) > 0 {
			return
		}
		n := tries
		if !d.Unsynced() {
			n = 1
		}
		for try := range n {
			points++
			dir := filepath.Join(place, strconv.Itoa(try))
			seed := rand.NewPCG(*powerSeed, uint64(at)<<16|uint64(try))
			if err := d.Lose(rand.New(seed), dir); err != nil {
				t.Fatal(err)
			}
			err := survives(t, dir, acked)
			if err == nil && points%runs == 0 {
				err = goesOn(t, dir)
			}
			if err != nil {
				t.Errorf("power lost after operation %d of %d (%s), loss %d (-powerloss.seed=%d): %v", at+1, len(r.ops), r.ops[at], try, *powerSeed, err)
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Logf("power cuts: %d, in %d operations of a process", points, len(r.ops))
	if points < 2*lastBatch {
		t.Errorf("%d power cuts are too few to say anything", points)
	}
}

// TestKilledWhileItCompacts ends the process before each of its operations, with nothing lost but what it had not written:
// the next run goes on from the last commit, and leaves no file behind.
func TestKilledWhileItCompacts(t *testing.T) {
	r := record(t)
	place, kills, compacting := t.TempDir(), 0, false
	r.cuts(t, nil, func(d *tracetest.Disk, at, acked int, next tracetest.Op) {
		if filepath.Base(next.Path) == "state.db.compact" {
			compacting = true
		}
		if !compacting || acked > firstRun {
			return
		}
		kills++
		dir := filepath.Join(place, strconv.Itoa(at))
		if err := d.Lose(nil, dir); err != nil {
			t.Fatal(err)
		}
		err := errors.Join(survives(t, dir, acked), goesOn(t, dir))
		if entries, _ := os.ReadDir(filepath.Join(dir, ".athanor")); len(entries) != 3 {
			err = errors.Join(err, fmt.Errorf("files left: %v", entries))
		}
		if err != nil {
			t.Errorf("killed after operation %d of %d (%s): %v", at+1, len(r.ops), r.ops[at], err)
		}
	})
	if kills < 10 {
		t.Errorf("%d kills are too few to say anything", kills)
	}
}

// TestPowerLossSeesAMissingSync proves that the losses are such that leaving one kind of sync out shows.
func TestPowerLossSeesAMissingSync(t *testing.T) {
	r := record(t)
	before := map[string]bool{} // whether the next sync of the file is that of data, or of the head after it
	for name, forget := range map[string]func(tracetest.Op) bool{
		"of the folder":            func(op tracetest.Op) bool { return op.Kind == tracetest.Sync && filepath.Base(op.Path) == ".athanor" },
		"of the folder's own name": func(op tracetest.Op) bool { return op.Kind == tracetest.Sync && op.Path == r.root },
		"of the data": func(op tracetest.Op) bool {
			if op.Kind != tracetest.Sync || filepath.Base(op.Path) != "state.db" {
				return false
			}
			before[op.Path] = !before[op.Path]
			return before[op.Path]
		},
		"of the compacted file": func(op tracetest.Op) bool {
			return op.Kind == tracetest.Sync && filepath.Base(op.Path) == "state.db.compact"
		},
		"of the head": func(op tracetest.Op) bool {
			if op.Kind == tracetest.Write && filepath.Base(op.Path) == "state.db" {
				before["head"] = op.Offset < 2*int64(os.Getpagesize())
			}
			return op.Kind == tracetest.Sync && filepath.Base(op.Path) == "state.db" && before["head"]
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen, cuts := error(nil), 0
			r.cuts(t, forget, func(d *tracetest.Disk, at, acked int, _ tracetest.Op) {
				for try := 0; try < 4 && seen == nil && acked >= 0; try++ {
					dir := t.TempDir()
					cuts++
					if err := d.Lose(rand.New(rand.NewPCG(uint64(at), uint64(try))), dir); err != nil {
						t.Fatal(err)
					}
					seen = survives(t, dir, acked)
				}
			})
			if seen == nil {
				t.Fatalf("nothing is lost in %d cuts without the sync", cuts)
			}
			t.Logf("seen at cut %d: %.200s", cuts, seen.Error())
		})
	}
}

// TestPowerLossRecordsGrowth: the recorded process made its file grow and synced each commit twice: else the cuts prove less than they seem to.
func TestPowerLossRecordsGrowth(t *testing.T) {
	r := record(t)
	kinds, grown := map[tracetest.Kind]int{}, map[int64]bool{}
	for _, op := range r.ops {
		if kinds[op.Kind]++; op.Kind == tracetest.Truncate && filepath.Base(op.Path) == "state.db" {
			grown[op.Size] = true
		}
	}
	if len(grown) < 2 || kinds[tracetest.Sync] < 2*lastBatch || kinds[tracetest.Link]+kinds[tracetest.Rename] < 2 {
		t.Errorf("grown to %v, operations %v", slices.Sorted(maps.Keys(grown)), kinds)
	}
}
