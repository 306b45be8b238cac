package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// Show prints a plan and nothing else. It exits 2 when there are changes, and says so.
func (s *Session) Show(c *cli.Context, p *engine.Plan, refused error) error {
	a := s.Opener
	if p == nil {
		return refused
	}
	policy := needed(c, p)
	doc := render.PlanDocument{Plan: p, IAM: policy, NotObserved: notObserved(s)}
	doc.Problems, _ = a.Errors().Lines(refused)
	switch {
	case a.AsJSON:
		a.JSON(doc)
	case c.Bool("markdown"):
		if err := (render.Markdown{}).Plan(a.Out, doc); err != nil {
			return err
		}
	case policy == nil:
		s.ShowPlan(a.Out, p, true)
	case refused == nil:
		if err := a.Document(policy); err != nil {
			return err
		}
	}
	if !a.AsJSON {
		for _, r := range notObserved(s) {
			fmt.Fprintf(a.Err, "not observed: %s: %s\n", r.Address, r.Why)
		}
	}
	if refused != nil {
		return a.Refused(refused)
	}
	if file := c.String("out"); file != "" {
		if err := s.savePlan(c.Context, file, p); err != nil {
			return err
		}
		fmt.Fprintf(a.Err, "saved: athanor deploy %s applies exactly this plan\n", file+targetElsewhere(s.target))
	}
	if c.Bool("submit") {
		if err := s.submitPlan(c.Context, p); err != nil {
			return err
		}
	}
	switch {
	case len(p.Blocked()) > 0:
		return a.Refused(ShownAlready(s, policy == nil, p.BlockedError(p.Blocked())))
	case p.Pending():
		fmt.Fprintln(a.Err, "exit code 2: changes are pending")
		return cli.Exit(cli.ExitPending)
	}
	return nil
}

// notObserved lists what an untrusted plan did not observe.
func notObserved(s *Session) []render.NotObserved {
	var list []render.NotObserved
	for _, address := range slices.Sorted(maps.Keys(s.Unobserved)) {
		list = append(list, render.NotObserved{Address: address, Action: "not-observed", Why: s.Unobserved[address]})
	}
	return list
}

// needed is the policy that --iam asks for, nil without it.
func needed(c *cli.Context, p *engine.Plan) map[string]any {
	if !c.Bool("iam") {
		return nil
	}
	return aws.LeastPolicy(engine.Needs(c.Context, p))
}

// Proceed shows a plan, asks, applies it and reports.
func (s *Session) Proceed(c *cli.Context, p *engine.Plan, err error) error {
	a := s.Opener
	if p == nil {
		return err
	}
	if !a.AsJSON && (err != nil && len(p.Actions) > 0 || p.Pending() || len(p.Blocked()) > 0 || p.Destroy && len(p.Warnings) > 0) {
		s.ShowPlan(a.Err, p, !c.Bool("yes"))
	}
	if err != nil && a.AsJSON {
		return err
	}
	if err != nil {
		return a.Refused(err)
	}
	if err := refusalOf(s, c, p); err != nil {
		return err
	}
	if file := c.String("out"); file != "" {
		if err := s.savePlan(c.Context, file, p); err != nil {
			return err
		}
	}
	if p.Pending() {
		if err := s.approved(c, p); err != nil {
			return err
		}
	}
	return expiring(s, c, func() error { return s.Apply(c, p) })
}

// approved is why a plan is not applied; nil when its user, or a flag, says that it is.
func (s *Session) approved(c *cli.Context, p *engine.Plan) error {
	if creates(c.Command.Name) {
		if typed, err := s.NewStage(c, len(p.Actions)); err != nil || typed {
			return err
		}
	}
	return s.answered(c, p)
}

// answered is why a plan is not applied; nil when --yes or its user says that it is. A plan that deletes most of a stage says
// so above the question, and needs more than --yes.
func (s *Session) answered(c *cli.Context, p *engine.Plan) error {
	if err := s.asReviewed(p); err != nil {
		return err
	}
	mass, err := s.massDeletion(c.Context, p)
	switch {
	case err != nil:
		return err
	case mass != "" && !c.Bool("allow-mass-delete") && (c.Bool("yes") || s.Opener.AsJSON):
		return cli.Hint(fmt.Errorf("%w: the plan %s; nothing was changed", engine.ErrNotApproved, mass), "--allow-mass-delete with --yes deletes them")
	case c.Bool("yes"):
		return nil
	case mass != "" && !s.Opener.AsJSON:
		fmt.Fprintf(s.Opener.Err, "This %s.\n", mass)
	}
	return s.Approve(c.Context, p)
}

