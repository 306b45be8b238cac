package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/savedplan"
	"github.com/athanor-dev/athanor/engine"
)

// savePlan writes a plan to a file that only its owner can read, in one step.
func (s *session) savePlan(ctx context.Context, file string, p *engine.Plan) error {
	data, err := s.planDocument(ctx, p)
	if err != nil {
		return err
	}
	return files.WritePrivate(file, data)
}

// planDocument is the document of a saved plan, authenticated under the key of the stage.
func (s *session) planDocument(ctx context.Context, p *engine.Plan) ([]byte, error) {
	plan, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	_, known, err := s.otherStages(ctx)
	if err != nil {
		return nil, err
	}
	return savedplan.File{
		Target: s.target, Stage: s.stage.Name, Store: project.Redacted(s.store), Config: s.config, Options: s.options, Document: plan, NewStage: !known,
	}.Seal(s.engine.Key)
}

// adoptPlan takes over what a saved plan says of its program. Flags that say something else are refused. The program is in
// target, or in the current directory.
func (s *session) adoptPlan(c *cli.Context, src *loader.Source, target string) (*loader.Source, error) {
	p := src.Plan
	for _, name := range []string{"config", "target", "exclude", "replace", "allow-delete", "adopt", "take-over", "no-observe", "force", "out"} {
		if c.IsSet(name) {
			return nil, cli.Hint(fmt.Errorf("--%s: a saved plan is applied as it was made", name), "plan again with --"+name)
		}
	}
	if given := c.String("stage"); given != "" && given != p.Stage {
		return nil, fmt.Errorf("the saved plan is for stage %q, not %q", p.Stage, given)
	}
	s.saved, s.savedFile, s.options, s.stage.Name, s.config = p.Plan, p, p.Options, p.Stage, p.Config
	if target == "" && s.app.Program == nil {
		target = programHere(p.Target)
		if _, err := s.app.Source(c.Context, target); errors.Is(err, loader.ErrNoProgram) {
			return nil, cli.Hint(fmt.Errorf("the program of the saved plan: it was planned in %s, and a plan file does not say which program runs", p.Target),
				"athanor deploy "+src.Target+" TARGET names it")
		}
	}
	next, err := s.app.Source(c.Context, target)
	if err == nil {
		err = s.app.Confine(c, next, s.store)
	}
	if err == nil {
		err = s.app.ReadSource(c, next)
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
func (s *session) adoptStore(c *cli.Context, src *loader.Source, store string) error {
	if s.store != "" || store == "" {
		return nil
	}
	g := s.app.Granted
	if g == nil { // the stack is a program, which may do what its user may; the plan is data all the same
		var err error
		if g, err = s.app.Granting(c, src.Dir, ""); err != nil {
			return err
		}
	}
	s.store = store
	if name := project.StoreName(src.Dir, store); name != g.User.Store {
		return s.app.PermitBy(c.Context, g, grants.Document{Outside: []grants.Ask{{Kind: grants.Store, Value: name, Place: "plan.store"}}})
	}
	return nil
}
