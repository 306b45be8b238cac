package engine

import (
	"context"

	"github.com/athanor-dev/athanor/engine/edit"
	"github.com/athanor-dev/athanor/statestore"
)

type (
	// Rename is [edit.Rename].
	Rename = edit.Rename
	// Export is [edit.Export].
	Export = edit.Export
	// ExportSource is [edit.ExportSource].
	ExportSource = edit.ExportSource
	// ExportedRow is [edit.ExportedRow].
	ExportedRow = edit.ExportedRow
	// ExportedGeneration is [edit.ExportedGeneration].
	ExportedGeneration = edit.ExportedGeneration
	// Part is [edit.Part].
	Part = edit.Part
	// SerialError is [edit.SerialError].
	SerialError = edit.SerialError
	// Finding is [edit.Finding].
	Finding = edit.Finding
	// Checkup is [edit.Checkup].
	Checkup = edit.Checkup
	// Relocation is [edit.Relocation].
	Relocation = edit.Relocation
)

// ErrSerial is matched by a *SerialError.
var ErrSerial = edit.ErrSerial

// ReadExport reads an export document. Unknown fields and other formats are errors.
func ReadExport(data []byte) (*Export, error) { return edit.ReadExport(data) }

// Export reads the whole record of a stage at once. What is sealed stays sealed, unless it is to be revealed. A row that cannot
// be read is in it, with its problem.
func (e *Engine) Export(ctx context.Context, stage statestore.Stage, reveal bool) (*Export, error) {
	return edit.ExportOf(ctx, e.planner(), stage, reveal)
}

// PlanImport says what making the record of a stage that of a document would do. Everything is verified before: whose it is,
// the structure of the rows, that there is a key which opens them. The record is replaced whole, in one commit. An empty one
// is filled; one with rows must have the serial that is given, else the one in the document, if that is of this very store.
//
// The document must be of the same stack and stage: its objects have the owner tags of that stage. What is
// revealed in it is sealed with the engine's key, so that a record can pass to another one.
func (e *Engine) PlanImport(ctx context.Context, stage statestore.Stage, doc *Export, serial *uint64) (*Plan, error) {
	return edit.Import(ctx, e.planner(), stage, doc, serial)
}

// PlanMove says what moving records to other addresses would do. All moves happen at once, so that chains and swaps
// are possible. Objects get their new owner tags in the same run: an object whose tag cannot be rewritten is refused,
// and so is one that only its generated name shows to be ours. No program is needed; relative paths start in dir.
//
// A move that was cut in the middle has moved the rows, which still know their earlier addresses: the next deploy
// writes the tags that are left, and so does the same move again.
func (e *Engine) PlanMove(ctx context.Context, stage statestore.Stage, dir string, renames []Rename) (*Plan, error) {
	return edit.Move(ctx, e.planner(), stage, dir, renames)
}

// PlanRemove says what would be removed from state: the entries of addresses, or of globs as --target takes them. The
// cloud is not touched, and not even read: the objects stay as they are, with their owner tags. An entry that another
// one needs is refused, unless that one goes too. Damaged records can be removed like any other.
func (e *Engine) PlanRemove(ctx context.Context, stage statestore.Stage, globs []string) (*Plan, error) {
	return edit.Remove(ctx, e.planner(), stage, globs)
}

// Check examines the record of a stage: the structure of every row, one owner for each physical identity, that all which is
// sealed opens, and what the store can prove of itself, for all of its stages. It changes nothing.
func (e *Engine) Check(ctx context.Context, stage statestore.Stage) (*Checkup, error) {
	return edit.Check(ctx, e.planner(), stage)
}

// StageEnd is one end of a relocation: a stage, the engine that has its key, and the directory in which its relative paths start.
type StageEnd struct {
	Engine *Engine
	Stage  statestore.Stage
	Dir    string
}

func (e StageEnd) end() edit.StageEnd {
	return edit.StageEnd{Runner: e.Engine.runner, Stage: e.Stage, Dir: e.Dir}
}

// PlanRelocation says what moving resources to another stage would do; it observes their objects, and changes nothing. Renames name
// single addresses. derives reports kinds whose values come from the key of their stage. What cannot be moved is a *RefusedError,
// beside the plans.
func PlanRelocation(ctx context.Context, from, to StageEnd, renames []Rename, derives func(kind string) bool) (*Relocation, error) {
	return edit.PlanRelocation(ctx, from.end(), to.end(), renames, derives)
}
