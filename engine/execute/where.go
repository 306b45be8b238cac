package execute

import (
	"path/filepath"

	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// dirFact is the name of the stage-wide fact that says where the stack lies.
const dirFact = "dir"

// introduction returns what the first change of a run tells of the whole stage beside the key that seals it: the saved plan that
// is applied, and where the program lies, so that relative paths mean the same when the program is not at hand.
func (r *Run) introduction() map[string][]byte {
	meta := map[string][]byte{}
	if r.document != "" {
		meta[planner.ApplyingFact] = state.SealFact(r.Draft.Stage, r.Runner.Key, planner.ApplyingFact, map[string]any{"plan": r.document, "run": r.id})
	}
	r.Draft.Missed.Fact(meta, r.Draft.Snap, r.Runner.Key)
	if r.Draft.Policy.Waives || r.Runner.Root == "" || r.Draft.Graph.Dir == "" {
		return meta
	}
	rel, err := filepath.Rel(r.Runner.Root, r.Draft.Graph.Dir)
	if err != nil {
		return meta // on another drive: nothing that would mean the same elsewhere
	}
	rel = filepath.ToSlash(rel)
	if known, err := OpenDir(r.Runner.Key, r.Draft.Snap); err != nil || known != rel {
		meta[dirFact] = state.SealFact(r.Draft.Stage, r.Runner.Key, dirFact, rel)
	}
	return meta
}

// OpenDir returns where a stack lies as seen from the project's directory, "" when state does not say.
func OpenDir(key *seal.Key, snap *statestore.Snapshot) (string, error) {
	v, err := state.OpenFact(snap, key, dirFact)
	rel, _ := v.(string)
	return rel, err
}
