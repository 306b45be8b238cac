package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/savedplan"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/statestore"
)

// session is one command at work on one stage.
type session struct {
	app     *app
	target  string // as a saved plan names it
	store   string // as it was asked for, "" for the project's own
	dir     string // where the target lies
	project *project.Project
	engine  *engine.Engine
	stage   statestore.Stage
	graph   *engine.Graph // holds no resources when a stage is opened without its program
	options engine.PlanOptions
	config  map[string]string
	// configFrom says where the values of config come from.
	configFrom map[string]string
	saved      *engine.Plan
	// savedFile is the file that saved was in.
	savedFile *savedplan.File
	began     time.Time
	// expires is when a stage that is reaped was to be deleted.
	expires time.Time
	// reviewed is the saved plan that a plan may not go beyond, nil for none.
	reviewed *savedplan.File
	// planID is the id of the plan of the service that is deployed, "" for none.
	planID string
	// command is the run's name in the history, "" for that of the command itself; question is asked before a plan is
	// applied, without the stage and the "?".
	command, question string
	// applyPlan applies a plan that is more than one run; nil for the engine's own way.
	applyPlan func(context.Context, *engine.Plan, engine.ApplyOptions) (*engine.Result, error)
	// plans says that the state is read for a plan that is made right away.
	plans bool
	// unobserved is what an untrusted plan did not observe, with the reasons.
	unobserved map[string]string
}

// openSession finds the target, evaluates its program and opens the record. It gives nil when another program did the
// whole command.
func (a *app) openSession(c *cli.Context) (*session, error) {
	targets, program := c.Args().Slice(), ""
	if c.Command.Name == "deploy" && len(targets) == 2 {
		targets, program = targets[:1], targets[1] // a saved plan, and where its program is now
	}
	s, src, err := a.beginAt(c, targets)
	if err == nil {
		err = a.readSource(c, src)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case src.plan != nil && c.Command.Name == "deploy":
		if src, err = s.adoptPlan(c, src, program); err != nil {
			return nil, err
		}
	case program != "":
		return nil, unexpected(program)
	}
	return a.evaluated(c, s, src, 0)
}

func unexpected(argument string) error {
	return cli.Hint(fmt.Errorf("unexpected argument %q", argument), "one TARGET at most; flags may come before or after it")
}

// openProgram is the same for a command whose first names arguments are not the target.
func (a *app) openProgram(c *cli.Context, names int) (*session, error) {
	s, src, err := a.begin(c, names)
	if err != nil {
		return nil, err
	}
	return a.evaluated(c, s, src, names)
}

// evaluated evaluates the program of a session and opens the record.
func (a *app) evaluated(c *cli.Context, s *session, src *source, names int) (*session, error) {
	if err := s.fillConfig(c.Context, src); err != nil {
		return nil, err
	}
	var err error
	if s.graph, err = a.load(c.Context, src, s.stage.Name, s.config); err != nil {
		return nil, a.orDelegate(c, src, names, err)
	}
	s.noteConfig(s.graph)
	c.Context = a.granted.within(c.Context)
	s.stage.Stack = s.graph.Stack
	s.plans = true
	if err := s.open(c, src.dir); err != nil {
		return s, err
	}
	s.unsalted()
	return s, nil
}

// openStage opens a stage with its program, or with --stack by its name and its record alone.
func (a *app) openStage(c *cli.Context) (*session, error) {
	s, src, err := a.begin(c, 0)
	switch {
	case err != nil:
		return nil, err
	case s.stage.Stack == "":
		if err := s.fillConfig(c.Context, src); err != nil {
			return nil, err
		}
		if s.graph, err = a.load(c.Context, src, s.stage.Name, s.config); err != nil {
			if _, must := errors.AsType[*commandError](err); must {
				return nil, a.orDelegate(c, src, 0, err)
			}
			return nil, reconcile.WithHint(err, "state is enough: athanor %s --stack NAME --stage %s", c.Command.Name, s.stage.Name)
		}
		s.stage.Stack = s.graph.Stack
		c.Context = a.granted.within(c.Context)
	default:
		if err := a.permit(c.Context, grants.Document{}); err != nil {
			return nil, err
		}
	}
	if err := s.open(c, src.dir); err != nil || s.graph != nil {
		return s, err
	}
	s.graph = &engine.Graph{Format: engine.GraphFormat, Stack: s.stage.Stack, Stage: s.stage.Name, Dir: src.dir}
	if c.NArg() > 0 {
		return s, nil
	}
	return s, s.findDir(c)
}

