package postgres

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

// explained is a part of the server's plan.
type explained struct {
	Hit   int         `json:"Shared Hit Blocks"`
	Read  int         `json:"Shared Read Blocks"`
	Plans []explained `json:"Plans"`
}

func (e explained) blocks() int {
	n := e.Hit + e.Read
	for _, part := range e.Plans {
		n += part.blocks()
	}
	return n
}

// blocks is how many pages the server touches for a statement, which is then taken back. A part counts again in what it
// is a part of.
func blocks(t *testing.T, s *Store, sql string, args []any) int {
	t.Helper()
	tx, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	var plan []struct{ Plan explained }
	var text string
	if err := tx.QueryRow(t.Context(), "explain (analyze, buffers, format json) "+sql, args...).Scan(&text); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &plan); err != nil || len(plan) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	return plan[0].Plan.blocks()
}

// TestCostIsFlat: what the server touches to commit one row does not depend on how many there are, whether it knows how
// large its tables are or not. Time would say the same on a machine with nothing else to do.
func TestCostIsFlat(t *testing.T) {
	t.Parallel()
	type cost struct{ fetch, change int }
	measure := func(n int, analyze bool) cost {
		url := pgtest.Start(t).Schema(t)
		s := opened(t, url)
		lease, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r"})
		if err != nil {
			t.Fatal(err)
		}
		rows := make([]statestore.Row, n)
		for i := range rows {
			rows[i] = plainRow(i, 0)
		}
		if _, err := s.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Put: rows}); err != nil {
			t.Fatal(err)
		}
		if analyze {
			pgtest.Exec(t, url, "analyze stages", "analyze records")
		}
		var c cost
		// What a commit reads and writes, taken from one that is under way.
		batch := statestore.Batch{Seq: 2, Renew: true, Put: []statestore.Row{plainRow(n/2, 1)}, Events: []statestore.Event{{Seq: 1, Body: []byte("e")}}}
		spy := ledger.Operations{World: s.ops.World, Backend: spying{backend{store: s}, func(tx *tables, wants []ledger.Want) {
			args, _ := tx.changeArgs()
			c.fetch = blocks(t, s, s.sql.fetch, fetchArgs(stage, wants))
			c.change = blocks(t, s, s.sql.change, append(args, tx.at.stage, tx.at.number))
		}}}
		if _, err := spy.Commit(t.Context(), lease, batch); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, analyze := range []bool{false, true} {
		small, large := measure(100, analyze), measure(10_000, analyze)
		t.Logf("analyzed %t: %+v pages among 100 rows, %+v among 10,000", analyze, small, large)
		// An index over a hundred times as many records is a level deeper.
		if large.fetch > 2*small.fetch || large.change > 2*small.change {
			t.Errorf("analyzed %t: %+v pages among 100 rows, %+v among 10,000", analyze, small, large)
		}
	}
}

// spying is a backend that shows each transaction before it is written.
type spying struct {
	backend
	look func(tx *tables, wants []ledger.Want)
}

func (s spying) Update(ctx context.Context, stage statestore.Stage, makeIt bool, wants []ledger.Want, write func(ledger.Tx) (bool, error)) error {
	return s.backend.Update(ctx, stage, makeIt, wants, func(tx ledger.Tx) (bool, error) {
		durable, err := write(tx)
		if err == nil {
			s.look(tx.(*tables), wants)
		}
		return durable, err
	})
}
