package simtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/statestore"
)

// acquire is the event of taking the lease.
const acquire = "acquire"

// store puts the director before a store: each commit is an event, and a process that has ended commits nothing.
type store struct {
	statestore.Store
	d  *Director
	id string
}

// ID is remembered by the machine: a store that was lost and made anew there takes it.
func (s *store) ID(context.Context) (string, error) { return s.id, nil }

func (s *store) Acquire(ctx context.Context, stage statestore.Stage, claim statestore.Claim) (statestore.Lease, error) {
	var lease statestore.Lease
	return lease, s.event([]string{acquire}, func() (err error) {
		lease, err = s.Store.Acquire(ctx, stage, claim)
		return err
	})
}

func (s *store) Commit(ctx context.Context, lease statestore.Lease, batch statestore.Batch) (statestore.Lease, error) {
	next := lease
	return next, s.event(namesOf(batch), func() (err error) {
		next, err = s.Store.Commit(ctx, lease, batch)
		return err
	})
}

// Pace lets a journal collect its next commit when everything else waits: what is queued by then shares the commit.
func (s *store) Pace() { s.d.wait(pace) }

// Runs is asked before each change in the cloud. A process that has ended learns nothing.
func (s *store) Runs(ctx context.Context, stage statestore.Stage, limit int) ([]statestore.Run, error) {
	if s.d.Life().Dead {
		return nil, errCut
	}
	return s.Store.Runs(ctx, stage, limit)
}

// event lets a commit happen, or not. A process that has ended does not learn why.
func (s *store) event(names []string, do func() error) error {
	s.d.wait(names[0])
	fate := Fine
	for _, name := range names {
		if o := s.d.meet(name, Storing); fate == Fine {
			fate = o
		}
	}
	switch fate {
	case Fine:
		return do()
	case AfterStore:
		_ = do() // nobody is left to be told
	default:
	}
	return &statestore.FencedError{Note: errCut.Error()}
}

// namesOf tells a commit by what it says of which address: an event for each row, since which rows share a commit is a
// matter of chance.
func namesOf(b statestore.Batch) []string {
	var names []string
	for _, row := range b.Put {
		names = append(names, "commit "+row.Address+stateOf(row))
	}
	for from, to := range b.Move {
		names = append(names, "commit "+from+"→"+to)
	}
	slices.Sort(names)
	switch {
	case b.Finish != "":
		names = append(names, "commit finish")
	case len(names) == 0 && len(b.Meta) == 0 && b.Outputs == nil:
		names = append(names, "commit renewal")
	case len(names) == 0:
		names = append(names, "commit facts")
	}
	return names
}

// stateOf is a row in short: a letter and a number for each generation, an exclamation point for an intent.
func stateOf(row statestore.Row) string {
	var b strings.Builder
	for _, g := range row.Generations {
		fmt.Fprintf(&b, ":%c%d", g.State[0], g.Number)
		if g.Intent {
			b.WriteByte('!')
		}
	}
	if b.Len() == 0 {
		return ":gone"
	}
	return b.String()
}
