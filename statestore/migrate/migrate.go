// Package migrate moves stages from one store to another.
//
// It knows what the record of a stage is made of, that it arrives whole or not at all, and how those who still use the old
// store are told. It does not know what the sealed parts mean, nor which stores there are.
package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
)

// Move says how stages are moved.
type Move struct {
	From, To statestore.Store
	// Where names the new store to those who still use the old one, without passwords.
	Where string
	// User is who moves, as in a [statestore.Claim]; NewRun makes ids of runs.
	User   string
	NewRun func() string
}

// Moved is what became of a stage.
type Moved struct {
	Rows int
	// Already: an earlier run has moved it.
	Already bool
}

// forever is the life of the run that holds a stage at the old store after it was moved.
const forever = 10 * 365 * 24 * time.Hour

// OccupiedError says that the new store has another record of the stage.
type OccupiedError struct{ Stage statestore.Stage }

func (e *OccupiedError) Error() string {
	return fmt.Sprintf("%s: the new store has a record of its own, which differs from that of the old one", e.Stage)
}

// DamagedError says that the record of a stage cannot be read whole. Nothing of it is moved.
type DamagedError struct {
	Stage statestore.Stage
	Parts []string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s: it is damaged at the old store: %s", e.Stage, strings.Join(e.Parts, ", "))
}

// DifferentError says that the new store gave back another record than it was given.
type DifferentError struct{ Stage statestore.Stage }

func (e *DifferentError) Error() string {
	return fmt.Sprintf("%s: what the new store gives back is not what it was given; the old store stays held", e.Stage)
}

// command is the command of the run that holds a moved stage at the old store: every refusal there shows it.
func (m *Move) command() string { return statestore.MovedCommand(m.Where) }

// Stage moves one stage: it holds the stage at the old store for good, writes all of its record into the new one in one commit,
// and compares. It can be cut anywhere and done again: it then goes on. An error before the record was written leaves the
// stage at the old store free.
func (m *Move) Stage(ctx context.Context, stage statestore.Stage) (Moved, error) {
	snap, err := m.From.Load(ctx, stage)
	if err != nil {
		return Moved{}, err
	}
	there, err := m.To.Load(ctx, stage)
	if err != nil {
		return Moved{}, err
	}
	ours := snap.Holder != nil && snap.Holder.Command == m.command()
	if ours && !blank(there) {
		if done, err := m.done(ctx, snap, there); err != nil || done {
			return Moved{len(snap.Rows), true}, err
		}
	}
	if err := m.fits(snap, there); err != nil {
		return Moved{}, err
	}
	if ours {
		return m.write(ctx, snap, there)
	}
	lease, err := m.hold(ctx, stage)
	if err != nil {
		return Moved{}, err
	}
	moved, err := m.held(ctx, stage)
	if err != nil && (statestore.Refused(err) || errors.As(err, new(*unwritten))) {
		ending, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer stop()
		if _, freeing := m.From.Commit(ending, lease, statestore.Batch{Seq: 1, Finish: statestore.Failed}); freeing != nil {
			err = errors.Join(err, freeing)
		}
	}
	return moved, err
}

// done reports whether a stage that is held at the old store was written at the new one, where runs may have changed it since.
func (m *Move) done(ctx context.Context, snap, there *statestore.Snapshot) (bool, error) {
	if Same(snap, there) {
		return true, nil
	}
	runs, err := m.To.Runs(ctx, snap.Stage, 0)
	return slices.ContainsFunc(runs, func(r statestore.Run) bool { return r.Command == arrival && r.State == statestore.Succeeded }), err
}

// arrival is the command of the run that writes a record at the new store.
const arrival = "migrate"

// held reads both records again, which nobody changes at the old store any more, and writes.
func (m *Move) held(ctx context.Context, stage statestore.Stage) (Moved, error) {
	snap, err := m.From.Load(ctx, stage)
	if err != nil {
		return Moved{}, &unwritten{err}
	}
	there, err := m.To.Load(ctx, stage)
	if err == nil {
		err = m.fits(snap, there)
	}
	if err != nil {
		return Moved{}, &unwritten{err}
	}
	return m.write(ctx, snap, there)
}

// unwritten is an error before anything was sent to the new store.
type unwritten struct{ error }

func (e *unwritten) Unwrap() error { return e.error }

