// Package tail merges the logs of several resources into one, in the order of their times.
package tail

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// Source is the log of one resource.
type Source struct {
	Address, Kind string
	// Lines are those that are asked for, with every secret of the stage masked. See reconcile.Any.Logs.
	Lines func(ctx context.Context, query reconcile.LogQuery) iter.Seq2[reconcile.LogLine, error]
}

// Line is a line of a log with the address that it is of.
type Line struct {
	Address, Kind string
	reconcile.LogLine
}

// ahead is how many lines of one log are read ahead of the others.
const ahead = 64

// Merge returns the lines of several logs in the order of their times; those of one log stay in its own order. With
// query.Follow it goes on with new lines, as they come, until ctx ends. A log that fails is told of in its turn, by its
// address and the error, and ends; the others go on.
func Merge(ctx context.Context, sources []Source, query reconcile.LogQuery) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var readers sync.WaitGroup
		defer readers.Wait()
		defer cancel()
		logs := make([]*tail, len(sources))
		past := query
		past.Follow = false
		for i, s := range sources {
			logs[i] = &tail{source: s, query: query, lines: make(chan sourced, ahead)}
			readers.Go(func() { logs[i].read(ctx, past, logs[i].lines) })
		}
		if !merge(ctx, logs, yield) || !query.Follow {
			return
		}
		news := make(chan sourced)
		var following sync.WaitGroup
		for _, t := range logs {
			if !t.failed {
				following.Go(func() { t.follow(ctx, news) })
			}
		}
		readers.Go(func() { following.Wait(); close(news) })
		for line := range news {
			if !yield(line.Line, line.err) {
				return
			}
		}
	}
}

// tail is one log that is read.
type tail struct {
	source Source
	query  reconcile.LogQuery
	lines  chan sourced // what is there, to be merged
	failed bool

	// last is the time of the newest line, and newest the lines of that time, which are not to be told twice.
	last   time.Time
	newest map[reconcile.LogLine]int
}

type sourced struct {
	Line
	err error
}

// read sends what a query gives, until ctx ends.
func (t *tail) read(ctx context.Context, query reconcile.LogQuery, to chan<- sourced) {
	defer close(to)
	for line, err := range t.source.Lines(ctx, query) {
		select {
		case to <- t.sourced(line, err):
		case <-ctx.Done():
			return
		}
	}
}

func (t *tail) sourced(line reconcile.LogLine, err error) sourced {
	return sourced{Line{t.source.Address, t.source.Kind, line}, err}
}

// merge yields what is there, the oldest first. It waits for the next line of every log before it decides. It reports
// whether more is wanted.
func merge(ctx context.Context, logs []*tail, yield func(Line, error) bool) bool {
	heads := make([]*sourced, len(logs))
	for {
		oldest := -1
		for i, t := range logs {
			if heads[i] == nil && t.lines != nil {
				line, ok := <-t.lines
				if !ok {
					t.lines = nil
					continue
				}
				heads[i] = &line
			}
			if heads[i] != nil && (oldest < 0 || heads[i].Time.Before(heads[oldest].Time)) {
				oldest = i
			}
		}
		if oldest < 0 {
			return ctx.Err() == nil
		}
		line, t := heads[oldest], logs[oldest]
		heads[oldest] = nil
		if line.err != nil {
			t.failed = true
		} else {
			t.told(line.LogLine)
		}
		if !yield(line.Line, line.err) {
			return false
		}
	}
}

// told remembers the newest lines.
func (t *tail) told(line reconcile.LogLine) {
	if t.newest == nil || line.Time.After(t.last) {
		t.last, t.newest = line.Time, map[reconcile.LogLine]int{}
	}
	if line.Time.Equal(t.last) {
		t.newest[plainTime(line)]++
	}
}

// plainTime is a line that can be compared: equal times of different spelling are equal.
func plainTime(line reconcile.LogLine) reconcile.LogLine {
	line.Time = time.Time{}
	return line
}

// follow sends what comes after what was told. It asks from the time of the newest line on, so that nothing falls between.
func (t *tail) follow(ctx context.Context, to chan<- sourced) {
	query := t.query
	if !t.last.IsZero() {
		query.Since = t.last
	}
	for line, err := range t.source.Lines(ctx, query) {
		if err == nil && t.again(line) {
			continue
		}
		select {
		case to <- t.sourced(line, err):
		case <-ctx.Done():
			return
		}
	}
}

// again reports a line that was told already.
func (t *tail) again(line reconcile.LogLine) bool {
	if line.Time.Equal(t.last) && t.newest[plainTime(line)] > 0 {
		t.newest[plainTime(line)]--
		return true
	}
	return line.Time.Before(t.last)
}
