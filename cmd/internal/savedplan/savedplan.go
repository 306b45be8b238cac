// Package savedplan is a plan outside of the process that made it: in a file, or submitted to a service, authenticated under the key of its
// stage; and what a plan does that another one has not announced.
//
// It does not know how a plan is made, shown or applied.
package savedplan

import (
	"bytes"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// File is the file that `plan --out` writes. It names the program, so that deploying it runs the same one.
type File struct {
	Format   int                `json:"athanorPlan"`
	Target   string             `json:"target"`
	Stage    string             `json:"stage"`
	Store    string             `json:"store,omitempty"`
	Config   map[string]string  `json:"config,omitempty"`
	Options  engine.PlanOptions `json:"options"`
	Document json.RawMessage    `json:"plan"`
	// NewStage permits creating the stage, which the store did not know when the plan was saved.
	NewStage bool `json:"newStage,omitempty"`
	// Key is the id of the stage's newest key when the plan was made, Number its number; MAC authenticates the rest of
	// the file under it.
	Key    string `json:"key"`
	Number uint64 `json:"keyNumber"`
	MAC    string `json:"mac,omitempty"`

	plan *engine.Plan // what Document holds
	data []byte       // of the file
}

const format = 2

// Plan is the plan of a file that was read.
func (p *File) Plan() *engine.Plan { return p.plan }

// Seal is the text of a saved plan, authenticated under the key of its stage.
func (p File) Seal(key *seal.Key) ([]byte, error) {
	p.Format, p.Key, p.Number = format, key.ID(), key.Number()
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	if p.MAC, err = macOf(key, data); err != nil {
		return nil, err
	}
	if data, err = json.MarshalIndent(p, "", " "); err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// macOf authenticates a saved plan, whatever its layout, without its MAC.
func macOf(key *seal.Key, data []byte) (string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return "", err
	}
	delete(members, "mac")
	canonical, err := json.Marshal(members)
	return key.Digest("saved plan", canonical), err
}

// Authentic refuses a saved plan that was made under a key which is not in the ring, and one that was changed since.
func (p *File) Authentic(ring *seal.Key, stage statestore.Stage) error {
	key := ring.By(p.Key)
	if key == nil {
		return cli.Hint(fmt.Errorf("the saved plan was made under key %s (number %d), which the ring of %s does not have: its newest is %s (number %d)",
			p.Key, p.Number, stage, ring.ID(), ring.Number()), "plan again with --out: the key was rotated, or is another stage's")
	}
	mac, err := macOf(key, p.data)
	if err != nil {
		return fmt.Errorf("saved plan: %w", err)
	}
	if !hmac.Equal([]byte(mac), []byte(p.MAC)) {
		return cli.Hint(errors.New("the saved plan was changed since it was made"), "plan again with --out")
	}
	return nil
}

// Parse recognises a saved plan. It gives nil for anything else.
func Parse(data []byte) (*File, error) {
	if !bytes.Contains(data, []byte(`"athanorPlan"`)) {
		return nil, nil //nolint:nilnil // it is not a saved plan, which is no error
	}
	var probe struct {
		Format *int `json:"athanorPlan"`
	}
	if err := json.Unmarshal(data, &probe); err != nil || probe.Format == nil {
		return nil, nil //nolint:nilnil // it is not a saved plan, which is no error
	}
	if *probe.Format != format {
		return nil, cli.Hint(fmt.Errorf("saved plan: format %d; this athanor reads format %d", *probe.Format, format), "plan again with --out")
	}
	p := File{data: data}
	err := json.Unmarshal(data, &p)
	if err == nil {
		p.plan, err = engine.ReadPlan(p.Document)
	}
	if err != nil {
		return nil, fmt.Errorf("saved plan: %w", err)
	}
	return &p, nil
}

// ParseReview reads a saved plan of a stage, as somebody with its key has saved it.
func ParseReview(key *seal.Key, stage statestore.Stage, data []byte) (*File, error) {
	review, err := Parse(data)
	if err == nil && review == nil {
		err = cli.Hint(errors.New("it is no saved plan"), "athanor plan --out FILE writes one")
	}
	if err == nil {
		err = review.Authentic(key, stage)
	}
	if err == nil && (review.plan.Stack != stage.Stack || review.plan.Stage != stage.Name) {
		err = fmt.Errorf("it is of %s/%s, not of %s", review.plan.Stack, review.plan.Stage, stage)
	}
	return review, err
}

// Unreviewed lists what a plan does and another one does not announce with the same values.
func Unreviewed(reviewed, p *engine.Plan) []string {
	known := map[string]bool{}
	for _, a := range reviewed.Actions {
		for key := range operations(a) {
			known[key] = true
		}
	}
	for _, change := range reviewed.OutputChanges {
		known[canonical("output", change)] = true
	}
	var differences []string
	for _, a := range p.Actions {
		further := map[string]bool{}
		for key, text := range operations(a) {
			if !known[key] {
				further[text] = true
			}
		}
		if len(further) > 0 {
			differences = append(differences, a.Address+": "+strings.Join(slices.Sorted(maps.Keys(further)), ", "))
		}
	}
	for _, change := range p.OutputChanges {
		if !known[canonical("output", change)] {
			differences = append(differences, "output "+change.Name)
		}
	}
	return differences
}

// operations are what a line of a plan announces, each in a form that is equal for equal ones, with its text. The values of a
// creation stand in its reasons alone; what code is made of, in its assets.
func operations(a engine.Planned) map[string]string {
	all := map[string]string{}
	switch a.Action {
	case engine.Unchanged, engine.Wait, engine.Blocked:
		return all
	}
	all[canonical(a.Address, a.Action, a.Kind, a.Identity, a.From, a.DeleteFirst, a.Place)] = string(a.Action)
	for name, digest := range a.Assets {
		all[canonical(a.Address, "asset", name, digest)] = string(a.Action) + " with other " + name
	}
	for _, r := range a.Reasons {
		all[canonical(a.Address, "reason", r.Path, r.Have, r.Want, r.Replaces, r.Unknown)] = strings.TrimSpace(string(a.Action) + " " + string(r.Path))
	}
	for _, step := range a.Steps {
		for _, o := range step.Operations {
			all[canonical(a.Address, step.ID, step.Only, o)] = strings.TrimSpace(string(a.Action) + " " + string(o.Path))
		}
	}
	return all
}

// canonical is a text that is equal for equal values.
func canonical(values ...any) string {
	data, err := json.Marshal(values)
	if err != nil {
		return fmt.Sprint(values...) // no value of a plan fails
	}
	return string(data)
}
