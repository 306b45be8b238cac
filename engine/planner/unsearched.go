package planner

import (
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// UnsearchedFact names the stage-wide fact that lists the locations which a destroy could not search.
const UnsearchedFact = "unsearched"

// Unsearched is a location that could not be searched for objects of the stage, with what leads there. When the entries that
// named it are deleted, nothing else does.
type Unsearched struct {
	// Name is the location where it was reached, else the address whose location it is.
	Name     string
	reached  bool
	Kind     string
	settings map[string]any
}

// leadsTo returns why a way does not lead to the location, nil when it does.
func (l Unsearched) leadsTo(a *observe.Way) error {
	if have := a.Reached().Place.String(); a.Err == nil && l.reached && have != l.Name {
		return fmt.Errorf("the last destroy could not search it, and these credentials lead to %s", have)
	}
	return a.Err
}

// missed is what a search did not see. A run with such lines is not complete.
type missed struct {
	Lines     []plan.Planned
	locations []Unsearched // to be searched again
	searched  bool
	// warnings name what was found and is another stage's.
	warnings []string
}

// Fact adds to the facts of a stage which locations are left to search.
func (m missed) Fact(meta map[string][]byte, snap *statestore.Snapshot, key *seal.Key) {
	if m.searched && (len(m.locations) > 0 || snap.Meta[UnsearchedFact] != nil) {
		meta[UnsearchedFact] = SealUnsearched(m.locations, snap.Stage, key)
	}
}

// SealUnsearched returns the bytes of the fact, nil for none.
func SealUnsearched(locations []Unsearched, stage statestore.Stage, key *seal.Key) []byte {
	if len(locations) == 0 {
		return nil
	}
	value := map[string]any{}
	for _, l := range locations {
		one := map[string]any{"kind": l.Kind, "reached": l.reached}
		if len(l.settings) > 0 {
			one["settings"] = l.settings
		}
		value[l.Name] = one
	}
	return state.SealFact(stage, key, UnsearchedFact, value)
}

// OpenUnsearched returns the locations that the last destroy could not search, sorted by name.
func OpenUnsearched(snap *statestore.Snapshot, key *seal.Key) ([]Unsearched, error) {
	v, err := state.OpenFact(snap, key, UnsearchedFact)
	if err != nil {
		return nil, err
	}
	value, _ := v.(map[string]any)
	var all []Unsearched
	for _, name := range slices.Sorted(maps.Keys(value)) {
		one, _ := value[name].(map[string]any)
		l := Unsearched{Name: name}
		l.Kind, _ = one["kind"].(string)
		l.reached, _ = one["reached"].(bool)
		l.settings, _ = one["settings"].(map[string]any)
		all = append(all, l)
	}
	return all, nil
}
