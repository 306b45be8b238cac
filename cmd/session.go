package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/release"
	"github.com/athanor-dev/athanor/cmd/internal/savedplan"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// opener opens the sessions of one call of the command.
type opener struct {
	*loader.Loader

	release release.Release
	// store is closed at the end; nil before there is one.
	store io.Closer
}

// session is one command at work on one stage.
type session struct {
	app     *opener
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
func (o *opener) openSession(c *cli.Context) (*session, error) {
	targets, program := c.Args().Slice(), ""
	if c.Command.Name == "deploy" && len(targets) == 2 {
		targets, program = targets[:1], targets[1] // a saved plan, and where its program is now
	}
	s, src, err := o.beginAt(c, targets)
	if err == nil {
		err = o.ReadSource(c, src)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case src.Plan != nil && c.Command.Name == "deploy":
		if src, err = s.adoptPlan(c, src, program); err != nil {
			return nil, err
		}
	case program != "":
		return nil, unexpected(program)
	}
	return o.evaluated(c, s, src, 0)
}

func unexpected(argument string) error {
	return cli.Hint(fmt.Errorf("unexpected argument %q", argument), "one TARGET at most; flags may come before or after it")
}

// openProgram is the same for a command whose first names arguments are not the target.
func (o *opener) openProgram(c *cli.Context, names int) (*session, error) {
	s, src, err := o.begin(c, names)
	if err != nil {
		return nil, err
	}
	return o.evaluated(c, s, src, names)
}

// evaluated evaluates the program of a session and opens the record.
func (o *opener) evaluated(c *cli.Context, s *session, src *loader.Source, names int) (*session, error) {
	if err := s.fillConfig(c.Context, src); err != nil {
		return nil, err
	}
	var err error
	if s.graph, err = o.Load(c.Context, src, s.stage.Name, s.config); err != nil {
		return nil, o.OrDelegate(c, src, names, err)
	}
	s.noteConfig(s.graph)
	c.Context = o.Granted.Within(c.Context)
	s.stage.Stack = s.graph.Stack
	s.plans = true
	if err := s.open(c, src.Dir); err != nil {
		return s, err
	}
	s.unsalted()
	return s, nil
}

// openStage opens a stage with its program, or with --stack by its name and its record alone.
func (o *opener) openStage(c *cli.Context) (*session, error) {
	s, src, err := o.begin(c, 0)
	switch {
	case err != nil:
		return nil, err
	case s.stage.Stack == "":
		if err := s.fillConfig(c.Context, src); err != nil {
			return nil, err
		}
		if s.graph, err = o.Load(c.Context, src, s.stage.Name, s.config); err != nil {
			if _, must := errors.AsType[*loader.CommandError](err); must {
				return nil, o.OrDelegate(c, src, 0, err)
			}
			return nil, reconcile.WithHint(err, "state is enough: athanor %s --stack NAME --stage %s", c.Command.Name, s.stage.Name)
		}
		s.stage.Stack = s.graph.Stack
		c.Context = o.Granted.Within(c.Context)
	default:
		if err := o.Permit(c.Context, grants.Document{}); err != nil {
			return nil, err
		}
	}
	if err := s.open(c, src.Dir); err != nil || s.graph != nil {
		return s, err
	}
	s.graph = &engine.Graph{Format: engine.GraphFormat, Stack: s.stage.Stack, Stage: s.stage.Name, Dir: src.Dir}
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
	if s.app.Granted != nil {
		if s.app.Granted, err = s.app.Granting(c, s.graph.Dir, s.store); err != nil {
			return err
		}
		c.Context = s.app.Granted.Within(c.Context)
	}
	return nil
}

// openRecord opens a stage for commands that only look at the record. They need the stack's name and
// nothing else of its program.
func (o *opener) openRecord(c *cli.Context, names int) (*session, error) {
	s, dir, err := o.locate(c, names)
	if err != nil || s == nil {
		return nil, err
	}
	return s, s.open(c, dir)
}

// openExisting is [app.openRecord] for a command that makes no sense on a stage that there is not.
func (o *opener) openExisting(c *cli.Context, names int) (*session, error) {
	s, err := o.openRecord(c, names)
	if err != nil || s == nil {
		return nil, err
	}
	return s, s.existing(c)
}

// openRuns opens a stage for commands that look at its runs and its lease alone. They need no key.
func (o *opener) openRuns(c *cli.Context, names int) (*session, error) {
	s, dir, err := o.locate(c, names)
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
		warnMoved(o.Terminal, s.stage, statestore.MovedBy(newest.Command))
	}
	return s, s.existing(c)
}

// locate finds the stage that a command means and the directory of its stack, without evaluating a program. It gives
// nil when another program did the whole command.
func (o *opener) locate(c *cli.Context, names int) (*session, string, error) {
	s, src, err := o.begin(c, names)
	if err != nil {
		return nil, "", err
	}
	if err := o.Permit(c.Context, grants.Document{}); err != nil {
		return nil, "", err
	}
	if s.stage.Stack == "" {
		switch {
		case src.GoMain:
			if s.stage.Stack, err = o.StackName(c.Context, src); err != nil {
				return nil, "", o.OrDelegate(c, src, names, err)
			}
		case src.Self:
			s.stage.Stack = o.Program.Name
		case src.Graph:
			if s.graph, err = o.ReadGraph(src, s.stage.Name, nil); err == nil {
				s.stage.Stack = s.graph.Stack
			}
		default:
			s.stage.Stack, err = yamlstack.Name(src.Data)
		}
		if err != nil {
			return nil, "", cli.Hint(fmt.Errorf("%s: %w", o.Place(src.File()), err), "--stack NAME reads state alone")
		}
	}
	return s, src.Dir, nil
}

// begin reads what is common to all commands on a stage. The first names arguments are not the target.
func (o *opener) begin(c *cli.Context, names int) (*session, *loader.Source, error) {
	s, src, err := o.beginAt(c, c.Args().Slice()[min(names, c.NArg()):])
	if err == nil {
		err = o.ReadSource(c, src)
	}
	return s, src, err
}

// beginAt is the same for a command whose target is all of these arguments; nothing of the target is read.
func (o *opener) beginAt(c *cli.Context, targets []string) (*session, *loader.Source, error) {
	if len(targets) > 1 {
		return nil, nil, unexpected(targets[1])
	}
	o.Detailed = c.Bool("detailed")
	if err := noEmptyStage(c); err != nil {
		return nil, nil, err
	}
	s := &session{
		app: o, began: time.Now(), options: cli.PlanOptions(c), store: project.AbsoluteStore(c.String("store")),
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
	c.Context = reconcile.WithPrompt(c.Context, o.Prompt(c.Context))
	target := strings.Join(targets, "")
	if s.stage.Stack != "" {
		src := &loader.Source{Dir: files.Folder(target)}
		return s, src, o.Confine(c, src, s.store)
	}
	src, err := o.Source(c.Context, target)
	if err != nil {
		return nil, nil, err
	}
	o.Dir, s.target = src.Dir, src.Name()
	if err := loader.TrustedOnly(c, src); err != nil {
		return nil, nil, err
	}
	return s, src, o.Confine(c, src, s.store)
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
	if s.engine, err = s.project.Engine(c.Context, s.stage, dir, s.app.Catalog, c.Bool("accept-older-state")); err != nil {
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
