package bolt

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/statestore"
)

var stage = statestore.Stage{Stack: "shop", Name: "test"}

// plain is a row of about the size that a real one has.
func plain(n int, version uint64) statestore.Row {
	address := fmt.Sprintf("net/row-%06d", n)
	row := statestore.Row{
		Address: address, Version: version, Birth: address, Body: make([]byte, 400),
		Generations: []statestore.Generation{{
			Number: 1, State: statestore.Live, Kind: "aws.sqs.Queue", Identity: "https://sqs.eu-north-1.amazonaws.com/1/" + address,
			Place: statestore.Place{Provider: "aws", Account: "123456789012", Region: "eu-north-1"}, Body: make([]byte, 400), Written: time.Unix(1, 0),
		}},
	}
	if n > 0 {
		row.Needs = []string{fmt.Sprintf("net/row-%06d", n/2)}
	}
	return row
}

// filled is a store with n rows and a run that holds it.
func filled(b *testing.B, n int, options ...Option) (*Store, statestore.Lease) {
	s, err := Open(filepath.Join(b.TempDir(), "state.db"), options...)
	if err != nil {
		b.Fatal(err)
	}
	lease, err := s.Acquire(b.Context(), stage, statestore.Claim{Run: "r", TTL: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	rows := make([]statestore.Row, n)
	for i := range rows {
		rows[i] = plain(i, 0)
	}
	if lease, err = s.Commit(b.Context(), lease, statestore.Batch{Seq: 1, Put: rows}); err != nil {
		b.Fatal(err)
	}
	return s, lease
}

// BenchmarkCommit is one durable commit of one row: flat, whatever the number of rows.
func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		for _, freelist := range []bbolt.FreelistType{bbolt.FreelistMapType, bbolt.FreelistArrayType} {
			b.Run(fmt.Sprintf("rows=%d/freelist=%s", n, freelist), func(b *testing.B) {
				s, lease := filled(b, n, func(s *Store) { s.freelist = freelist })
				versions := make([]uint64, n)
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					k := i * 7919 % n
					versions[k]++
					if _, err := s.Commit(b.Context(), lease, statestore.Batch{Seq: uint64(i + 2), Put: []statestore.Row{plain(k, versions[k])}}); err != nil {
						b.Fatal(err)
					}
					i++
				}
				b.ReportMetric(float64(i)/b.Elapsed().Seconds(), "commits/s")
			})
		}
	}
}

// BenchmarkMergedCommit is one durable commit of a thousand rows among ten thousand: neighbors, or
// every tenth, which touches nearly every page of the file.
func BenchmarkMergedCommit(b *testing.B) {
	for name, stride := range map[string]int{"neighbors": 1, "scattered": 10} {
		b.Run(name, func(b *testing.B) {
			s, lease := filled(b, 10_000)
			b.ReportAllocs()
			seq, version := uint64(1), uint64(0)
			for b.Loop() {
				rows := make([]statestore.Row, 1000)
				version++
				for i := range rows {
					rows[i] = plain(i*stride, version)
				}
				seq++
				if _, err := s.Commit(b.Context(), lease, statestore.Batch{Seq: seq, Put: rows}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLoad reads ten thousand rows, opening the file included.
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

// BenchmarkJournal is what many goroutines get out of the merged commits.
func BenchmarkJournal(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "state.db"))
	if err != nil {
		b.Fatal(err)
	}
	j, err := statestore.Begin(b.Context(), s, stage, statestore.Claim{Run: "r"})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	next := make(chan int, 1)
	next <- 0
	b.SetParallelism(50)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := <-next
			next <- n + 1
			if err := j.Commit(b.Context(), statestore.Change{Put: []statestore.Row{plain(n, 0)}}); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/float64(j.Commits()), "rows/commit")
}
