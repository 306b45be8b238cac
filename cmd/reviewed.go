package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// reviewedFlag holds a deploy to a plan that was reviewed.
func reviewedFlag() cli.Flag {
	return &cli.StringFlag{Category: cli.Safety, Name: "reviewed", Usage: "deploy only what the saved plan in `FILE` announces; else exit 5 with the difference"}
}

// readReview reads the reviewed plan of a deploy, nil when none is given.
func (s *session) readReview(c *cli.Context) error {
	if id := c.String("approved"); id != "" {
		if c.IsSet("reviewed") || s.saved != nil {
			return cli.Hint(errors.New("--approved: the plan is the approved one"), "leave out --reviewed, and name the program as TARGET")
		}
		return s.readApproved(c.Context, id)
	}
	file := c.String("reviewed")
	switch {
	case !c.IsSet("reviewed"):
		return nil
	case s.saved != nil:
		return cli.Hint(errors.New("--reviewed: a saved plan is applied as it was made"), "name the program as TARGET; it is planned anew and compared with FILE")
	}
	data, err := localfile.ReadAtMost(context.WithoutCancel(c.Context), files.Absolute(file), maxInput)
	if err != nil {
		return fmt.Errorf("--reviewed %s: %w", file, files.WithoutPath(err))
	}
	if s.reviewed, err = s.parseReview(data); err != nil {
		return fmt.Errorf("--reviewed %s: %w", file, err)
	}
	return nil
}

// parseReview reads a saved plan of the stage at hand, as somebody with its key has saved it.
func (s *session) parseReview(data []byte) (*savedPlan, error) {
	review, err := parsePlan(data)
	if err == nil && review == nil {
		err = cli.Hint(errors.New("it is no saved plan"), "athanor plan --out FILE writes one")
	}
	if err == nil {
		err = review.authentic(s.engine.Key, s.stage)
	}
	if err == nil && (review.Plan.Stack != s.stage.Stack || review.Plan.Stage != s.stage.Name) {
		err = fmt.Errorf("it is of %s/%s, not of %s", review.Plan.Stack, review.Plan.Stage, s.stage)
	}
	return review, err
}

// asReviewed is the error about all that a plan does and the reviewed one does not; nil when there is nothing of the kind.
func (s *session) asReviewed(p *engine.Plan) error {
	if s.reviewed == nil {
		return nil
	}
	differences := unreviewed(s.reviewed.Plan, p)
	if len(differences) == 0 {
		return nil
	}
	return cli.Hint(fmt.Errorf("%w: the plan does what was not reviewed; nothing was changed: %s", engine.ErrNotApproved, strings.Join(differences, "; ")),
		"athanor plan --out FILE makes a plan to review again")
}

// unreviewed lists what a plan does and another one does not announce with the same values.
func unreviewed(reviewed, p *engine.Plan) []string {
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
