package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine/execute"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// ErrSerial is matched by a *SerialError.
var ErrSerial = errors.New("state has another version than the expected one")

// SerialError says that the record which an import would replace is another version than the one meant.
type SerialError struct {
	Stage statestore.Stage
	// Want is the serial that was named or that the document has; Have that of the store.
	Want, Have uint64
	// Elsewhere: the document is from another store, and no serial was named.
	Elsewhere bool
}

func (e *SerialError) Error() string {
	if e.Elsewhere {
		return fmt.Sprintf("%s already has state, at serial %d; the document is of serial %d of another store", e.Stage, e.Have, e.Want)
	}
	return fmt.Sprintf("the state of %s is at serial %d, not %d", e.Stage, e.Have, e.Want)
}

// Is reports ErrSerial.
func (e *SerialError) Is(target error) bool { return target == ErrSerial }

// Import makes the plan of replacing the state of a stage by a document, as PlanImport of the engine says.
func Import(ctx context.Context, e *planner.Planner, stage statestore.Stage, doc *Export, serial *uint64) (*plan.Plan, error) {
	if doc.Stack != stage.Stack || doc.Stage != stage.Name {
		return nil, reconcile.WithHint(fmt.Errorf("the document is of %s/%s, not of %s: its objects have the owner tags of that stage", doc.Stack, doc.Stage, stage),
			"--stack %s --stage %s", doc.Stack, doc.Stage)
	}
	w, err := e.NewEdit(ctx, stage, "")
	if err != nil {
		return nil, err
	}
	if err := meant(w.Stored, doc, serial, w.Store); err != nil {
		return nil, err
	}
	change, err := documentsOf(e, stage).verified(doc)
	if err != nil {
		return nil, err
	}
	actions := importLines(w.Stored, change)
	dropRest(w.Stored, change)
	what := &execute.StateEdit{
		Apply: func(ctx context.Context, r *execute.Run) (statestore.Change, error) {
			return statestore.Change{}, replace(ctx, r, *change)
		},
		More: len(change.Put) > 0 || len(change.Meta) > 0 || change.Outputs != nil,
	}
	return w.EditPlan(actions, what, func(ctx context.Context) (*plan.Plan, error) { return Import(ctx, e, stage, doc, serial) })
}

// meant checks that the record is the version that is to be replaced.
func meant(s *planner.Stored, doc *Export, serial *uint64, store string) error {
	have := s.Snap.Serial
	switch {
	case serial != nil && *serial != have:
		return &SerialError{Stage: s.Snap.Stage, Want: *serial, Have: have}
	case serial != nil, len(s.Known()) == 0:
		return nil
	case doc.From.Store != store:
		return reconcile.WithHint(&SerialError{Stage: s.Snap.Stage, Want: doc.From.Serial, Have: have, Elsewhere: true}, "--serial %d replaces it", have)
	case doc.From.Serial != have:
		return reconcile.WithHint(&SerialError{Stage: s.Snap.Stage, Want: doc.From.Serial, Have: have},
			"it has changed since it was exported; --serial %d replaces it all the same", have)
	}
	return nil
}

// verified makes the change that writes all of a document, after proving that it can be read back.
func (d documents) verified(doc *Export) (*statestore.Change, error) {
	if doc.Sealed() {
		if err := d.key.Check(doc.Key); err != nil {
			return nil, err
		}
	}
	snap := &statestore.Snapshot{Stage: d.stage, Rows: make(map[string]statestore.Row, len(doc.Rows))}
	var problems []plan.Problem
	bad := func(addr string, err error) { problems = append(problems, plan.Problem{Address: addr, Err: err}) }
	for i := range doc.Rows {
		row, err := d.imported(&doc.Rows[i])
		if _, twice := snap.Rows[row.Address]; err == nil && twice {
			err = errors.New("the document has it twice")
		}
		if err != nil {
			bad(doc.Rows[i].Address, err)
			continue
		}
		snap.Rows[row.Address] = row
	}
	for _, err := range snap.Check() {
		bad("", err)
	}
	change := &statestore.Change{KeyID: d.key.ID()}
	var err error
	if change.Outputs, err = d.sealedPart("\x00outputs", doc.Outputs); err == nil {
		_, _, err = state.OpenOutputs(&statestore.Snapshot{Stage: d.stage, Outputs: change.Outputs}, d.key)
	}
	if err != nil {
		bad("outputs", err)
	}
	for name, part := range doc.Facts {
		sealed, err := d.sealedPart("\x00"+name, &part)
		if err != nil {
			bad("the fact "+name, err)
			continue
		}
		if change.Meta == nil {
			change.Meta = map[string][]byte{}
		}
		change.Meta[name] = sealed
	}
	if len(problems) > 0 {
		return nil, &plan.RefusedError{Problems: problems}
	}
	for _, addr := range slices.Sorted(maps.Keys(snap.Rows)) {
		change.Put = append(change.Put, snap.Rows[addr])
	}
	return change, nil
}