// hold takes the lease of a stage at the old store, for a run that never ends. It is not tied to this process, so that the
// end of this process does not free the stage.
func (m *Move) hold(ctx context.Context, stage statestore.Stage) (statestore.Lease, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return m.From.Acquire(ctx, stage, statestore.Claim{
		Run: m.NewRun(), Command: m.command(), User: m.User, TTL: forever, For: &statestore.Client{Host: host, PID: os.Getpid()},
	})
}

// fits refuses what cannot be moved whole, and a new store that has another record.
func (m *Move) fits(snap, there *statestore.Snapshot) error {
	var broken []string
	for address := range snap.Damaged {
		broken = append(broken, address)
	}
	for range snap.DamagedFacts {
		broken = append(broken, "a fact of the stage")
	}
	if len(broken) > 0 {
		slices.Sort(broken)
		return &DamagedError{snap.Stage, broken}
	}
	if !blank(there) && !Same(snap, there) {
		return &OccupiedError{snap.Stage}
	}
	return nil
}

// write writes the record at the new store, unless it is there, and compares what the store gives back.
func (m *Move) write(ctx context.Context, snap, there *statestore.Snapshot) (Moved, error) {
	moved := Moved{Rows: len(snap.Rows)}
	if !Same(snap, there) {
		facts, err := m.facts(ctx, snap)
		if err != nil {
			return Moved{}, &unwritten{err}
		}
		lease, err := m.To.Acquire(ctx, snap.Stage, statestore.Claim{Run: m.NewRun(), Command: arrival, User: m.User})
		if err != nil {
			return Moved{}, &unwritten{err}
		}
		batch := statestore.Batch{Seq: 1, Meta: facts, Outputs: snap.Outputs, KeyID: snap.KeyID, Finish: statestore.Succeeded}
		for _, row := range snap.Rows {
			row.Version = 0
			batch.Put = append(batch.Put, row)
		}
		slices.SortFunc(batch.Put, func(a, b statestore.Row) int { return strings.Compare(a.Address, b.Address) })
		if _, err := m.To.Commit(ctx, lease, batch); err != nil {
			return Moved{}, err
		}
	}
	there, err := m.To.Load(ctx, snap.Stage)
	if err == nil && !Same(snap, there) {
		err = &DifferentError{snap.Stage}
	}
	return moved, err
}

// facts are the facts of a stage with the id of the store in which its objects were tagged.
func (m *Move) facts(ctx context.Context, snap *statestore.Snapshot) (map[string][]byte, error) {
	facts := maps.Clone(snap.Meta)
	if facts == nil {
		facts = map[string][]byte{}
	}
	if facts[keeper.StoreFact] != nil { // it moved before
		return facts, nil
	}
	id, err := m.From.ID(ctx)
	facts[keeper.StoreFact] = []byte(id)
	return facts, err
}

// blank reports whether a stage was never written.
func blank(s *statestore.Snapshot) bool {
	return len(s.Rows)+len(s.Damaged)+len(s.DamagedFacts)+len(s.Meta) == 0 && s.Outputs == nil && s.KeyID == ""
}

// Same reports whether two snapshots are of the same record. What a store gives of itself (versions, times, runs) is not of it,
// nor where a stage moved from.
func Same(a, b *statestore.Snapshot) bool { return bytes.Equal(record(a), record(b)) }

// record is the record of a stage in one form.
func record(s *statestore.Snapshot) []byte {
	rows := make([]statestore.Row, 0, len(s.Rows))
	for _, row := range s.Rows {
		row.Version, row.Written = 0, time.Time{}
		row.Needs, row.Body = append([]string{}, row.Needs...), append([]byte{}, row.Body...)
		row.Generations = slices.Clone(row.Generations)
		for i := range row.Generations {
			g := &row.Generations[i]
			g.Written, g.Body = g.Written.UTC().Truncate(time.Microsecond), append([]byte{}, g.Body...)
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b statestore.Row) int { return strings.Compare(a.Address, b.Address) })
	meta := map[string][]byte{}
	maps.Copy(meta, s.Meta) // none at all is the same as an empty one
	delete(meta, keeper.StoreFact)
	data, err := json.Marshal(struct {
		Rows    []statestore.Row
		Meta    map[string][]byte
		Outputs []byte
		KeyID   string
		Damaged int
	}{rows, meta, s.Outputs, s.KeyID, len(s.Damaged) + len(s.DamagedFacts)})
	if err != nil {
		panic("athanor: a record cannot be encoded: " + err.Error()) // its parts are texts, numbers and bytes
	}
	return data
}