// findDir lets relative paths start where the stack lay when it was deployed last, since there is no program to say it.
func (s *session) findDir(c *cli.Context) error {
	dir, err := s.engine.StackDir(c.Context, s.stage)
	s.graph.Dir = cmp.Or(dir, s.graph.Dir)
	if err != nil {
		return cli.Hint(fmt.Errorf("where %s lies: %w", s.stage, err), "name its directory as TARGET: relative paths start there")
	}
	if s.app.granted != nil {
		if s.app.granted, err = s.app.granting(c, s.graph.Dir, s.store); err != nil {
			return err
		}
		c.Context = s.app.granted.within(c.Context)
	}
	return nil
}

// openRecord opens a stage for commands that only look at the record. They need the stack's name and
// nothing else of its program.
func (a *app) openRecord(c *cli.Context, names int) (*session, error) {
	s, dir, err := a.locate(c, names)
	if err != nil || s == nil {
		return nil, err
	}
	return s, s.open(c, dir)
}

// openExisting is [app.openRecord] for a command that makes no sense on a stage that there is not.
func (a *app) openExisting(c *cli.Context, names int) (*session, error) {
	s, err := a.openRecord(c, names)
	if err != nil || s == nil {
		return nil, err
	}
	return s, s.existing(c)
}

// openRuns opens a stage for commands that look at its runs and its lease alone. They need no key.
func (a *app) openRuns(c *cli.Context, names int) (*session, error) {
	s, dir, err := a.locate(c, names)
	if err != nil || s == nil {
		return nil, err
	}
	if s.project, err = project.Open(dir, s.store); err != nil {
		return nil, err
	}
	newest, err := s.atWork(c)
	if err != nil {
		return nil, err
	}
	if newest != nil {
		warnMoved(a.Terminal, s.stage, statestore.MovedBy(newest.Command))
	}
	return s, s.existing(c)
}

// locate finds the stage that a command means and the directory of its stack, without evaluating a program. It gives
// nil when another program did the whole command.
func (a *app) locate(c *cli.Context, names int) (*session, string, error) {
	s, src, err := a.begin(c, names)
	if err != nil {
		return nil, "", err
	}
	if err := a.permit(c.Context, grants.Document{}); err != nil {
		return nil, "", err
	}
	if s.stage.Stack == "" {
		switch {
		case src.goMain:
			if s.stage.Stack, err = a.stackName(c.Context, src); err != nil {
				return nil, "", a.orDelegate(c, src, names, err)
			}
		case src.self:
			s.stage.Stack = a.program.Name
		case src.graph:
			if s.graph, err = a.readGraph(src, s.stage.Name, nil); err == nil {
				s.stage.Stack = s.graph.Stack
			}
		default:
			s.stage.Stack, err = yamlstack.Name(src.data)
		}
		if err != nil {
			return nil, "", cli.Hint(fmt.Errorf("%s: %w", a.Place(src.file()), err), "--stack NAME reads state alone")
		}
	}
	return s, src.dir, nil
}

// begin reads what is common to all commands on a stage. The first names arguments are not the target.
func (a *app) begin(c *cli.Context, names int) (*session, *source, error) {
	s, src, err := a.beginAt(c, c.Args().Slice()[min(names, c.NArg()):])
	if err == nil {
		err = a.readSource(c, src)
	}
	return s, src, err
}

// beginAt is the same for a command whose target is all of these arguments; nothing of the target is read.
func (a *app) beginAt(c *cli.Context, targets []string) (*session, *source, error) {
	if len(targets) > 1 {
		return nil, nil, unexpected(targets[1])
	}
	a.Detailed = c.Bool("detailed")
	if err := noEmptyStage(c); err != nil {
		return nil, nil, err
	}
	s := &session{
		app: a, began: time.Now(), options: cli.PlanOptions(c), store: project.AbsoluteStore(c.String("store")),
		stage: statestore.Stage{Stack: c.String("stack"), Name: cmp.Or(c.String("stage"), project.DefaultStage(c.Command.Name))},
	}
	if err := project.CheckStage(s.stage.Name); err != nil {
		return nil, nil, err
	}
	if err := checkPatterns(c); err != nil {
		return nil, nil, err
	}
	if n := c.Int("parallel"); c.IsSet("parallel") && n < 1 {
		return nil, nil, fmt.Errorf("--parallel %d: at least 1", n)
	}
	var err error
	if s.config, err = cli.ConfigValues(c); err != nil {
		return nil, nil, err
	}
	if d := c.Duration("attempt-timeout"); d < 0 || c.IsSet("attempt-timeout") && d == 0 {
		return nil, nil, fmt.Errorf("attempt timeout %s: it must be more than nothing", d)
	} else if d > 0 {
		c.Context = reconcile.WithAttemptTimeout(c.Context, d)
	}
	if err := useProfile(c.String("profile")); err != nil {
		return nil, nil, err
	}
	c.Context = reconcile.WithPrompt(c.Context, a.Prompt(c.Context))
	target := strings.Join(targets, "")
	if s.stage.Stack != "" {
		src := &source{dir: files.Folder(target)}
		return s, src, s.confine(c, src)
	}
	src, err := a.source(c.Context, target)
	if err != nil {
		return nil, nil, err
	}
	a.Dir, s.target = src.dir, src.name()
	if err := trustedOnly(c, src); err != nil {
		return nil, nil, err
	}
	return s, src, s.confine(c, src)
}

