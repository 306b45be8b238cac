package savedplan

import (
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// planUse is what a submitted plan is sealed for.
func planUse(stage statestore.Stage) []byte { return []byte("submitted plan of " + stage.String()) }

// Submission is a plan as it is submitted. The service gets addresses, actions and kinds to show; values are sealed.
func Submission(p *engine.Plan, document []byte, key *seal.Key, stage statestore.Stage) wire.NewPlan {
	return wire.NewPlan{Serial: p.Serial, Document: key.Seal(document, planUse(stage)), Lines: Lines(p)}
}

// Lines is what the service and its page show of a plan.
func Lines(p *engine.Plan) []wire.PlanLine {
	var lines []wire.PlanLine
	for _, action := range p.Actions {
		if action.Action != engine.Unchanged {
			lines = append(lines, wire.PlanLine{Address: wire.Text(action.Address), Action: string(action.Action), Kind: action.Kind})
		}
	}
	return lines
}

// AsClaimed refuses a submitted plan whose lines are not those of its sealed document: who approved it on the page has seen the
// lines alone.
func AsClaimed(p *engine.Plan, plan wire.Plan) error {
	if slices.Equal(Lines(p), plan.Lines) {
		return nil
	}
	return cli.Hint(fmt.Errorf("%w: plan %s does something else than what it shows", engine.ErrNotApproved, plan.ID), "athanor plan --submit makes a new one")
}

// OpenSubmitted opens the sealed document of a submitted plan.
func OpenSubmitted(key *seal.Key, stage statestore.Stage, plan wire.Plan) (*File, error) {
	document, err := key.Open(plan.Document, planUse(stage))
	var review *File
	if err == nil {
		review, err = ParseReview(key, stage, document)
	}
	if err != nil {
		err = fmt.Errorf("plan %s: %w", plan.ID, err)
	}
	return review, err
}
