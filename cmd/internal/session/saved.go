package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/savedplan"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// savePlan writes a plan to a file that only its owner can read, in one step.
func (s *Session) savePlan(ctx context.Context, file string, p *engine.Plan) error {
	data, err := s.planDocument(ctx, p)
	if err != nil {
		return err
	}
	return files.WritePrivate(file, data)
}

// planDocument is the document of a saved plan, authenticated under the key of the stage.
func (s *Session) planDocument(ctx context.Context, p *engine.Plan) ([]byte, error) {
	plan, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	_, known, err := s.OtherStages(ctx)
	if err != nil {
		return nil, err
	}
	return savedplan.File{
		Target: s.target, Stage: s.Stage.Name, Store: project.Redacted(s.Store), Config: s.Config, Options: s.Options, Document: plan, NewStage: !known,
	}.Seal(s.Engine.Key)
}

// adoptPlan takes over what a saved plan says of its program. Flags that say something else are refused. The program is in
// target, or in the current directory.
func (s *Session) adoptPlan(c *cli.Context, src *loader.Source, target string) (*loader.Source, error) {
	p := src.Plan
	for _, name := range []string{"config", "target", "exclude", "replace", "allow-delete", "adopt", "take-over", "no-observe", "force", "out"} {
		if c.IsSet(name) {
			return nil, cli.Hint(fmt.Errorf("--%s: a saved plan is applied as it was made", name), "plan again with --"+name)
		}
	}
	if given := c.String("stage"); given != "" && given != p.Stage {
		return nil, fmt.Errorf("the saved plan is for stage %q, not %q", p.Stage, given)
	}
	s.savedFile, s.Options, s.Stage.Name, s.Config = p, p.Options, p.Stage, p.Config
	if target == "" && s.Opener.Program == nil {
		target = programHere(p.Target)
		if _, err := s.Opener.Source(c.Context, target); errors.Is(err, loader.ErrNoProgram) {
			return nil, cli.Hint(fmt.Errorf("the program of the saved plan: it was planned in %s, and a plan file does not say which program runs", p.Target),
				"athanor deploy "+src.Target+" TARGET names it")
		}
	}
	next, err := s.Opener.Source(c.Context, target)
	if err == nil {
		err = s.Opener.Confine(c, next, s.Store)
	}
	if err == nil {
		err = s.Opener.ReadSource(c, next)
	}
	if err != nil {
		return nil, fmt.Errorf("the program of the saved plan: %w", err)
	}
	if err := s.adoptStore(c, next, p.Store); err != nil {
		return nil, err
	}
	if next.Plan != nil {
		return nil, errors.New("the saved plan names a saved plan as its program")
	}
	if next.GoMain {
		next.PlanFile = src.Path
	}
	s.target = next.Name()
	return next, nil
}

// programHere returns the target of a saved plan that is given without one: the file that was planned where it is in the current
// directory, else that directory. A plan is authenticated with the key of the stage, to which its program leads: before that it
// must not name what runs.
func programHere(planned string) string {
	if planned == "-" {
		return planned
	}
	file := filepath.Base(planned)
	info, err := os.Stat(file)
	there, bad := os.Stat(planned)
	if err == nil && bad == nil && info.Mode().IsRegular() && os.SameFile(info, there) {
		return file
	}
	return "."
}

// targetElsewhere is the TARGET that a saved plan of a program takes beside its file, with a blank before it; "" for a program that
// is found without one.
func targetElsewhere(planned string) string {
	if planned == files.Absolute(".") || programHere(planned) != "." {
		return ""
	}
	if name := filepath.Base(planned); name == "athanor.yaml" || name == "athanor.yml" {
		planned = filepath.Dir(planned)
	}
	if below, err := filepath.Rel(files.Absolute("."), planned); err == nil {
		planned = below
	}
	return " " + planned
}