// noEmptyStage refuses a stage that was given and is empty: a script whose variable is not set would work on the default.
func noEmptyStage(c *cli.Context) error {
	value, set := os.LookupEnv("ATHANOR_STAGE")
	switch {
	case c.String("stage") != "":
		return nil
	case set && value == "":
		return cli.Hint(errors.New("$ATHANOR_STAGE is set, and empty"), "unset ATHANOR_STAGE works on the default stage")
	case c.IsSet("stage"):
		return cli.Hint(errors.New("--stage is given, and empty"), "without --stage the default stage is worked on")
	}
	return nil
}

// confine holds a stack that is data to what its user has allowed.
func (s *session) confine(c *cli.Context, src *source) (err error) {
	if src.self || src.goMain || s.app.program != nil {
		return nil
	}
	if s.app.granted, err = s.app.granting(c, src.dir, s.store); err != nil {
		return err
	}
	c.Context = s.app.granted.within(c.Context)
	return nil
}

// readSource reads the file of a target. One that is a link out of the project needs a permission like any other.
func (a *app) readSource(c *cli.Context, src *source) error {
	err := src.read(c.Context)
	ask, outside := targetAsk(err, src)
	if err == nil && a.granted != nil && src.target != "" {
		if real, bad := localfile.Real(src.path); bad == nil && !localfile.Within(a.granted.user.Bounds.Root, real) {
			ask, outside = grants.Ask{Kind: grants.Path, Value: real, Place: "target"}, true // allowed at another place, maybe
		}
	}
	if !outside {
		return err
	}
	if err := a.permit(c.Context, grants.Document{Outside: []grants.Ask{ask}}); err != nil {
		return err
	}
	c.Context = a.granted.within(c.Context)
	return src.read(c.Context) // nothing, when it was read
}

// targetAsk is what the error about reading a target asks for, when it lies outside.
func targetAsk(err error, src *source) (grants.Ask, bool) {
	outside, ok := errors.AsType[*localfile.OutsideError](err)
	if !ok {
		return grants.Ask{}, false
	}
	return grants.Ask{Kind: grants.Path, Value: cmp.Or(outside.Real, src.path), Place: "target"}, true
}

// useProfile hands a credentials profile to the clouds' own clients. One that the program names wins.
func useProfile(name string) error {
	if name == "" {
		return nil
	}
	return errors.Join(os.Setenv("AWS_PROFILE", name), os.Setenv("CLOUDFLARE_PROFILE", name))
}

// open opens the record and makes the engine.
func (s *session) open(c *cli.Context, dir string) error {
	var err error
	s.dir = dir
	if s.project, err = project.Open(dir, s.store); err != nil {
		return err
	}
	s.app.store, s.project.Plans = s.project.Store, s.plans
	if s.engine, err = s.project.Engine(c.Context, s.stage, dir, s.app.catalog, c.Bool("accept-older-state")); err != nil {
		return err
	}
	warnMoved(s.app.Terminal, s.stage, s.project.MovedTo)
	s.options.Incomplete = s.options.Incomplete || s.project.Older
	s.engine.Parallel, s.engine.Peers, s.engine.KeepDurations = c.Int("parallel"), newPeers(c, s), true
	s.app.Redacted, s.engine.Events = s.engine.Redacted, s.app.Waiting
	if s.savedFile != nil {
		return s.savedFile.Authentic(s.engine.Key, s.stage)
	}
	return nil
}

// plan plans, or gives the saved plan that is to be applied.
func (s *session) plan(ctx context.Context) (*engine.Plan, error) {
	if s.saved != nil {
		return s.saved, nil
	}
	return s.planning(func() (*engine.Plan, error) { return s.engine.Plan(ctx, s.graph, s.options) })
}

// warnMoved says that a stage was moved to another store, where its state goes on. What this store has of it is old.
func warnMoved(t *terminal.Terminal, stage statestore.Stage, where string) {
	if where == "" {
		return
	}
	t.Warn("%s was moved to %s: what this store has of it is old. --store or $ATHANOR_STORE names the new one.", stage, where)
}
