package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

// TestRoundTrips: what a call costs on a slow network, whatever its size. On a fresh connection the driver asks once
// for the types of each statement; these are the costs after that.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	s := opened(t, pgtest.Start(t).Schema(t))
	l := through(t, s)
	var lease statestore.Lease
	seq := uint64(0)
	commit := func(batch statestore.Batch) {
		t.Helper()
		seq++
		batch.Seq, batch.Renew = seq, true
		next, err := s.Commit(t.Context(), lease, batch)
		if err != nil {
			t.Fatal(err)
		}
		lease = next
	}
	begin := func(run string) {
		t.Helper()
		var err error
		if lease, err = s.Acquire(t.Context(), stage, statestore.Claim{Run: run}); err != nil {
			t.Fatal(err)
		}
		seq = 0
	}
	begin("r0") // makes schema, stage and descriptions
	commit(statestore.Batch{Finish: statestore.Succeeded})
	var many []statestore.Row
	for i := range 1000 {
		many = append(many, plainRow(i+1, 0))
	}
	settled := plainRow(5000, 0)
	intent := plainRow(5000, 0)
	intent.Generations[0].Identity, intent.Generations[0].Intent = "", true
	settled.Version = 1
	for _, step := range []struct {
		name string
		want int
		do   func()
	}{
		{"acquire", 3, func() { begin("r1") }},
		{"refused", 1, func() {
			if _, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "r2"}); err == nil {
				t.Error("a second holder")
			}
		}},
		{"renew", 2, func() { commit(statestore.Batch{}) }},
		{"an intent", 2, func() { commit(statestore.Batch{Put: []statestore.Row{intent}}) }},
		{"its result", 2, func() { commit(statestore.Batch{Put: []statestore.Row{settled}, Events: []statestore.Event{{Seq: 1}}}) }},
		{"a thousand rows", 2, func() { commit(statestore.Batch{Put: many}) }},
		{"the removal of rows", 3, func() {
			gone := make([]statestore.Row, 500)
			for i := range gone { // the leaves of the tree that plainRow makes
				gone[i] = statestore.Row{Address: many[500+i].Address, Version: 1}
			}
			commit(statestore.Batch{Put: gone})
		}},
		{"the newest run", 1, func() {
			if runs, err := s.Runs(t.Context(), stage, 1); err != nil || len(runs) != 1 || runs[0].ID != "r1" {
				t.Errorf("%+v, %v", runs, err)
			}
		}},
		{"load", 2, func() {
			if snap, err := s.Load(t.Context(), stage); err != nil || len(snap.Rows) != 501 {
				t.Errorf("%d rows, %v", len(snap.Rows), err)
			}
		}},
		{"finish", 2, func() { commit(statestore.Batch{Finish: statestore.Succeeded}) }},
	} {
		trips, sent := l.count(step.do)
		if trips != step.want {
			t.Errorf("%s: %d round trips, want %d", step.name, trips, step.want)
		}
		t.Logf("%-20s %d round trips, %d bytes sent", step.name, trips, sent)
	}
}

// filled is a store with n rows and a run that holds it.
func filled(b *testing.B, n int) (*Store, statestore.Lease) {
	s := opened(b, pgtest.Start(b).Schema(b))
	lease, err := s.Acquire(b.Context(), stage, statestore.Claim{Run: "r", TTL: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	rows := make([]statestore.Row, n)
	for i := range rows {
		rows[i] = plainRow(i, 0)
	}
	if lease, err = s.Commit(b.Context(), lease, statestore.Batch{Seq: 1, Put: rows}); err != nil {
		b.Fatal(err)
	}
	return s, lease
}

// BenchmarkCommit is one durable commit of one row: flat, whatever the number of rows.
func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			s, lease := filled(b, n)
			versions := make([]uint64, n)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				k := i * 7919 % n
				versions[k]++
				if _, err := s.Commit(b.Context(), lease, statestore.Batch{Seq: uint64(i + 2), Put: []statestore.Row{plainRow(k, versions[k])}}); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.ReportMetric(float64(i)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

// BenchmarkMergedCommit is one durable commit of a thousand rows among ten thousand.
func BenchmarkMergedCommit(b *testing.B) {
	s, lease := filled(b, 10_000)
	b.ReportAllocs()
	seq, version := uint64(1), uint64(0)
	for b.Loop() {
		rows := make([]statestore.Row, 1000)
		version++
		for i := range rows {
			rows[i] = plainRow(i*10, version)
		}
		seq++
		if _, err := s.Commit(b.Context(), lease, statestore.Batch{Seq: seq, Put: rows}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad reads ten thousand rows.
func BenchmarkLoad(b *testing.B) {
	s, _ := filled(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		snap, err := s.Load(b.Context(), stage)
		if err != nil || len(snap.Rows) != 10_000 {
			b.Fatal(err)
		}
	}
}
