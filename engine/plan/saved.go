package plan

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// ReadPlan reads a plan document. Unknown fields and other formats are errors. What it gives can be shown and applied, with
// the program that it was made of.
func ReadPlan(data []byte) (*Plan, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	var p Plan
	if err := DecodeWhole(dec, &p); err != nil {
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
	for i := range p.OutputChanges {
		for _, v := range []*any{&p.OutputChanges[i].Have, &p.OutputChanges[i].Want} {
			t, err := tree.Of(*v)
			if err != nil {
				return nil, fmt.Errorf("plan document: output %s: %w", p.OutputChanges[i].Name, err)
			}
			*v = t
		}
	}
	if err := retree(&p.Outputs); err != nil {
		return nil, fmt.Errorf("plan document: outputs: %w", err)
	}
	return &p, nil
}
