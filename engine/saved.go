package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// ReadPlan reads a plan document. Unknown fields and other formats are errors. What it gives is to be shown, and
// to hold a new plan to ([ApplyOptions].Saved); it cannot be applied itself.
func ReadPlan(data []byte) (*Plan, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	var p Plan
	if err := decodeWhole(dec, &p); err != nil {
		return nil, fmt.Errorf("plan document: %w", err)
	}
	if p.Format != planFormat {
		return nil, fmt.Errorf("plan document: format %d; this athanor reads format %d", p.Format, planFormat)
	}
	for i := range p.Actions {
		for k := range p.Actions[i].Reasons {
			r := &p.Actions[i].Reasons[k]
			for _, v := range []*any{&r.Have, &r.Want} {
				t, err := tree.Of(*v)
				if err != nil {
					return nil, fmt.Errorf("plan document: %s: %w", p.Actions[i].Address, err)
				}
				*v = t
			}
		}
	}
	if err := retree(&p.Outputs); err != nil {
		return nil, fmt.Errorf("plan document: outputs: %w", err)
	}
	return &p, nil
}

// classes are what a saved plan allows at each address; nil without one.
func (p *Plan) classes() map[string]map[Action]bool {
	if p == nil {
		return nil
	}
	classes := make(map[string]map[Action]bool, len(p.Actions))
	for _, a := range p.Actions {
		if classes[a.Address] == nil {
			classes[a.Address] = map[Action]bool{}
		}
		classes[a.Address][a.Action] = true
	}
	return classes
}

// heldTo refuses to apply a plan that is not the saved one any more.
func heldTo(saved, p *Plan) error {
	if saved == nil {
		return nil
	}
	var moved []string
	if saved.Stack != p.Stack || saved.Stage != p.Stage || saved.Destroy != p.Destroy {
		moved = append(moved, fmt.Sprintf("what it is for, from %s/%s to %s/%s", saved.Stack, saved.Stage, p.Stack, p.Stage))
	}
	if saved.Digest != p.Digest {
		moved = append(moved, "the program")
	}
	if saved.Serial != p.Serial {
		moved = append(moved, fmt.Sprintf("the record, from serial %d to %d", saved.Serial, p.Serial))
	}
	for _, name := range slices.Sorted(maps.Keys(saved.Used)) {
		if digest, used := p.Used[name]; used && digest != saved.Used[name] {
			moved = append(moved, "the output "+name)
		}
	}
	assets := map[string]map[string]string{}
	for _, a := range p.Actions {
		if len(a.Assets) > 0 {
			assets[a.Address] = a.Assets
		}
	}
	for _, a := range saved.Actions {
		for name, digest := range a.Assets {
			if assets[a.Address][name] != digest {
				moved = append(moved, a.Address+": "+name)
			}
		}
	}
	if len(moved) > 0 {
		return &StaleError{Moved: moved}
	}
	return nil
}

// permitted holds a node to the saved plan.
func (r *run) permitted(n *node, action Action) error {
	if r.saved == nil || r.saved[n.addr][action] {
		return nil
	}
	return reconcile.WithHint(fmt.Errorf("%w: it calls for %s", ErrWorldChanged, action), "plan again")
}