// massDeletion says how much of a stage a plan deletes, where that is more than half of ten resources or more; "" elsewhere,
// and for what was asked to destroy the stage.
func (s *Session) massDeletion(ctx context.Context, p *engine.Plan) (string, error) {
	const fewest = 10
	deleted := 0
	for i := range p.Actions {
		if p.Actions[i].Action == engine.Delete {
			deleted++
		}
	}
	if p.Destroy || s.reviewed != nil || deleted <= fewest/2 {
		return "", nil
	}
	snap, err := s.Project.Store.Load(ctx, s.Stage)
	if err != nil {
		return "", err
	}
	if all := len(snap.Rows); all >= fewest && 2*deleted > all {
		return fmt.Sprintf("deletes %d of the %d resources of %s", deleted, all, s.Stage), nil
	}
	return "", nil
}

// creates reports whether a command can be the first one of a stage.
func creates(command string) bool { return command == "deploy" || command == "adopt" }

// refusalOf is why a plan that was shown is not begun; nil when it is.
func refusalOf(s *Session, c *cli.Context, p *engine.Plan) error {
	err := ShownAlready(s, true, p.Refusal())
	if err == nil || c.Command.Name != "deploy" {
		return err
	}
	return cli.Hint(err, "nothing was done; --exclude ADDRESS goes on without one and what needs it")
}

// ShownAlready returns an error that says what a plan says, which people have read where the plan was shown as text.
func ShownAlready(s *Session, asText bool, err error) error {
	if err == nil || s.Opener.AsJSON || !asText {
		return err
	}
	return render.Shown(err)
}

// Approve asks whether a plan is to be applied. Where users' data may be deleted, the name of the stage is the yes.
func (s *Session) Approve(ctx context.Context, p *engine.Plan) error {
	a, details := s.Opener, func() { s.ShowDetails(p) }
	lost := losesData(p, HoldsData(a.Catalog))
	if len(lost) == 0 {
		return a.Confirm(ctx, render.ApplyQuestion(p, s.Question), terminal.IsYes, details)
	}
	if a.MayAsk() {
		a.Style(a.Err).LosesData(a.Err, lost)
	}
	isName := func(text string) bool { return strings.EqualFold(text, p.Stage) }
	return a.Confirm(ctx, render.NameQuestion(p, s.Question), isName, details)
}

// losesData are the lines of a plan that may delete users' data.
func losesData(p *engine.Plan, holdsData func(kind string) bool) []engine.Planned {
	var lost []engine.Planned
	for i := range p.Actions {
		loses := slices.ContainsFunc(p.Actions[i].Steps, func(step operation.Step) bool {
			return slices.ContainsFunc(step.Operations, func(o operation.Operation) bool {
				return o.Verb == operation.Remove && o.Data && holdsData(o.Object.Kind)
			})
		})
		if loses {
			lost = append(lost, p.Actions[i])
		}
	}
	return lost
}

// HoldsData reports whether objects of a kind can hold users' data.
func HoldsData(catalog *reconcile.Catalog) func(kind string) bool {
	return func(kind string) bool {
		k, known := catalog.Kind(kind)
		return known && k.Spec().HoldsData
	}
}

// Forget lets a machine remember no store of a stage of which nothing is left: a store that is made anew has lost nothing. What
// was destroyed without its state may have been more than what was found.
func (s *Session) Forget(ctx context.Context, p *engine.Plan) {
	snap, err := s.Engine.Store.Load(ctx, s.Stage)
	if err == nil && !p.Recovered && len(snap.Rows)+len(snap.Damaged) == 0 {
		err = seal.RememberStore("", s.Project.Root, s.Stage.Stack, s.Stage.Name, "")
	}
	if err != nil {
		s.Opener.Warn("this machine still remembers what was destroyed: %v", err)
	}
}

