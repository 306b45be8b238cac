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
	var p Plan
	if err := DecodeWhole(data, &p); err != nil {
		return nil, fmt.Errorf("plan document: %w", err)
	}
	if p.Format != PlanFormat {
		return nil, fmt.Errorf("plan document: format %d; this athanor reads format %d", p.Format, PlanFormat)
	}
	for i := range p.Actions {
		for k := range p.Actions[i].Reasons {
			r := &p.Actions[i].Reasons[k]
			if err := retreeValues(&r.Have, &r.Want); err != nil {
				return nil, fmt.Errorf("plan document: %s: %w", p.Actions[i].Address, err)
			}
		}
	}
	for i := range p.OutputChanges {
		if err := retreeValues(&p.OutputChanges[i].Have, &p.OutputChanges[i].Want); err != nil {
			return nil, fmt.Errorf("plan document: output %s: %w", p.OutputChanges[i].Name, err)
		}
	}
	if err := Retree(&p.Outputs); err != nil {
		return nil, fmt.Errorf("plan document: outputs: %w", err)
	}
	return &p, nil
}

// DecodeWhole decodes one document with nothing behind it. Unknown fields are errors.
func DecodeWhole(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind its end")
	}
	return nil
}

// retreeValues is Retree of single values.
func retreeValues(values ...*any) (err error) {
	for _, v := range values {
		if *v, err = tree.Of(*v); err != nil {
			return err
		}
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
