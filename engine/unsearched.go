package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// unsearchedFact names the stage-wide fact that lists the locations which a destroy could not search.
const unsearchedFact = "unsearched"

// unsearched is a location that could not be searched for objects of the stage, with what leads there. When the entries that
// named it are deleted, nothing else does.
type unsearched struct {
	// name is the location where it was reached, else the address whose location it is.
	name     string
	reached  bool
	kind     string
	settings map[string]any
}

// leadsTo returns why a way does not lead to the location, nil when it does.
func (l unsearched) leadsTo(a *observe.Way) error {
	if have := a.Reached().Place.String(); a.Err == nil && l.reached && have != l.name {
		return fmt.Errorf("the last destroy could not search it, and these credentials lead to %s", have)
	}
	return a.Err
}

// missed is what a search did not see. A run with such lines is not complete.
type missed struct {
	lines     []Planned
	locations []unsearched // to be searched again
	searched  bool
}

// fact adds to the facts of a stage which locations are left to search.
func (m missed) fact(meta map[string][]byte, snap *statestore.Snapshot, key *seal.Key) {
	if m.searched && (len(m.locations) > 0 || snap.Meta[unsearchedFact] != nil) {
		meta[unsearchedFact] = sealUnsearched(m.locations, snap.Stage, key)
	}
}

// sealUnsearched returns the bytes of the fact, nil for none.
func sealUnsearched(locations []unsearched, stage statestore.Stage, key *seal.Key) []byte {
	if len(locations) == 0 {
		return nil
	}
	value := map[string]any{}
	for _, l := range locations {
		one := map[string]any{"kind": l.kind, "reached": l.reached}
		if len(l.settings) > 0 {
			one["settings"] = l.settings
		}
		value[l.name] = one
	}
	return state.SealFact(stage, key, unsearchedFact, value)
}

// openUnsearched returns the locations that the last destroy could not search, sorted by name.
func openUnsearched(snap *statestore.Snapshot, key *seal.Key) ([]unsearched, error) {
	v, err := state.OpenFact(snap, key, unsearchedFact)
	if err != nil {
		return nil, err
	}
	value, _ := v.(map[string]any)
	var all []unsearched
	for _, name := range slices.Sorted(maps.Keys(value)) {
		one, _ := value[name].(map[string]any)
		l := unsearched{name: name}
		l.kind, _ = one["kind"].(string)
		l.reached, _ = one["reached"].(bool)
		l.settings, _ = one["settings"].(map[string]any)
		all = append(all, l)
	}
	return all, nil
}
