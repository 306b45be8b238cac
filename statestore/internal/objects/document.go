package objects

import (
	"encoding/json"
	"slices"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/internal/ledger"
	"github.com/athanor-dev/athanor/statestore/internal/rules"
)

// docFormat is the format of segments, event batches and the object of the store. Heads have their own: those of format 2 may
// list segments with earlier versions of the state, which programs that know format 1 alone cannot read.
const (
	docFormat  = 1
	headFormat = 2
)

const (
	keptSwaps     = 32 // the newest swap ids that a head keeps
	inlineRuns    = 4  // the newest runs that a head keeps when a segment can take the others
	inlineBatches = 64 // batches that a head keeps until a segment has to take them
)

// document is the head of a stage: the one object of it that changes.
type document struct {
	Format int              `json:"athanorStage"`
	Store  string           `json:"store"`
	Stage  statestore.Stage `json:"stage"`
	// Revision grows with every swap. With Nonce, which is random, no two heads have the same bytes: a server accepts a
	// stale ETag again once the bytes, and so the ETag, are the same again.
	Revision uint64 `json:"revision"`
	Nonce    string `json:"nonce"`
	// Swaps are the newest swaps by their random ids: who got no answer finds its own here.
	Swaps []string `json:"swaps"`
	// Lease is the ledger's head: epoch, serial, the run that holds the stage.
	Lease json.RawMessage `json:"lease"`
	// Segments hold the tables, oldest first: a base and what was written after it.
	Segments []segmentRef `json:"segments,omitempty"`
	// Runs are the newest ones, oldest first. The others stand in segments, without those before the epoch Forgotten.
	Runs      []runRef `json:"runs,omitempty"`
	Forgotten uint64   `json:"forgotten,omitempty"`
	// Batches are those of this epoch that no segment holds.
	Batches []batchRef `json:"batches,omitempty"`
	// Sealed says that segments and events are sealed under the stage's key, of this id.
	Sealed string `json:"sealed,omitempty"`
	// Ring is the wrapped ring of keys of a sealed stage; it opens nothing without one of the ways that open it.
	Ring []byte `json:"ring,omitempty"`
}

// segmentRef names a segment. Merged is the number of segments that were merged into it, 0 for the changes of one batch.
type segmentRef struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	Merged int    `json:"merged,omitempty"`
}

// runRef is a run with the newest batch of it that was committed.
type runRef struct {
	Epoch uint64          `json:"epoch"`
	Seq   uint64          `json:"seq"`
	Run   json.RawMessage `json:"run"`
}

type batchRef struct {
	Seq    uint64 `json:"seq"`
	Digest []byte `json:"digest"`
}

// tenure is the ledger's head as it stands in the document.
func (d *document) tenure() (rules.Head, error) {
	var h rules.Head
	if len(d.Lease) == 0 {
		return h, nil
	}
	err := json.Unmarshal(d.Lease, &h)
	return h, err
}

// clone is a copy whose lists can be changed.
func (d *document) clone() *document {
	c := *d
	c.Swaps, c.Segments = slices.Clone(d.Swaps), slices.Clone(d.Segments)
	c.Runs, c.Batches = slices.Clone(d.Runs), slices.Clone(d.Batches)
	return &c
}

// names are the names of the segments, in order.
func (d *document) names() []string {
	names := make([]string, len(d.Segments))
	for i, s := range d.Segments {
		names[i] = s.Name
	}
	return names
}

// run returns where a run stands in the document, or where it belongs.
func (d *document) run(epoch uint64) (at int, found bool) {
	return slices.BinarySearchFunc(d.Runs, epoch, func(r runRef, epoch uint64) int {
		switch {
		case r.Epoch < epoch:
			return -1
		case r.Epoch > epoch:
			return 1
		}
		return 0
	})
}

// parse reads a head. The error is a *statestore.DamagedError or a *statestore.NewerError.
func parse(stage statestore.Stage, place string, body []byte) (*document, error) {
	d := new(document)
	err := json.Unmarshal(body, d)
	switch {
	case err != nil:
	case d.Format > headFormat:
		return nil, &statestore.NewerError{Path: place, Have: uint64(d.Format), Known: headFormat}
	case d.Format < docFormat || d.Stage != stage:
		err = errShape
	default:
		_, err = d.tenure()
	}
	if err != nil {
		return nil, &statestore.DamagedError{Stage: stage, Err: err}
	}
	return d, nil
}

// frameOf and payloadOf change between the ledger's records and the JSON in a head, which people can read.
func frameOf(key []byte, payload json.RawMessage) []byte {
	if len(payload) == 0 {
		return nil
	}
	return ledger.Frame(key, payload)
}

func payloadOf(key, record []byte) (json.RawMessage, error) { return ledger.Unframe(key, record) }