// adoptStore works on the store that a saved plan was made with. One that is neither the project's own nor named by the
// user needs a permission: a plan is a file like any other, and its store is sent the user's password.
func (s *Session) adoptStore(c *cli.Context, src *loader.Source, store string) error {
	if s.Store != "" || store == "" {
		return nil
	}
	g := s.Opener.Granted
	if g == nil { // the stack is a program, which may do what its user may; the plan is data all the same
		var err error
		if g, err = s.Opener.Granting(c, src.Dir, ""); err != nil {
			return err
		}
	}
	s.Store = store
	if name := project.StoreName(src.Dir, store); name != g.User.Store {
		return s.Opener.PermitBy(c.Context, g, grants.Document{Outside: []grants.Ask{{Kind: grants.Store, Value: name, Place: "plan.store"}}})
	}
	return nil
}

// ReadReview reads the reviewed plan of a deploy, nil when none is given.
func (s *Session) ReadReview(c *cli.Context) error {
	if id := c.String("approved"); id != "" {
		if s.savedFile != nil {
			return cli.Hint(errors.New("--approved: the plan is the approved one"), "name the program as TARGET")
		}
		return s.readApproved(c.Context, id)
	}
	file := c.String("reviewed")
	switch {
	case !c.IsSet("reviewed"):
		return nil
	case s.savedFile != nil:
		return cli.Hint(errors.New("--reviewed: a saved plan is applied as it was made"), "name the program as TARGET; it is planned anew and compared with FILE")
	}
	data, err := localfile.ReadAtMost(context.WithoutCancel(c.Context), files.Absolute(file), loader.MaxInput)
	if err != nil {
		return fmt.Errorf("--reviewed %s: %w", file, files.WithoutPath(err))
	}
	if s.reviewed, err = savedplan.ParseReview(s.Engine.Key, s.Stage, data); err != nil {
		return fmt.Errorf("--reviewed %s: %w", file, err)
	}
	return nil
}

// asReviewed is the error about all that a plan does and the reviewed one does not; nil when there is nothing of the kind.
func (s *Session) asReviewed(p *engine.Plan) error {
	if s.reviewed == nil {
		return nil
	}
	differences := savedplan.Unreviewed(s.reviewed.Plan(), p)
	if len(differences) == 0 {
		return nil
	}
	return cli.Hint(fmt.Errorf("%w: the plan does what was not reviewed; nothing was changed: %s", engine.ErrNotApproved, strings.Join(differences, "; ")),
		"athanor plan --out FILE makes a plan to review again")
}

// submitPlan submits a plan.
func (s *Session) submitPlan(ctx context.Context, p *engine.Plan) error {
	store, err := project.Service(s.Project.Store, s.Store, "has approvals")
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
	plan, err := store.SubmitPlan(ctx, s.Stage, savedplan.Submission(p, document, s.Engine.Key, s.Stage))
	if err != nil {
		return err
	}
	page := store.Place() + "/s/" + url.PathEscape(wire.Segment(s.Stage.Stack)) + "/" + url.PathEscape(wire.Segment(s.Stage.Name)) + "/plans/" + plan.ID
	fmt.Fprintf(s.Opener.Err, "submitted: plan %s; when somebody has approved it, athanor deploy --approved %s applies it\nto be seen at %s\n", plan.ID, plan.ID, page)
	return nil
}

// Submitted reads a submitted plan, with what it announces.
func (s *Session) Submitted(ctx context.Context, id string) (*remote.Store, wire.Plan, *savedplan.File, error) {
	store, err := project.Service(s.Project.Store, s.Store, "has approvals")
	if err != nil {
		return nil, wire.Plan{}, nil, err
	}
	plan, err := store.Plan(ctx, s.Stage, id)
	if missing, ok := errors.AsType[*wire.Problem](err); ok && missing.Status == http.StatusNotFound {
		err = cli.Hint(fmt.Errorf("%s has no plan %s: %w", s.Stage, id, err), "`athanor approve` lists those that were submitted")
	}
	if err != nil {
		return nil, plan, nil, err
	}
	review, err := savedplan.OpenSubmitted(s.Engine.Key, s.Stage, plan)
	return store, plan, review, err
}

// readApproved holds a deploy to a plan that was approved, and its run to that approval.
func (s *Session) readApproved(ctx context.Context, id string) error {
	store, plan, review, err := s.Submitted(ctx, id)
	if err == nil {
		err = savedplan.AsClaimed(review.Plan(), plan)
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
