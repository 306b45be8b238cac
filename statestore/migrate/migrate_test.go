package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/migrate"
	"github.com/athanor-dev/athanor/statestore/postgres"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
	"github.com/athanor-dev/athanor/statestore/s3"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
)

var prod = statestore.Stage{Stack: "shop", Name: "prod"}

// stores open an empty store of each sort.
func stores(t *testing.T) map[string]func(t *testing.T) statestore.Store {
	t.Helper()
	opened := func(t *testing.T, s statestore.Store, err error) statestore.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	return map[string]func(t *testing.T) statestore.Store{
		"bolt": func(t *testing.T) statestore.Store {
			s, err := bolt.Open(filepath.Join(t.TempDir(), "state.db"))
			return opened(t, s, err)
		},
		"postgres": func(t *testing.T) statestore.Store {
			s, err := postgres.Open(pgtest.Start(t).Schema(t))
			return opened(t, s, err)
		},
		"s3": func(t *testing.T) statestore.Store {
			server := s3test.Start(t, s3test.Versitygw)
			s, err := s3.Open(server.URL(t, "infra"), server.Config, s3.WithPatience(time.Minute), s3.WithProbes(func(string) bool { return true }, func(string) {}))
			return opened(t, s, err)
		},
	}
}

// fill gives a stage a record with everything that one can have.
func fill(t *testing.T, s statestore.Store, stage statestore.Stage) {
	t.Helper()
	lease, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "first", Command: "deploy", User: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	generation := func(number uint64, state statestore.State, identity string) statestore.Generation {
		return statestore.Generation{
			Number: number, State: state, Slot: 1, Kind: "aws.sqs.Queue", Place: statestore.Place{Provider: "aws", Account: "1", Region: "eu-north-1"},
			Identity: identity, Body: []byte("sealed " + identity), Written: time.Date(2026, 11, 20, 1, 2, 3, 4000, time.UTC),
		}
	}
	batch := statestore.Batch{
		Seq: 1, KeyID: "k1", Outputs: []byte("sealed outputs"), Meta: map[string][]byte{"ring": []byte("sealed ring"), "empty": {}}, Finish: statestore.Succeeded,
		Put: []statestore.Row{
			{Address: "dead", Birth: "old/dead", Body: []byte("sealed"), Generations: []statestore.Generation{generation(1, statestore.Live, "dead")}},
			{Address: "orders", Birth: "orders", Needs: []string{"dead"}, Body: []byte{0, 255}, Generations: []statestore.Generation{
				generation(2, statestore.Live, "orders-2"), generation(1, statestore.Condemned, "orders-1"),
			}},
			{Address: "half", Birth: "half", Generations: []statestore.Generation{{Number: 1, State: statestore.Candidate, Kind: "aws.sqs.Queue", Intent: true}}},
		},
	}
	if _, err := s.Commit(t.Context(), lease, batch); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, s statestore.Store, stage statestore.Stage) *statestore.Snapshot {
	t.Helper()
	snap, err := s.Load(t.Context(), stage)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

var runs atomic.Int64

func move(from, to statestore.Store) *migrate.Move {
	return &migrate.Move{From: from, To: to, Where: "postgres://db/state", User: "ada (ada@box)", NewRun: func() string { return fmt.Sprint("move-", runs.Add(1)) }}
}

// moved checks that a stage is at the new store with all of its record, and that the old one says so to everybody.
func moved(t *testing.T, from, to statestore.Store, want *statestore.Snapshot) {
	t.Helper()
	if got := load(t, to, want.Stage); !migrate.Same(want, got) || got.Holder != nil || len(got.Rows) != 3 {
		t.Errorf("the new store has %+v", got)
	}
	one, err := from.ID(t.Context())
	if other := string(load(t, to, want.Stage).Meta[keeper.StoreFact]); err != nil || one != other {
		t.Errorf("the objects of the stage are tagged by the store %q, and at the new store it is %q: %v", one, other, err)
	}
	_, err = from.Acquire(t.Context(), want.Stage, statestore.Claim{Run: "colleague", Command: "deploy"})
	if !errors.Is(err, statestore.ErrHeld) || !strings.Contains(err.Error(), "moved to postgres://db/state") {
		t.Errorf("a colleague at the old store: %v", err)
	}
	lease, err := to.Acquire(t.Context(), want.Stage, statestore.Claim{Run: "next", Command: "deploy"})
	if err != nil {
		t.Fatalf("the next run: %v", err)
	}
	if _, err := to.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Finish: statestore.Succeeded}); err != nil {
		t.Error(err)
	}
}

// TestBetween moves a stage between stores of every sort, there and back to another.
func TestBetween(t *testing.T) {
	t.Parallel()
	all := stores(t)
	for _, pair := range [][2]string{{"bolt", "postgres"}, {"postgres", "s3"}, {"s3", "bolt"}, {"bolt", "bolt"}} {
		t.Run(pair[0]+" to "+pair[1], func(t *testing.T) {
			t.Parallel()
			from, to := all[pair[0]](t), all[pair[1]](t)
			fill(t, from, prod)
			want := load(t, from, prod)
			m := move(from, to)
			if got, err := m.Stage(t.Context(), prod); err != nil || got.Rows != 3 || got.Already {
				t.Fatalf("%+v, %v", got, err)
			}
			if got, err := m.Stage(t.Context(), prod); err != nil || !got.Already {
				t.Errorf("again: %+v, %v", got, err)
			}
			moved(t, from, to, want)
			// What was deployed at the new store since stays.
			lease, err := to.Acquire(t.Context(), prod, statestore.Claim{Run: "later", Command: "deploy"})
			if err == nil {
				_, err = to.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Outputs: []byte("newer"), Finish: statestore.Succeeded})
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := m.Stage(t.Context(), prod); err != nil || !got.Already || string(load(t, to, prod).Outputs) != "newer" {
				t.Errorf("after a deploy at the new store: %+v, %v", got, err)
			}
		})
	}
}

