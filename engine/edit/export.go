package edit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// exportFormat is the version of the export document.
const exportFormat = 1

// Export is the whole record of one stage as a document. The same record gives the same document, but for From.
type Export struct {
	Format int    `json:"format"`
	Stack  string `json:"stack"`
	Stage  string `json:"stage"`
	// From says which version of which store it was read from.
	From ExportSource `json:"from"`
	// Key names the stage key that the sealed parts need, "" when nothing is sealed.
	Key     string          `json:"key,omitempty"`
	Outputs *Part           `json:"outputs,omitempty"`
	Facts   map[string]Part `json:"facts,omitempty"`
	Rows    []ExportedRow   `json:"rows"`
}

// ExportSource is one version of one store.
type ExportSource struct {
	Store  string `json:"store"`
	Serial uint64 `json:"serial"`
}

// Part is something that the store keeps sealed: as it is there, or opened. One of both is set.
type Part struct {
	Sealed []byte          `json:"sealed,omitempty"`
	Open   json.RawMessage `json:"open,omitempty"`
}

// ExportedRow is one row. What the store itself counts and dates is left out.
type ExportedRow struct {
	Address     string               `json:"address"`
	Birth       string               `json:"birth,omitempty"`
	Needs       []string             `json:"needs,omitempty"`
	Generations []ExportedGeneration `json:"generations,omitempty"`
	Body        *Part                `json:"body,omitempty"`
	// Problem is why the row cannot be read. Its physical identities are in Generations all the same.
	Problem string `json:"problem,omitempty"`
}

// ExportedGeneration is one object of a row.
type ExportedGeneration struct {
	Number   uint64           `json:"generation,omitempty"`
	State    statestore.State `json:"state,omitempty"`
	Slot     int              `json:"slot,omitempty"`
	Kind     string           `json:"kind"`
	Place    reconcile.Place  `json:"place"`
	Identity string           `json:"identity,omitempty"`
	Intent   bool             `json:"intent,omitempty"`
	Written  time.Time        `json:"written,omitzero"`
}

// Sealed reports whether any part of the document needs its key.
func (doc *Export) Sealed() bool {
	sealed := func(p *Part) bool { return p != nil && len(p.Sealed) > 0 }
	for _, p := range doc.Facts {
		if sealed(&p) {
			return true
		}
	}
	return sealed(doc.Outputs) || slices.ContainsFunc(doc.Rows, func(r ExportedRow) bool { return sealed(r.Body) })
}

// ExportOf reads the whole state of a stage at once, as Export of the engine says.
func ExportOf(ctx context.Context, e *planner.Planner, stage statestore.Stage, reveal bool) (*Export, error) {
	snap, err := e.Store.Load(ctx, stage)
	if err != nil {
		return nil, err
	}
	if err := e.Key.Check(snap.KeyID); err != nil {
		return nil, err
	}
	doc := &Export{Format: exportFormat, Stack: stage.Stack, Stage: stage.Name, Key: snap.KeyID, Rows: []ExportedRow{}}
	doc.From.Serial = snap.Serial
	if doc.From.Store, err = e.Store.ID(ctx); err != nil {
		return nil, err
	}
	if doc.Outputs, err = documentsOf(e, stage).part("\x00outputs", snap.Outputs, reveal); err != nil {
		return nil, fmt.Errorf("outputs: %w", err)
	}
	for name, sealed := range snap.Meta {
		part, err := documentsOf(e, stage).part("\x00"+name, sealed, reveal)
		if err != nil {
			return nil, fmt.Errorf("the fact %s: %w", name, err)
		}
		if doc.Facts == nil {
			doc.Facts = map[string]Part{}
		}
		doc.Facts[name] = *part
	}
	for _, row := range snap.Rows {
		doc.Rows = append(doc.Rows, documentsOf(e, stage).exported(row, reveal))
	}
	for addr, damage := range snap.Damaged {
		doc.Rows = append(doc.Rows, exportedDamage(addr, damage))
	}
	slices.SortFunc(doc.Rows, func(a, b ExportedRow) int { return cmp.Compare(a.Address, b.Address) })
	return doc, nil
}

