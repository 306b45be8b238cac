package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/athanor-dev/athanor/cmd/internal/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// session is one command at work on one stage.
type session struct {
	app     *app
	target  string // as it was given, absolute where it is a path
	project *project
	engine  *engine.Engine
	stage   statestore.Stage
	graph   *engine.Graph // nil for a destroy without a program
	options engine.PlanOptions
	config  map[string]string
	store   string
	saved   *engine.Plan
}

// openSession finds the target, evaluates its program and opens the record. It gives nil when another program did the
// whole command.
func (a *app) openSession(c *cli.Context) (*session, error) {
	s, src, err := a.begin(c)
	if err != nil {
		return nil, err
	}
	if src.goMain {
		return nil, a.delegate(c, src)
	}
	if src.plan != nil {
		if src, err = s.adoptPlan(c, src); err != nil {
			return nil, err
		}
		if src.goMain {
			return nil, a.delegate(c, src)
		}
	}
	if s.graph, err = a.load(c.Context, src, s.stage.Name, s.config); err != nil {
		return nil, err
	}
	s.stage.Stack = s.graph.Stack
	return s, s.open(c, src)
}

// begin reads what is common to all commands on a stage.
func (a *app) begin(c *cli.Context) (*session, *source, error) {
	if c.NArg() > 1 {
		return nil, nil, hint(fmt.Errorf("unexpected argument %q", c.Args().Get(1)), "one TARGET at most; flags may come before or after it")
	}
	stage := c.String("stage")
	if stage == "" {
		stage = defaultStage()
	}
	if err := checkStage(stage); err != nil {
		return nil, nil, err
	}
	config, err := configValues(c)
	if err != nil {
		return nil, nil, err
	}
	src, err := a.source(c.Args().First())
	if err != nil {
		return nil, nil, err
	}
	s := &session{
		app: a, target: src.name(), stage: statestore.Stage{Name: stage}, options: planOptions(c), config: config, store: c.String("store"),
	}
	if profile := c.String("profile"); profile != "" {
		// The clouds' own clients read these; a profile that the program names wins.
		if err := os.Setenv("AWS_PROFILE", profile); err != nil {
			return nil, nil, err
		}
	}
	return s, src, nil
}

// open opens the record and makes the engine.
func (s *session) open(c *cli.Context, src *source) error {
	var err error
	if s.project, err = openProject(src.dir, s.store); err != nil {
		return err
	}
	if s.engine, err = s.project.engine(c.Context, s.stage, s.app.catalog); err != nil {
		return err
	}
	s.engine.Parallel = c.Int("parallel")
	return nil
}

// adoptPlan takes over what a saved plan says of its program.
func (s *session) adoptPlan(c *cli.Context, src *source) (*source, error) {
	p := src.plan
	s.saved, s.options, s.stage.Name, s.config = p.Plan, p.Options, p.Stage, p.Config
	if s.store == "" {
		s.store = p.Store
	}
	next, err := s.app.source(p.Target)
	if err != nil {
		return nil, fmt.Errorf("the program of the plan: %w", err)
	}
	if next.goMain {
		next.planFile = src.path
	}
	return next, nil
}

func (s *session) plan(ctx context.Context) (*engine.Plan, error) {
	return s.engine.Plan(ctx, s.graph, s.options)
}

// savePlan writes a plan to a file that only its owner can read.
func (s *session) savePlan(file string, p *engine.Plan) error {
	data, err := encodePlan(savedPlan{
		Format: savedPlanFormat, Target: s.target, Stage: s.stage.Name, Store: s.store, Config: s.config, Options: s.options, Plan: p,
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	return os.Chmod(file, 0o600)
}

// openDestroy opens a stage for destroying: with its program where that loads, else by its name alone.
func (a *app) openDestroy(c *cli.Context) (*session, error) {
	s, src, err := a.begin(c)
	if err != nil {
		return nil, err
	}
	if stack := c.String("stack"); stack != "" {
		s.stage.Stack = stack
		return s, s.open(c, src)
	}
	if src.goMain {
		return nil, a.delegate(c, src)
	}
	graph, err := a.load(c.Context, src, s.stage.Name, s.config)
	if err != nil {
		return nil, reconcile.WithHint(err, "the record is enough: athanor destroy --stack NAME --stage %s", s.stage.Name)
	}
	s.graph, s.stage.Stack = graph, graph.Stack
	return s, s.open(c, src)
}

// readOnly opens a stage for commands that only look at the record. A program that does not load is no
// obstacle when --stack names the stack.
func (a *app) readOnly(c *cli.Context, arguments int) (*session, error) {
	target := ""
	if c.NArg() > arguments {
		target = c.Args().Get(arguments)
	}
	stage := c.String("stage")
	if stage == "" {
		stage = defaultStage()
	}
	src, err := a.source(target)
	if err != nil {
		return nil, err
	}
	s := &session{app: a, stage: statestore.Stage{Name: stage, Stack: c.String("stack")}, store: c.String("store")}
	if s.stage.Stack == "" {
		if src.goMain {
			return nil, a.delegate(c, src)
		}
		graph, err := a.load(c.Context, src, stage, nil)
		if err != nil {
			return nil, reconcile.WithHint(err, "--stack NAME goes by the record alone")
		}
		s.graph, s.stage.Stack = graph, graph.Stack
	}
	return s, s.open(c, src)
}

// parsePlan recognises a saved plan.
func parsePlan(data []byte) (*savedPlan, error) {
	var probe struct {
		Format *int `json:"athanorPlan"`
	}
	if err := json.Unmarshal(data, &probe); err != nil || probe.Format == nil {
		return nil, nil //nolint:nilnil // it is not a saved plan, which is no error
	}
	if *probe.Format != savedPlanFormat {
		return nil, fmt.Errorf("saved plan: format %d; this athanor reads format %d", *probe.Format, savedPlanFormat)
	}
	var p savedPlan
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("saved plan: %w", err)
	}
	if p.Plan == nil {
		return nil, errors.New("saved plan: it holds no plan")
	}
	return &p, nil
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

var _ = render.Elapsed
