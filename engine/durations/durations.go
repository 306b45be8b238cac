// Package durations knows how long operations took, and makes of it which work is the most urgent.
//
// It is pure: it reads no clock and no state. A table that is wrong costs time and nothing else, so that whatever cannot be
// read of one is left out.
package durations

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

const (
	// usual is the expected time of an operation of a kind of which nothing is known.
	usual = time.Second
	// untried is that of the first resource of such a kind in a run: it begins early, since it may be the one that takes long.
	untried = time.Minute
	// longest bounds the expected time of one operation, so that sums over long chains do not overflow.
	longest = 24 * time.Hour
)

// Table holds the expected time of each operation of each kind: by kind, then by operation.
type Table map[string]map[string]time.Duration

// Of reads a table from its [Table.Tree].
func Of(tree any) Table {
	t := Table{}
	kinds, _ := tree.(map[string]any)
	for kind, v := range kinds {
		operations, _ := v.(map[string]any)
		for operation, v := range operations {
			if ms, ok := v.(int64); ok && ms >= 0 && ms <= longest.Milliseconds() {
				t.set(kind, operation, time.Duration(ms)*time.Millisecond)
			}
		}
	}
	return t
}

// Tree returns the table as a tree of maps, in whole milliseconds.
func (t Table) Tree() map[string]any {
	tree := make(map[string]any, len(t))
	for kind, operations := range t {
		m := make(map[string]any, len(operations))
		for operation, d := range operations {
			m[operation] = d.Milliseconds()
		}
		tree[kind] = m
	}
	return tree
}

func (t Table) set(kind, operation string, d time.Duration) {
	if t[kind] == nil {
		t[kind] = map[string]time.Duration{}
	}
	t[kind][operation] = min(d, longest).Round(time.Millisecond)
}

// Has reports whether the time of an operation is known.
func (t Table) Has(kind, operation string) bool {
	_, ok := t[kind][operation]
	return ok
}

// expected returns the time of an operation, else the longest of the kind's other operations. It reports false for a kind of
// which nothing is known.
func (t Table) expected(kind, operation string) (time.Duration, bool) {
	operations := t[kind]
	if d, ok := operations[operation]; ok || len(operations) == 0 {
		return d, ok
	}
	return slices.Max(slices.Collect(maps.Values(operations))), true
}

// Taken adds up what operations took in one run. The zero Taken is empty.
type Taken struct{ by map[[2]string]total }

type total struct {
	count int
	sum   time.Duration
}

// Add adds one operation. It reports whether it is the first of its sort.
func (s *Taken) Add(kind, operation string, d time.Duration) (first bool) {
	if s.by == nil {
		s.by = map[[2]string]total{}
	}
	key := [2]string{kind, operation}
	s.by[key] = total{s.by[key].count + 1, s.by[key].sum + max(d, 0)}
	return s.by[key].count == 1
}

// With returns the table with what a run has shown, in equal parts with what was known. It reports whether an expected time
// differs by more than a fifth, so that runs which show nothing new write nothing.
func (t Table) With(run *Taken) (next Table, differs bool) {
	next = make(Table, len(t))
	for kind, operations := range t {
		next[kind] = maps.Clone(operations)
	}
	for key, total := range run.by {
		kind, operation := key[0], key[1]
		d := total.sum / time.Duration(total.count)
		known, ok := t[kind][operation]
		if ok {
			d = (known + d) / 2
		}
		next.set(kind, operation, d)
		differs = differs || !ok || (next[kind][operation]-known).Abs() > known/5
	}
	return next, differs
}

// Work is one operation on one resource.
type Work struct {
	Kind, Operation, Address string
	// After are the indexes of the work that waits for this.
	After []int
}

// Ranks returns for each work the expected time from its begin to the end of all that waits for it. Work that waits for itself
// has the rank 0.
func Ranks(work []Work, known Table) []time.Duration {
	costs := costs(work, known)
	waits, ups := make([]int, len(work)), make([][]int, len(work))
	var ends []int
	for i, w := range work {
		for _, next := range w.After {
			ups[next] = append(ups[next], i)
		}
		if waits[i] = len(w.After); waits[i] == 0 {
			ends = append(ends, i)
		}
	}
	ranks, rest := make([]time.Duration, len(work)), make([]time.Duration, len(work))
	for len(ends) > 0 {
		i := ends[len(ends)-1]
		ends = ends[:len(ends)-1]
		ranks[i] = costs[i] + rest[i]
		for _, up := range ups[i] {
			rest[up] = max(rest[up], ranks[i])
			if waits[up]--; waits[up] == 0 {
				ends = append(ends, up)
			}
		}
	}
	return ranks
}

// costs are the expected times of the work itself.
func costs(work []Work, known Table) []time.Duration {
	costs := make([]time.Duration, len(work))
	first := map[string]int{} // of each kind of which nothing is known, the smallest address
	for i, w := range work {
		d, ok := known.expected(w.Kind, w.Operation)
		if costs[i] = d; ok {
			continue
		}
		costs[i] = usual
		if j, seen := first[w.Kind]; !seen || cmp.Less(w.Address, work[j].Address) {
			first[w.Kind] = i
		}
	}
	for _, i := range first {
		costs[i] = untried
	}
	return costs
}

// Path returns the work that a run waited for, from its first to its last: what ended last, before it what ended last of all that
// it waited for, and so on. Work that has not ended has the zero time and is left out.
func Path(work []Work, ends []time.Time) []int {
	before := make([]int, len(work)) // of each, the one that it waited for last; -1: it waited for none
	for i := range before {
		before[i] = -1
	}
	last := -1
	for i, w := range work {
		if ends[i].IsZero() {
			continue
		}
		if last < 0 || ends[i].After(ends[last]) {
			last = i
		}
		for _, next := range w.After {
			if before[next] < 0 || ends[i].After(ends[before[next]]) {
				before[next] = i
			}
		}
	}
	var path []int
	for i := last; i >= 0 && len(path) < len(work); i = before[i] {
		path = append(path, i)
	}
	slices.Reverse(path)
	return path
}