var errCut = errors.New("cut")

// cutting is a store whose client is killed at one of its calls, before or after it happened.
type cutting struct {
	statestore.Store
	calls *int
	at    int
	after bool
}

func (c cutting) cut() (before, after error) {
	if *c.calls++; *c.calls < c.at {
		return nil, nil
	}
	if c.after && *c.calls == c.at {
		return nil, errCut
	}
	return errCut, nil
}

func (c cutting) Load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	before, after := c.cut()
	if before != nil {
		return nil, before
	}
	snap, err := c.Store.Load(ctx, stage)
	return snap, errors.Join(err, after)
}

func (c cutting) Acquire(ctx context.Context, stage statestore.Stage, claim statestore.Claim) (statestore.Lease, error) {
	before, after := c.cut()
	if before != nil {
		return statestore.Lease{}, before
	}
	lease, err := c.Store.Acquire(ctx, stage, claim)
	return lease, errors.Join(err, after)
}

func (c cutting) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	before, after := c.cut()
	if before != nil {
		return lease, before
	}
	lease, err := c.Store.Commit(ctx, lease, batch)
	return lease, errors.Join(err, after)
}

// TestKilled kills the move at each of its calls, before and after the call happened: the next one completes it, and between
// them the record is at one store alone that takes runs.
func TestKilled(t *testing.T) {
	t.Parallel()
	cuts := 0
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			if at > 100 {
				t.Fatal("it never ends")
			}
			all := stores(t)
			from, to := all["bolt"](t), all["bolt"](t)
			fill(t, from, prod)
			want, calls := load(t, from, prod), 0
			_, err := move(cutting{from, &calls, at, after}, cutting{to, &calls, at, after}).Stage(t.Context(), prod)
			if err == nil {
				break // it has fewer calls than that
			}
			if cuts++; !errors.Is(err, errCut) {
				t.Fatalf("call %d, after %v: %v", at, after, err)
			}
			if len(load(t, to, prod).Rows) > 0 {
				if _, err := from.Acquire(t.Context(), prod, statestore.Claim{Run: "colleague", Command: "deploy"}); !errors.Is(err, statestore.ErrHeld) {
					t.Errorf("call %d, after %v: both stores take runs: %v", at, after, err)
				}
			}
			if h := load(t, to, prod).Holder; h != nil { // the process that was killed here is this one, which lives
				if _, err := to.Interrupt(t.Context(), prod, statestore.Order{Unlock: true, Run: h.Run, Who: "test"}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := move(from, to).Stage(t.Context(), prod); err != nil {
				t.Errorf("call %d, after %v: again: %v", at, after, err)
			}
			moved(t, from, to, want)
		}
	}
	if cuts < 14 {
		t.Errorf("it was killed %d times", cuts)
	}
}

// TestRefused: a stage that a run holds, one whose new store has another record, and one that is damaged stay where they are, free
// for the next run.
func TestRefused(t *testing.T) {
	t.Parallel()
	all := stores(t)
	from, to := all["bolt"](t), all["bolt"](t)
	fill(t, from, prod)
	free := func(s statestore.Store) {
		t.Helper()
		if h := load(t, s, prod).Holder; h != nil {
			t.Errorf("it is held by %+v", h)
		}
	}
	lease, err := from.Acquire(t.Context(), prod, statestore.Claim{Run: "busy", Command: "deploy"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := move(from, to).Stage(t.Context(), prod); !errors.Is(err, statestore.ErrHeld) {
		t.Errorf("while a run holds it: %v", err)
	}
	if _, err := from.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Finish: statestore.Succeeded}); err != nil {
		t.Fatal(err)
	}
	busy, err := to.Acquire(t.Context(), prod, statestore.Claim{Run: "early", Command: "deploy"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := move(from, to).Stage(t.Context(), prod); !errors.Is(err, statestore.ErrHeld) {
		t.Errorf("while a run holds it at the new store: %v", err)
	}
	free(from)
	other := statestore.Row{Address: "other", Birth: "other", Generations: []statestore.Generation{{Number: 1, State: statestore.Live, Kind: "k", Identity: "i"}}}
	if _, err := to.Commit(t.Context(), busy, statestore.Batch{Seq: 1, Put: []statestore.Row{other}, Finish: statestore.Succeeded}); err != nil {
		t.Fatal(err)
	}
	if _, err := move(from, to).Stage(t.Context(), prod); !errors.As(err, new(*migrate.OccupiedError)) {
		t.Errorf("over another record: %v", err)
	}
	free(from)
	free(to)
	if _, err := move(damaged{from}, all["bolt"](t)).Stage(t.Context(), prod); !errors.As(err, new(*migrate.DamagedError)) || !strings.Contains(err.Error(), "rotten") {
		t.Errorf("a damaged record: %v", err)
	}
	free(from)
}

// damaged is a store with a row that cannot be decoded.
type damaged struct{ statestore.Store }

func (d damaged) Load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	snap, err := d.Store.Load(ctx, stage)
	if err == nil {
		snap.Damaged = map[string]*statestore.DamagedError{"rotten": {Address: "rotten"}}
	}
	return snap, err
}