// documents writes and reads the sealed parts of one stage.
type documents struct {
	key   *seal.Key
	stage statestore.Stage
}

func documentsOf(e *planner.Planner, stage statestore.Stage) documents {
	return documents{e.Key, stage}
}

// part is one sealed part, nil when there is none. A sealed one is opened all the same: what is exported can be read.
func (d documents) part(what string, sealed []byte, reveal bool) (*Part, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	plain, err := d.key.Open(sealed, state.Binding(d.stage, what))
	if err != nil {
		return nil, err
	}
	if reveal {
		return &Part{Open: plain}, nil
	}
	return &Part{Sealed: sealed}, nil
}

func (d documents) exported(row statestore.Row, reveal bool) ExportedRow {
	out := ExportedRow{Address: row.Address, Birth: row.Birth, Needs: row.Needs}
	for _, g := range row.Generations {
		out.Generations = append(out.Generations, ExportedGeneration{
			Number: g.Number, State: g.State, Slot: g.Slot, Kind: g.Kind, Place: reconcile.Place(g.Place), Identity: g.Identity,
			Intent: g.Intent, Written: g.Written.UTC(),
		})
	}
	_, err := state.Open(row, d.stage, d.key)
	if err == nil {
		out.Body, err = d.part(row.Birth, row.Body, reveal)
	}
	if err != nil {
		out.Problem, out.Body = err.Error(), &Part{Sealed: row.Body}
	}
	return out
}

func exportedDamage(addr string, damage *statestore.DamagedError) ExportedRow {
	out := ExportedRow{Address: addr, Problem: damage.Err.Error()}
	for _, id := range damage.Identities {
		out.Generations = append(out.Generations, ExportedGeneration{Kind: id.Kind, Place: reconcile.Place(id.Place), Identity: id.Identity})
	}
	return out
}

// SealedState is what a document holds sealed, as a store keeps it: for who seals it again.
func (doc *Export) SealedState() *statestore.Snapshot {
	snap := &statestore.Snapshot{
		Stage: statestore.Stage{Stack: doc.Stack, Name: doc.Stage}, KeyID: doc.Key,
		Rows: make(map[string]statestore.Row, len(doc.Rows)), Meta: map[string][]byte{},
	}
	if doc.Outputs != nil {
		snap.Outputs = doc.Outputs.Sealed
	}
	for name, part := range doc.Facts {
		if len(part.Sealed) > 0 {
			snap.Meta[name] = part.Sealed
		}
	}
	for i := range doc.Rows {
		in := &doc.Rows[i]
		if in.Body != nil && len(in.Body.Sealed) > 0 {
			snap.Rows[in.Address] = statestore.Row{
				Address: in.Address, Birth: in.Birth, Needs: in.Needs, Generations: in.generations(), Body: in.Body.Sealed,
			}
		}
	}
	return snap
}

// SealedAgain is the document with what another key sealed.
func (doc *Export) SealedAgain(snap *statestore.Snapshot) *Export {
	next := *doc
	next.Key, next.Rows, next.Facts = snap.KeyID, slices.Clone(doc.Rows), maps.Clone(doc.Facts)
	if len(snap.Outputs) > 0 {
		next.Outputs = &Part{Sealed: snap.Outputs}
	}
	for name, sealed := range snap.Meta {
		next.Facts[name] = Part{Sealed: sealed}
	}
	for i := range next.Rows {
		if row, there := snap.Rows[next.Rows[i].Address]; there {
			next.Rows[i].Body = &Part{Sealed: row.Body}
		}
	}
	return &next
}

// ReadExport reads an export document. Unknown fields and other formats are errors.
func ReadExport(data []byte) (*Export, error) {
	var doc Export
	if err := plan.DecodeWhole(data, &doc); err != nil {
		return nil, fmt.Errorf("export document: %w", err)
	}
	if doc.Format != exportFormat {
		return nil, fmt.Errorf("export document: format %d; this athanor reads format %d", doc.Format, exportFormat)
	}
	return &doc, nil
}
