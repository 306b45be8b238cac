package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
	if p.Format != PlanFormat {
		return nil, fmt.Errorf("plan document: format %d; this athanor reads format %d", p.Format, PlanFormat)
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
	if err := Retree(&p.Outputs); err != nil {
		return nil, fmt.Errorf("plan document: outputs: %w", err)
	}
	return &p, nil
}

// DecodeWhole decodes one document with nothing behind it.
func DecodeWhole(dec *json.Decoder, into any) error {
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind its end")
	}
	return nil
}

// Retree turns what encoding/json made into trees, in which integers stay integers.
func Retree(maps ...*map[string]any) error {
	for _, m := range maps {
		if *m == nil || tree.Is(*m) {
			continue
		}
		t, err := tree.Of(*m)
		if err != nil {
			return err
		}
		*m, _ = t.(map[string]any)
	}
	return nil
}