// generations are those of a row as a store keeps them.
func (in *ExportedRow) generations() []statestore.Generation {
	var all []statestore.Generation
	for _, g := range in.Generations {
		all = append(all, statestore.Generation{
			Number: g.Number, State: g.State, Slot: g.Slot, Kind: g.Kind, Place: statestore.Place(g.Place), Identity: g.Identity,
			Intent: g.Intent, Written: g.Written,
		})
	}
	return all
}

// imported is a row of a document as a store keeps it.
func (d documents) imported(in *ExportedRow) (statestore.Row, error) {
	row := statestore.Row{Address: in.Address, Birth: in.Birth, Needs: in.Needs}
	if in.Problem != "" {
		return row, reconcile.WithHint(fmt.Errorf("it could not be read when it was exported: %s", in.Problem),
			"take it out of the document: the next deploy finds what is there by reading")
	}
	if err := graph.CheckAddress(in.Address); err != nil {
		return row, err
	}
	row.Generations = in.generations()
	if len(row.Generations) == 0 {
		return row, errors.New("it is about nothing: it has no generations")
	}
	var err error
	if row.Body, err = d.sealedPart(in.Birth, in.Body); err == nil {
		_, err = state.Open(row, d.stage, d.key)
	}
	return row, err
}

// sealedPart is a part as a store keeps it. What is open is sealed; what is sealed must open.
func (d documents) sealedPart(what string, part *Part) ([]byte, error) {
	switch {
	case part == nil:
		return nil, nil
	case len(part.Open) > 0 && len(part.Sealed) > 0:
		return nil, errors.New("it is both sealed and open")
	case len(part.Open) == 0:
		_, err := d.key.Open(part.Sealed, state.Binding(d.stage, what))
		return part.Sealed, err
	}
	t, err := tree.Decode(part.Open)
	if err != nil {
		return nil, err
	}
	return d.key.Seal(tree.Canonical(t), state.Binding(d.stage, what)), nil
}

// importLines are the lines of an import. It takes out of the change what is in state already, and gives the rest the
// versions that they replace.
func importLines(s *planner.Stored, change *statestore.Change) []plan.Planned {
	var actions []plan.Planned
	var put []statestore.Row
	line := func(row statestore.Row, action plan.Action) {
		p := plan.Planned{Address: row.Address, Action: action}
		if len(row.Generations) > 0 {
			g := row.Generations[0]
			p.Kind, p.Identity, p.Generation, p.Place = g.Kind, g.Identity, g.Number, reconcile.Place(g.Place)
		}
		if action == plan.Recover {
			p.From = p.Identity
		}
		actions = append(actions, p)
	}
	stays := make(map[string]bool, len(change.Put))
	for _, row := range change.Put {
		stays[row.Address] = true
		old, there := s.Snap.Rows[row.Address]
		switch {
		case there && sameRow(old, row):
			line(row, plan.Unchanged)
			continue
		case there:
			row.Version = old.Version
			line(row, plan.Update)
		case s.Damaged[row.Address] != nil:
			row.Version = statestore.Repair
			line(row, plan.Update)
		default:
			line(row, plan.Recover)
		}
		put = append(put, row)
	}
	for addr := range s.Known() {
		if stays[addr] {
			continue
		}
		row := statestore.Row{Address: addr, Version: statestore.Repair}
		if old, readable := s.Snap.Rows[addr]; readable {
			row.Version = old.Version
		}
		put = append(put, row)
		actions = append(actions, forgotten(s.Snap, addr)...)
	}
	change.Put = put
	return actions
}

// sameRow compares all that a document has of a row.
func sameRow(a, b statestore.Row) bool {
	return a.Birth == b.Birth && slices.Equal(a.Needs, b.Needs) && bytes.Equal(a.Body, b.Body) &&
		slices.EqualFunc(a.Generations, b.Generations, func(x, y statestore.Generation) bool {
			return x.Written.Equal(y.Written) && x.Number == y.Number && x.State == y.State && x.Slot == y.Slot && x.Kind == y.Kind && x.Place == y.Place &&
				x.Identity == y.Identity && x.Intent == y.Intent
		})
}

// dropRest completes an import: what the document does not have goes, and what is the same is not written.
func dropRest(s *planner.Stored, change *statestore.Change) {
	for name, sealed := range s.Snap.Meta {
		new, stays := change.Meta[name]
		switch {
		case stays && bytes.Equal(new, sealed):
			delete(change.Meta, name)
		case !stays && change.Meta == nil:
			change.Meta = map[string][]byte{name: nil}
		case !stays:
			change.Meta[name] = nil
		}
	}
	switch {
	case bytes.Equal(change.Outputs, s.Snap.Outputs):
		change.Outputs = nil
	case change.Outputs == nil:
		change.Outputs = []byte{}
	}
}

// replace writes an import, all in one commit.
func replace(ctx context.Context, r *execute.Run, change statestore.Change) error {
	if err := r.Journal.Commit(ctx, change); err != nil {
		return err
	}
	return r.Tell(r.Plan.Actions)
}
