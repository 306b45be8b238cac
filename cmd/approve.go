package cmd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/savedplan"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

func (a *app) approveCommand() *cli.Command {
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
		Action: a.approvePlan,
	}
}

// submitFlag submits a plan, and approvedFlag deploys one that was approved.
func submitFlag() cli.Flag {
	return &cli.BoolFlag{Name: "submit", Usage: "submit the plan to the service for approval by somebody else"}
}

func approvedFlag() cli.Flag {
	return &cli.StringFlag{Category: cli.Safety, Name: "approved", Usage: "deploy what plan `ID` announces, which was submitted and approved; else exit 5 with the difference"}
}

// notAService refuses what only a service has, of a store that is none.
func notAService(store, what string) error {
	err := errors.New("only a service " + what)
	if store != "" {
		err = fmt.Errorf("store %s: %w", project.Redacted(store), err)
	}
	return cli.Hint(err, "athanor login https://HOST, then --store https://HOST; athanor serve is one")
}

// service is the service that keeps the stage.
func (s *session) service() (*remote.Store, error) {
	store, ok := s.project.Store.(*remote.Store)
	if !ok {
		return nil, notAService(s.store, "has approvals")
	}
	return store, nil
}

// submitPlan submits a plan.
func (s *session) submitPlan(ctx context.Context, p *engine.Plan) error {
	store, err := s.service()
	if err != nil {
		return err
	}
	if !p.Pending() {
		return errors.New("--submit: there is nothing to approve")
	}
	document, err := s.planDocument(ctx, p)
	if err != nil {
		return err
	}
	plan, err := store.SubmitPlan(ctx, s.stage, savedplan.Submission(p, document, s.engine.Key, s.stage))
	if err != nil {
		return err
	}
	page := store.Place() + "/s/" + url.PathEscape(wire.Segment(s.stage.Stack)) + "/" + url.PathEscape(wire.Segment(s.stage.Name)) + "/plans/" + plan.ID
	fmt.Fprintf(s.app.Err, "submitted: plan %s; when somebody has approved it, athanor deploy --approved %s applies it\nto be seen at %s\n", plan.ID, plan.ID, page)
	return nil
}

// submitted reads a submitted plan, with what it announces.
func (s *session) submitted(ctx context.Context, id string) (*remote.Store, wire.Plan, *savedplan.File, error) {
	store, err := s.service()
	if err != nil {
		return nil, wire.Plan{}, nil, err
	}
	plan, err := store.Plan(ctx, s.stage, id)
	if missing, ok := errors.AsType[*wire.Problem](err); ok && missing.Status == http.StatusNotFound {
		err = cli.Hint(fmt.Errorf("%s has no plan %s: %w", s.stage, id, err), "`athanor approve` lists those that were submitted")
	}
	if err != nil {
		return nil, plan, nil, err
	}
	review, err := savedplan.OpenSubmitted(s.engine.Key, s.stage, plan)
	return store, plan, review, err
}

// readApproved holds a deploy to a plan that was approved, and its run to that approval.
func (s *session) readApproved(ctx context.Context, id string) error {
	store, plan, review, err := s.submitted(ctx, id)
	if err == nil {
		err = savedplan.AsClaimed(review.Plan, plan)
	}
	if err != nil {
		return err
	}
	if plan.State != wire.PlanApproved && plan.State != wire.PlanUsed {
		return cli.Hint(fmt.Errorf("%w: plan %s is %s", engine.ErrNotApproved, id, plan.State), "athanor approve "+id+", by somebody else")
	}
	s.reviewed, s.planID = review, id
	store.UsePlan(id)
	return nil
}

func (a *app) approvePlan(c *cli.Context) error {
	id := c.Args().First()
	switch {
	case c.String("require") != "":
		return a.requireApproval(c)
	case id == "":
		return a.listPlans(c)
	}
	s, err := a.openProgram(c, 1)
	if err != nil || s == nil {
		return err
	}
	store, plan, review, err := s.submitted(c.Context, id)
	if err != nil {
		return err
	}
	decision := wire.Decision{Digest: plan.Digest, Approve: !c.Bool("reject"), Note: wire.Text(c.String("note"))}
	if decision.Approve {
		s.options = review.Options
		if err := savedplan.AsClaimed(review.Plan, plan); err != nil {
			return err
		}
		if err := s.compareApproved(c, review); err != nil {
			return err
		}
	}
	decided, err := store.Decide(c.Context, s.stage, id, decision)
	if err != nil {
		return err
	}
	if a.AsJSON {
		a.JSON(planLineOf(decided))
		return nil
	}
	fmt.Fprintf(a.Out, "plan %s: %s\n", id, decided.State)
	return nil
}

// compareApproved plans anew and refuses when the result is not what was submitted, then asks.
func (s *session) compareApproved(c *cli.Context, review *savedplan.File) error {
	p, err := s.plan(c.Context)
	if err != nil {
		return err
	}
	if !s.app.AsJSON {
		s.showPlan(s.app.Err, p, !c.Bool("yes"))
	}
	if more := append(savedplan.Unreviewed(review.Plan, p), savedplan.Unreviewed(p, review.Plan)...); len(more) > 0 {
		return cli.Hint(fmt.Errorf("%w: planned anew it is another plan: %s", engine.ErrNotApproved, more[0]), "athanor plan --submit makes a new one")
	}
	if c.Bool("yes") {
		return nil
	}
	return s.app.Confirm(c.Context, fmt.Sprintf("Approve this for %s?  y yes, d details, Enter no: ", s.stage), terminal.IsYes, func() { s.showDetails(p) })
}

func (a *app) requireApproval(c *cli.Context) error {
	on := c.String("require")
	if on != "on" && on != "off" {
		return cli.Hint(fmt.Errorf("--require %s: it is on or off", on), "athanor approve --require on")
	}
	s, err := a.openProgram(c, 0)
	if err != nil || s == nil {
		return err
	}
	return s.setRule(c.Context, wire.StageRuleChange{Approval: new(on == "on")})
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

func (a *app) listPlans(c *cli.Context) error {
	s, err := a.openProgram(c, 0)
	if err != nil || s == nil {
		return err
	}
	store, err := s.service()
	if err != nil {
		return err
	}
	plans, err := store.Plans(c.Context, s.stage)
	if err != nil {
		return err
	}
	if len(plans) == 0 && !a.AsJSON {
		fmt.Fprintf(a.Err, "%s: no plan was submitted\nnext:  athanor plan --submit\n", s.stage)
	}
	for _, plan := range plans {
		line := planLineOf(plan)
		if a.AsJSON {
			a.JSON(line)
			continue
		}
		fmt.Fprintf(a.Out, "%s  %s  %s  %d changes, by %s\n", line.ID, line.State, line.Submitted.Format(time.RFC3339), len(line.Lines), line.Submitter)
	}
	return nil
}
