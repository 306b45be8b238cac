package planner

import (
	"time"

	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
)

// Recovered is the state entry of an object that reading found again.
func Recovered(n *plan.Node, nodes map[string]*plan.Node, dev bool) *state.Entry {
	rec := &state.Entry{Address: n.Address, Birth: n.Birth(), Found: true, NeedsUnknown: true}
	if n.Entry != nil {
		rec = n.Entry.Clone()
	}
	rec.SetOptions(&n.Decl.Options)
	rec.Settings, rec.Cut, rec.Needs = n.Decl.Settings, n.Cut, nil
	rec.MayDeleteData = n.Job != nil && n.Job.Leave
	rec.Former = state.StillNamed(n.Decl.Options.RenamedFrom, n.Decl.Options.RenamedFrom) // it was found here: renames are done
	for _, a := range n.Needs {
		if up := nodes[a]; up != nil && up.Decl != nil && up.Plan != nil && (up.Entry != nil || plan.IsFound(up)) && a != n.Address {
			rec.Needs = append(rec.Needs, a)
		}
	}
	rec.Generations = append(rec.Generations, &state.Generation{
		Number: rec.NumberFor(n.Look().Owner.Generation), State: statestore.Live, Slot: n.Slot, Kind: n.Spec.Type, Location: n.Access.Place,
		Identity: n.Look().Identity, Name: n.Job.Name, NameGiven: n.Job.Named, Attributes: n.Look().Attrs,
		Written: time.Now(), // it was seen: absent soon after is not deleted
		Dev:     dev,
	})
	for i := range n.Others {
		plan.CondemnFound(rec, &n.Others[i], dev)
	}
	return rec
}
