package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

// Sequence decides what a batch is to the newest one: the next (false), a replay (true), or an error. Stored
// is the digest kept for its sequence, nil when there is none.
func Sequence(t *Tenure, seq uint64, digest, stored []byte) (replay bool, err error) {
	switch {
	case seq == t.Seq+1:
		return false, nil
	case seq > 0 && seq <= t.Seq && bytes.Equal(digest, stored):
		return true, nil
	}
	return false, &statestore.ReplayError{Seq: seq, Next: t.Seq + 1}
}

// CheckBatch refuses what has no valid structure, before any row is read.
func CheckBatch(b *statestore.Batch) error {
	if b.Finish != "" && b.Finish != statestore.Succeeded && b.Finish != statestore.Failed && b.Finish != statestore.Cancelled {
		return &statestore.InvalidError{Rule: "a run cannot finish as " + string(b.Finish)}
	}
	if !b.Renew && b.Finish == "" && len(b.Put) == 0 && len(b.Move) == 0 && len(b.Meta) == 0 &&
		b.Outputs == nil && b.KeyID == "" && len(b.Events) == 0 {
		return &statestore.InvalidError{Rule: "an empty batch does not even renew"}
	}
	seen := make(map[string]bool, len(b.Put))
	for i := range b.Put {
		row := &b.Put[i]
		if err := row.Check(); err != nil {
			return err
		}
		if seen[row.Address] {
			return &statestore.InvalidError{Address: row.Address, Rule: "a batch puts one row twice"}
		}
		seen[row.Address] = true
	}
	for name := range b.Meta {
		if len(name) > statestore.MaxAddress {
			return &statestore.InvalidError{Rule: "the name of a stage-wide fact is too long"}
		}
	}
	return checkMove(b.Move)
}

func checkMove(move map[string]string) error {
	taken := make(map[string]bool, len(move))
	for from, to := range move {
		switch {
		case from == "" || to == "" || len(to) > statestore.MaxAddress:
			return &statestore.InvalidError{Address: from, Rule: "a move has an empty or too long address"}
		case taken[to]:
			return &statestore.InvalidError{Address: to, Rule: "two rows move to one address"}
		}
		taken[to] = true
	}
	return nil
}

// Digest is the same for the same content of a batch and differs for any other.
func Digest(b *statestore.Batch) []byte {
	d := digester{sum: sha256.New(), buf: make([]byte, 0, 1024)}
	d.number(b.Seq)
	d.number(uint64(len(b.Put)))
	for i := range b.Put {
		d.row(&b.Put[i])
	}
	d.number(uint64(len(b.Move)))
	for _, from := range slices.Sorted(maps.Keys(b.Move)) {
		d.text(from, b.Move[from])
	}
	d.number(uint64(len(b.Meta)))
	for _, name := range slices.Sorted(maps.Keys(b.Meta)) {
		d.text(name)
		d.optional(b.Meta[name])
	}
	d.optional(b.Outputs)
	d.text(b.KeyID, string(b.Finish))
	d.number(uint64(len(b.Events)))
	for _, event := range b.Events {
		d.number(event.Seq)
		d.bytes(event.Body)
	}
	d.flag(b.Renew)
	d.bytes(b.Summary)
	d.sum.Write(d.buf)
	return d.sum.Sum(nil)[:16]
}

// digestChunk is how much is gathered before it is hashed: large batches never stand in memory twice.
const digestChunk = 4096

// digester writes values so that different lists of values never give the same bytes.
type digester struct {
	sum hash.Hash
	buf []byte
}

func (d *digester) number(n uint64) { d.buf = binary.AppendUvarint(d.buf, n) }

func (d *digester) bytes(b []byte) {
	d.number(uint64(len(b)))
	if len(d.buf)+len(b) > digestChunk {
		d.sum.Write(d.buf)
		d.sum.Write(b)
		d.buf = d.buf[:0]
		return
	}
	d.buf = append(d.buf, b...)
}

func (d *digester) text(parts ...string) {
	for _, part := range parts {
		d.number(uint64(len(part)))
		d.buf = append(d.buf, part...) // names are short; bytes empties the buffer
	}
}

func (d *digester) flag(set bool) {
	if set {
		d.number(1)
	} else {
		d.number(0)
	}
}

// optional tells nil from empty, which means something else in a batch.
func (d *digester) optional(b []byte) {
	d.flag(b != nil)
	d.bytes(b)
}

func (d *digester) time(t time.Time) {
	d.buf = binary.AppendVarint(d.buf, t.Unix())
	d.number(uint64(t.Nanosecond()))
}

func (d *digester) row(r *statestore.Row) {
	d.text(r.Address, r.Birth)
	d.number(r.Version)
	d.number(uint64(len(r.Needs)))
	d.text(r.Needs...)
	d.number(uint64(len(r.Generations)))
	for i := range r.Generations {
		g := &r.Generations[i]
		d.number(g.Number)
		d.text(string(g.State), g.Kind, g.Place.Provider, g.Place.Account, g.Place.Region, g.Identity)
		d.number(uint64(g.Slot))
		d.flag(g.Intent)
		d.bytes(g.Body)
		d.time(g.Written)
	}
	d.bytes(r.Body)
}
