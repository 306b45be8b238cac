// Package ledger is a whole store over any ordered set of keys and values: how a stage is laid out in
// tables, and what each operation of the contract reads and writes there, in one transaction each.
//
// It does not know where the tables are kept, nor how a transaction becomes durable; the stores that
// use it do, and nothing else, so that they cannot drift apart.
package ledger

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/host"
	"github.com/athanor-dev/athanor/statestore/internal/rules"
)

// Table is one of the ordered tables of a stage.
type Table string

// The tables. Keys are injective: whatever is followed by something else carries its length.
const (
	Heads   Table = "head"    // "head" → the head
	Rows    Table = "rows"    // address → row
	Owners  Table = "owners"  // place, kind, identity → address
	Needed  Table = "needed"  // needed address, address of the row that needs it → nothing
	Facts   Table = "facts"   // "o" → outputs; "m" name → meta
	Runs    Table = "runs"    // epoch → run
	Events  Table = "events"  // epoch, sequence → body
	Batches Table = "batches" // sequence → digest, of the newest epoch only
	Past    Table = "past"    // epoch, table, key → the entry before that run; see past.go
)

// Tables lists them all.
func Tables() []Table {
	return []Table{Heads, Rows, Owners, Needed, Facts, Runs, Events, Batches, Past}
}

// Tx is one transaction on one stage. What Get and Ascend give is valid until the next write and must
// not be changed. Nothing may be written while an Ascend is going on.
type Tx interface {
	Get(table Table, key []byte) []byte // nil when there is none
	Put(table Table, key, value []byte) error
	Delete(table Table, key []byte) error
	// Clear deletes every key that begins with prefix. Such a key is not written in the same transaction.
	Clear(table Table, prefix []byte) error
	// Ascend walks, in order, the keys that begin with prefix and do not come before from.
	Ascend(table Table, prefix, from []byte) iter.Seq2[[]byte, []byte]
}

// Remote is a Tx on another machine: each reading is a round trip, and all clients share the clock of the store.
type Remote interface {
	Tx
	// Expect says what the next steps are going to read, so that it comes in one round trip.
	Expect(wants []Want)
	// Last is the last keys of a table in order, at most so many.
	Last(table Table, n int) [][]byte
	// Now is the time by the store's clock.
	Now() time.Time
}

// Want names what is going to be read: one key of a table, or every key that begins with it.
type Want struct {
	Table Table
	Key   []byte
	All   bool
	Last  int // with All and no key: so many from the end; 0: no limit
}

// Stage is one stage in one transaction.
type Stage struct {
	Name  statestore.Stage
	Tx    Tx
	World host.World
	// Keep is how many versions are kept before the newest one; 0 is the default.
	Keep int

	past *rules.Version // what is written was otherwise in this version, which is kept; nil for none
}

// HeadKey is the one key in the table of heads.
const HeadKey = "head"

// head reads the head; a stage that was never written has an empty one.
func (s *Stage) head() (*rules.Head, error) {
	h := new(rules.Head)
	if err := s.getJSON(Heads, []byte(HeadKey), h); err != nil && !errors.Is(err, errAbsent) {
		return nil, &statestore.DamagedError{Stage: s.Name, Err: err}
	}
	return h, nil
}

func (s *Stage) putHead(h *rules.Head) error { return s.putJSON(Heads, []byte(HeadKey), h) }

var errAbsent = errors.New("no such entry")

func (s *Stage) getJSON(table Table, key []byte, into any) error {
	value := s.Tx.Get(table, key)
	if value == nil {
		return errAbsent
	}
	payload, err := unframe(key, value)
	if err != nil {
		return err
	}
	return json.Unmarshal(payload, into)
}

func (s *Stage) putJSON(table Table, key []byte, value any) error {
	payload, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.Tx.Put(table, key, frame(key, payload))
}

// expect reads ahead where reading one by one would be slow.
func (s *Stage) expect(wants ...Want) {
	if remote, ok := s.Tx.(Remote); ok && len(wants) > 0 {
		remote.Expect(wants)
	}
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func eventKey(epoch, seq uint64) []byte { return binary.BigEndian.AppendUint64(number(epoch), seq) }

// parts joins strings, each with its length.
func parts(list ...string) []byte {
	var key []byte
	for _, part := range list {
		key = binary.AppendUvarint(key, uint64(len(part)))
		key = append(key, part...)
	}
	return key
}

// StageKey is an injective key for the name of a stage.
func StageKey(stage statestore.Stage) []byte { return parts(stage.Stack, stage.Name) }

// ParseStageKey reads it back; false when it is none.
func ParseStageKey(key []byte) (statestore.Stage, bool) {
	r := reader{buf: key}
	stage := statestore.Stage{Stack: r.text(), Name: r.text()}
	return stage, !r.bad && len(r.buf) == 0
}

func neededKey(needed, by string) []byte { return append(parts(needed), by...) }

func ownerKey(g *statestore.Generation) []byte {
	return parts(g.Place.Provider, g.Place.Account, g.Place.Region, g.Kind, g.Identity)
}

// parseOwnerKey reads an owner's key back.
func parseOwnerKey(key []byte) (statestore.Identity, bool) {
	r := reader{buf: key}
	id := statestore.Identity{Place: statestore.Place{Provider: r.text(), Account: r.text(), Region: r.text()}, Kind: r.text(), Identity: r.text()}
	return id, !r.bad && len(r.buf) == 0
}