// Verdict turns a result into an exit code.
func Verdict(res *engine.Result, p *engine.Plan) error {
	switch {
	case res.State == statestore.Cancelled:
		return cli.Exit(cli.ExitInterrupted)
	case res.Complete():
		return nil
	case res.Run == "" || !p.Pending():
		return cli.Exit(cli.ExitError)
	default:
		return cli.Exit(cli.ExitPartly)
	}
}

// OfferTakeOver asks whether objects tagged by another store of the stage may be deleted, where that is all that a plan
// refuses and somebody is there to answer. --yes alone is no answer to that. It gives the plan that then holds.
func OfferTakeOver(s *Session, c *cli.Context, p *engine.Plan, refused error,
	again func(context.Context) (*engine.Plan, error),
) (*engine.Plan, error) {
	a := s.Opener
	problems := render.Problems(refused)
	if p == nil || len(problems) == 0 || s.savedFile != nil || c.Bool("yes") || a.AsJSON || !terminal.IsTerminal(a.In) {
		return p, refused
	}
	for _, problem := range problems {
		if !errors.Is(problem.Err, engine.ErrOtherStore) {
			return p, refused
		}
	}
	fmt.Fprintf(a.Err, "These are tagged by another state store of %s:\n", s.Stage)
	for _, problem := range problems {
		fmt.Fprintf(a.Err, "  %s: %s\n", problem.Address, a.Masked(problem.Err))
	}
	a.Style(a.Err).Question(a.Err, "If that store is still in use, they belong to it. Delete them? [y/N] ")
	switch yes, err := a.Answer(c.Context); {
	case err != nil:
		fmt.Fprintln(a.Err)
		return nil, err
	case !yes:
		fmt.Fprintln(a.Err, "Nothing was changed.")
		return nil, cli.Exit(cli.ExitNotApproved)
	}
	s.Options.TakeOver = true
	return again(c.Context)
}

// Planning shows how planning goes, until it has ended.
func (s *Session) Planning(plan func() (*engine.Plan, error)) (*engine.Plan, error) {
	a, events := s.Opener, s.Engine.Events
	if a.AsJSON {
		return plan()
	}
	reading := render.NewReading(a.Screen(a.Err), s.Stage.String())
	s.Engine.Reading = reading.Read
	s.Engine.Events = func(e engine.Event) {
		if e.Type == engine.EventProgress {
			reading.Note(fmt.Sprintf("  … %s: waits: %s", e.Address, e.Note))
		}
	}
	defer func() {
		reading.Close()
		s.Engine.Reading, s.Engine.Events = nil, events
	}()
	return plan()
}

// ShowPlan writes a plan for people. What does not fit on their terminal is shown by a pager when they are there to read it.
func (s *Session) ShowPlan(w io.Writer, p *engine.Plan, attended bool) {
	var text bytes.Buffer
	style := s.Opener.Style(w)
	style.Plan(&text, p, costText(s, p))
	if attended && s.Opener.Paged(w, text.String()) {
		style.PlanCounts(w, p, costText(s, p))
		return
	}
	w.Write(text.Bytes()) //nolint:errcheck // like all that is printed
}

// ShowDetails shows a plan in full, on the terminal where its approval is asked for.
func (s *Session) ShowDetails(p *engine.Plan) {
	var text bytes.Buffer
	style := s.Opener.Style(s.Opener.Err)
	style.Detailed = true
	style.Plan(&text, p, costText(s, p))
	if !s.Opener.Paged(s.Opener.Err, text.String()) {
		s.Opener.Err.Write(text.Bytes()) //nolint:errcheck // like all that is printed
	}
}

// costText is what planning took.
func costText(s *Session, p *engine.Plan) string {
	return costOf(engine.Reads(p), s.Began, p.Made, time.Now())
}

// costOf says how many reads a plan took, and how long: until it was made, where that is known. It may be shown again a while later.
func costOf(reads int64, began, made, now time.Time) string {
	if reads == 0 {
		return ""
	}
	word := " reads, "
	if reads == 1 {
		word = " read, "
	}
	if made.Before(began) {
		made = now
	}
	return strconv.FormatInt(reads, 10) + word + render.Elapsed(made.Sub(began))
}
