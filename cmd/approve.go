package cmd

import (
	"errors"
	"fmt"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/savedplan"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

func approveCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "approve", Usage: "approve or reject a plan that somebody else has submitted", ArgsUsage: "[ID [TARGET]]",
		Description: `Plans anew, refuses when that differs from the submitted plan, shows it, and asks. The service takes an approval from a
person who signed in (login --oidc) and did not submit the plan. It is good once, for the state that the plan was made for, for 24 hours
(serve --approval-ttl).

Without ID it lists the submitted plans of the stage in this directory. --require on makes a stage take only runs of approved plans, of every
kind: deploy, destroy, drift repair, edits of state. That needs the role admin.

Exit codes: 0 decided; 1 error; 5 not approved.`,
		UsageText: `plan --submit                   submits what deploy would do
approve                         what waits for approval
approve 3f9a0c12d4e5 ./shop     plan it anew, show it, ask
approve 3f9a0c12d4e5 --reject --note 'not on a Friday'
deploy --approved 3f9a0c12d4e5 --yes
approve --require on            nobody changes this stage alone`,
		Flags: project.StageFlags(
			&cli.BoolFlag{Name: "reject", Usage: "reject the plan; it is not planned anew"},
			&cli.StringFlag{Name: "note", Usage: "say `TEXT` about the decision; shown with the plan"},
			&cli.StringFlag{Name: "require", Usage: "`on` or off: make the stage take only runs of approved plans"},
			cli.YesFlag(),
		),
		Action: func(c *cli.Context) error { return approvePlan(o, c) },
	}
}

func approvePlan(o *session.Opener, c *cli.Context) error {
	id := c.Args().First()
	switch {
	case c.String("require") != "":
		return requireApproval(o, c)
	case id == "" && (c.Bool("reject") || c.IsSet("note")):
		return cli.Hint(errors.New("approve: which plan?"), "athanor approve ID --reject --note TEXT; `athanor approve` lists the submitted plans")
	case id == "":
		return listPlans(o, c)
	}
	s, err := o.OpenProgram(c, 1)
	if err != nil || s == nil {
		return err
	}
	store, plan, review, err := s.Submitted(c.Context, id)
	if err != nil {
		return err
	}
	decision := wire.Decision{Digest: plan.Digest, Approve: !c.Bool("reject"), Note: wire.Text(c.String("note"))}
	if decision.Approve {
		s.Options = review.Options
		if err := savedplan.AsClaimed(review.Plan(), plan); err != nil {
			return err
		}
		if err := compareApproved(s, c, review); err != nil {
			return err
		}
	}
	decided, err := store.Decide(c.Context, s.Stage, id, decision)
	if err != nil {
		return err
	}
	if o.WroteJSON(planLineOf(decided)) {
		return nil
	}
	fmt.Fprintf(o.Out, "plan %s: %s\n", id, decided.State)
	return nil
}

// compareApproved plans anew and refuses when the result is not what was submitted, then asks.
func compareApproved(s *session.Session, c *cli.Context, review *savedplan.File) error {
	p, err := s.Plan(c.Context)
	if err != nil {
		return err
	}
	if !s.Opener.AsJSON {
		s.ShowPlan(s.Opener.Err, p, !c.Bool("yes"))
	}
	if more := append(savedplan.Unreviewed(review.Plan(), p), savedplan.Unreviewed(p, review.Plan())...); len(more) > 0 {
		return cli.Hint(fmt.Errorf("%w: planned anew it is another plan: %s", engine.ErrNotApproved, more[0]), "athanor plan --submit makes a new one")
	}
	if c.Bool("yes") {
		return nil
	}
	return s.Opener.Confirm(c.Context, fmt.Sprintf("Approve this for %s?  y yes, d details, Enter no: ", s.Stage), terminal.IsYes, func() { s.ShowDetails(p) })
}

func requireApproval(o *session.Opener, c *cli.Context) error {
	on := c.String("require")
	if on != "on" && on != "off" {
		return cli.Hint(fmt.Errorf("--require %s: it is on or off", on), "athanor approve --require on")
	}
	s, err := o.OpenProgram(c, 0)
	if err != nil || s == nil {
		return err
	}
	return setRule(c.Context, s, wire.StageRuleChange{Approval: new(on == "on")})
}

// submittedLine is a submitted plan with --json.
type submittedLine struct {
	Type      string          `json:"type"` // "plan"
	ID        string          `json:"id"`
	State     string          `json:"state"`
	Submitter string          `json:"submitter"`
	Submitted time.Time       `json:"submitted"`
	Decider   string          `json:"decider,omitempty"`
	Note      string          `json:"note,omitempty"`
	Lines     []wire.PlanLine `json:"lines"`
}

func planLineOf(p wire.Plan) submittedLine {
	line := submittedLine{
		Type: "plan", ID: p.ID, State: p.State, Submitter: p.Submitter.Account, Submitted: p.Submitted, Note: string(p.Note), Lines: p.Lines,
	}
	if p.Decider != nil {
		line.Decider = p.Decider.Account
	}
	return line
}

func listPlans(o *session.Opener, c *cli.Context) error {
	s, err := o.OpenProgram(c, 0)
	if err != nil || s == nil {
		return err
	}
	store, err := project.Service(s.Project.Store, s.Store, "has approvals")
	if err != nil {
		return err
	}
	plans, err := store.Plans(c.Context, s.Stage)
	if err != nil {
		return err
	}
	if len(plans) == 0 && !o.AsJSON {
		fmt.Fprintf(o.Err, "%s: no plan was submitted\nnext:  athanor plan --submit\n", s.Stage)
	}
	for _, plan := range plans {
		line := planLineOf(plan)
		if o.WroteJSON(line) {
			continue
		}
		fmt.Fprintf(o.Out, "%s  %s  %s  %d changes, by %s\n", line.ID, line.State, line.Submitted.Format(time.RFC3339), len(line.Lines), line.Submitter)
	}
	return nil
}
