// Package session is one command at work on one stage: it finds what a command line means, evaluates the program, opens the state, and shows,
// asks for, applies and reports a plan.
//
// What a plan does is the engine's business, and what is asked before it and after it is that of each command.
package session

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

// Opener opens the sessions of one call of the command.
type Opener struct {
	*loader.Loader

	Release release.Release
	// Store is closed at the end; nil before there is one.
	Store io.Closer
}

// Session is one command at work on one stage.
type Session struct {
	Opener  *Opener
	target  string // as a saved plan names it
	Store   string // as it was asked for, "" for the project's own
	Dir     string // where the target lies
	Project *project.Project
	Engine  *engine.Engine
	Stage   statestore.Stage
	Graph   *engine.Graph // holds no resources when a stage is opened without its program
	Options engine.PlanOptions
	Config  map[string]string
	// configFrom says where the values of config come from.
	configFrom map[string]string
	// savedFile is the saved plan that is applied, nil for none.
	savedFile *savedplan.File
	Began     time.Time
	// Expires is when a stage that is reaped was to be deleted.
	Expires time.Time
	// reviewed is the saved plan that a plan may not go beyond, nil for none.
	reviewed *savedplan.File
	// planID is the id of the plan of the service that is deployed, "" for none.
	planID string
	// Command is the run's name in the history, "" for that of the command itself; question is asked before a plan is
	// applied, without the stage and the "?".
	Command, Question string
	// ApplyPlan applies a plan that is more than one run; nil for the engine's own way.
	ApplyPlan func(context.Context, *engine.Plan, engine.ApplyOptions) (*engine.Result, error)
	// plans says that the state is read for a plan that is made right away.
	plans bool
	// Unobserved is what an untrusted plan did not observe, with the reasons.
	Unobserved map[string]string
}

// OpenTarget finds the target, evaluates its program and opens the record. It gives nil when another program did the
// whole command.
func (o *Opener) OpenTarget(c *cli.Context) (*Session, error) {
	targets, program := c.Args().Slice(), ""
	if c.Command.Name == "deploy" && len(targets) == 2 {
		targets, program = targets[:1], targets[1] // a saved plan, and where its program is now
	}
	s, src, err := o.BeginAt(c, targets)
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
	return o.Evaluated(c, s, src, 0)
}

func unexpected(argument string) error {
	return cli.Hint(fmt.Errorf("unexpected argument %q", argument), "one TARGET at most; flags may come before or after it")
}

// OpenProgram is the same for a command whose first names arguments are not the target.
func (o *Opener) OpenProgram(c *cli.Context, names int) (*Session, error) {
	s, src, err := o.Begin(c, names)
	if err != nil {
		return nil, err
	}
	return o.Evaluated(c, s, src, names)
}

// Evaluated evaluates the program of a session and opens the record.
func (o *Opener) Evaluated(c *cli.Context, s *Session, src *loader.Source, names int) (*Session, error) {
	var err error
	if s.Graph, err = s.Evaluate(c.Context, src); err != nil {
		return nil, o.OrDelegate(c, src, names, err)
	}
	s.noteConfig(s.Graph)
	c.Context = o.Granted.Within(c.Context)
	s.Stage.Stack = s.Graph.Stack
	s.plans = true
	if err := s.Open(c, src.Dir); err != nil {
		return s, err
	}
	s.Unsalted()
	return s, nil
}

// OpenStage opens a stage with its program, or with --stack by its name and its record alone.
func (o *Opener) OpenStage(c *cli.Context) (*Session, error) {
	s, src, err := o.Begin(c, 0)
	switch {
	case err != nil:
		return nil, err
	case s.Stage.Stack == "":
		if err := s.FillConfig(c.Context, src); err != nil {
			return nil, err
		}
		if s.Graph, err = o.Load(c.Context, src, s.Stage.Name, s.Config); err != nil {
			if _, must := errors.AsType[*loader.CommandError](err); must {
				return nil, o.OrDelegate(c, src, 0, err)
			}
			return nil, reconcile.WithHint(err, "state is enough: athanor %s --stack NAME --stage %s", c.Command.Name, s.Stage.Name)
		}
		s.Stage.Stack = s.Graph.Stack
		c.Context = o.Granted.Within(c.Context)
	default:
		if err := o.Permit(c.Context, grants.Document{}); err != nil {
			return nil, err
		}
	}
	if err := s.Open(c, src.Dir); err != nil || s.Graph != nil {
		return s, err
	}
	s.Graph = &engine.Graph{Format: engine.GraphFormat, Stack: s.Stage.Stack, Stage: s.Stage.Name, Dir: src.Dir}
	if c.NArg() > 0 {
		return s, nil
	}
	return s, s.FindDir(c)
}

// FindDir lets relative paths start where the stack lay when it was deployed last, since there is no program to say it.
func (s *Session) FindDir(c *cli.Context) error {
	dir, err := s.Engine.StackDir(c.Context, s.Stage)
	s.Graph.Dir = cmp.Or(dir, s.Graph.Dir)
	if err != nil {
		return cli.Hint(fmt.Errorf("where %s lies: %w", s.Stage, err), "name its directory as TARGET: relative paths start there")
	}
	if s.Opener.Granted != nil {
		if s.Opener.Granted, err = s.Opener.Granting(c, s.Graph.Dir, s.Store); err != nil {
			return err
		}
		c.Context = s.Opener.Granted.Within(c.Context)
	}
	return nil
}

// OpenRecord opens a stage for commands that only look at the record. They need the stack's name and
// nothing else of its program.
func (o *Opener) OpenRecord(c *cli.Context, names int) (*Session, error) {
	s, dir, err := o.Locate(c, names)
	if err != nil || s == nil {
		return nil, err
	}
	return s, s.Open(c, dir)
}

// OpenExisting is [Opener.OpenRecord] for a command that makes no sense on a stage that there is not.
func (o *Opener) OpenExisting(c *cli.Context, names int) (*Session, error) {
	s, err := o.OpenRecord(c, names)
	if err != nil || s == nil {
		return nil, err
	}
	return s, s.existing(c)
}

// OpenRuns opens a stage for commands that look at its runs and its lease alone. They need no key.
func (o *Opener) OpenRuns(c *cli.Context, names int) (*Session, error) {
	s, dir, err := o.Locate(c, names)
	if err != nil || s == nil {
		return nil, err
	}
	if s.Project, err = project.Open(dir, s.Store); err != nil {
		return nil, err
	}
	newest, err := s.AtWork(c)
	if err != nil {
		return nil, err
	}
	if newest != nil {
		warnMoved(o.Terminal, s.Stage, statestore.MovedBy(newest.Command))
	}
	return s, s.existing(c)
}

// Locate finds the stage that a command means and the directory of its stack, without evaluating a program. It gives
// nil when another program did the whole command.
func (o *Opener) Locate(c *cli.Context, names int) (*Session, string, error) {
	s, src, err := o.Begin(c, names)
	if err != nil {
		return nil, "", err
	}
	if err := o.Permit(c.Context, grants.Document{}); err != nil {
		return nil, "", err
	}
	if s.Stage.Stack == "" {
		switch {
		case src.GoMain:
			if s.Stage.Stack, err = o.StackName(c.Context, src); err != nil {
				return nil, "", o.OrDelegate(c, src, names, err)
			}
		case src.Self:
			s.Stage.Stack = o.Program.Name
		case src.Graph:
			if s.Graph, err = o.ReadGraph(src, s.Stage.Name, nil); err == nil {
				s.Stage.Stack = s.Graph.Stack
			}
		default:
			s.Stage.Stack, err = yamlstack.Name(src.Data)
		}
		if err != nil {
			return nil, "", cli.Hint(fmt.Errorf("%s: %w", o.Place(src.File()), err), "--stack NAME reads state alone")
		}
	}
	return s, src.Dir, nil
}

// Begin reads what is common to all commands on a stage. The first names arguments are not the target.
func (o *Opener) Begin(c *cli.Context, names int) (*Session, *loader.Source, error) {
	s, src, err := o.BeginAt(c, c.Args().Slice()[min(names, c.NArg()):])
	if err == nil {
		err = o.ReadSource(c, src)
	}
	return s, src, err
}

// BeginAt is the same for a command whose target is all of these arguments; nothing of the target is read.
func (o *Opener) BeginAt(c *cli.Context, targets []string) (*Session, *loader.Source, error) {
	if len(targets) > 1 {
		return nil, nil, unexpected(targets[1])
	}
	o.Detailed = c.Bool("detailed")
	if err := NoEmptyStage(c); err != nil {
		return nil, nil, err
	}
	s := &Session{
		Opener: o, Began: time.Now(), Options: cli.PlanOptions(c), Store: project.AbsoluteStore(c.String("store")),
		Stage: statestore.Stage{Stack: c.String("stack"), Name: cmp.Or(c.String("stage"), project.DefaultStage(c.Command.Name))},
	}
	if err := project.CheckStage(s.Stage.Name); err != nil {
		return nil, nil, err
	}
	if err := checkPatterns(c); err != nil {
		return nil, nil, err
	}
	var err error
	if s.Config, err = cli.ConfigValues(c); err != nil {
		return nil, nil, err
	}
	if d := c.Duration("attempt-timeout"); d > 0 {
		c.Context = reconcile.WithAttemptTimeout(c.Context, d)
	}
	if err := UseProfile(c.String("profile")); err != nil {
		return nil, nil, err
	}
	c.Context = reconcile.WithPrompt(c.Context, o.Prompt(c.Context))
	target := strings.Join(targets, "")
	if s.Stage.Stack != "" {
		src := &loader.Source{Dir: files.Folder(target)}
		if s.Store == "" {
			if _, err := files.ExistingFolder(target); err != nil {
				return nil, nil, err
			}
		}
		return s, src, o.Confine(c, src, s.Store)
	}
	src, err := o.Source(c.Context, target)
	if err != nil {
		return nil, nil, err
	}
	o.Dir, s.target = src.Dir, src.Name()
	if err := loader.TrustedOnly(c, src); err != nil {
		return nil, nil, err
	}
	return s, src, o.Confine(c, src, s.Store)
}

// NoEmptyStage refuses a stage that was given and is empty: a script whose variable is not set would work on the default.
func NoEmptyStage(c *cli.Context) error {
	if value, set := os.LookupEnv("ATHANOR_STAGE"); set && value == "" && c.String("stage") == "" {
		return cli.Hint(errors.New("$ATHANOR_STAGE is set, and empty"), "unset ATHANOR_STAGE works on the default stage")
	}
	return nil
}

// UseProfile hands a credentials profile to the clouds' own clients. One that the program names wins.
func UseProfile(name string) error {
	if name == "" {
		return nil
	}
	return errors.Join(os.Setenv("AWS_PROFILE", name), os.Setenv("CLOUDFLARE_PROFILE", name))
}

// Open opens the record and makes the engine.
func (s *Session) Open(c *cli.Context, dir string) error {
	var err error
	s.Dir = dir
	if s.Project, err = project.Open(dir, s.Store); err != nil {
		return err
	}
	s.Opener.Store, s.Project.Plans = s.Project.Store, s.plans
	if s.Engine, err = s.Project.Engine(c.Context, s.Stage, dir, s.Opener.Catalog, c.Bool("accept-older-state")); err != nil {
		return err
	}
	warnMoved(s.Opener.Terminal, s.Stage, s.Project.MovedTo)
	s.Options.Incomplete = s.Options.Incomplete || s.Project.Older
	s.Engine.Parallel, s.Engine.Peers, s.Engine.KeepDurations = c.Int("parallel"), NewPeers(c, s), true
	s.Opener.Redacted, s.Engine.Events = s.Engine.Redacted, s.Opener.Waiting
	if s.savedFile != nil {
		return s.savedFile.Authentic(s.Engine.Key, s.Stage)
	}
	return nil
}

// Plan plans, or gives the saved plan that is to be applied.
func (s *Session) Plan(ctx context.Context) (*engine.Plan, error) {
	if s.savedFile != nil {
		return s.savedFile.Plan(), nil
	}
	return s.Planning(func() (*engine.Plan, error) { return s.Engine.Plan(ctx, s.Graph, s.Options) })
}

// warnMoved says that a stage was moved to another store, where its state goes on. What this store has of it is old.
func warnMoved(t *terminal.Terminal, stage statestore.Stage, where string) {
	if where == "" {
		return
	}
	t.Warn("%s was moved to %s: what this store has of it is old. --store or $ATHANOR_STORE names the new one.", stage, where)
}

// OpenStore opens the state store of the directory that the command names, without a program.
func (o *Opener) OpenStore(c *cli.Context) (*project.Project, error) {
	if c.NArg() > 1 {
		return nil, cli.Hint(fmt.Errorf("unexpected argument %q", c.Args().Get(1)), "one DIRECTORY at most")
	}
	dir, err := files.ExistingFolder(c.Args().First())
	if err != nil {
		return nil, err
	}
	if o.Program != nil && c.NArg() == 0 {
		dir = o.Program.Dir
	}
	store := project.AbsoluteStore(c.String("store"))
	if err := o.Confine(c, &loader.Source{Dir: dir}, store); err != nil {
		return nil, err
	}
	if err := o.Permit(c.Context, grants.Document{}); err != nil {
		return nil, err
	}
	p, err := project.Open(dir, store)
	if err == nil {
		o.Store = p.Store
	}
	return p, err
}

// OpenState opens a stage for a command that changes its record. The first names arguments are not the target.
func (o *Opener) OpenState(c *cli.Context, names int, question string) (*Session, error) {
	s, err := o.OpenExisting(c, names)
	if err != nil || s == nil {
		return nil, err
	}
	s.Command, s.Question = "state", question
	if s.Graph == nil {
		s.Graph = &engine.Graph{Format: engine.GraphFormat, Stack: s.Stage.Stack, Stage: s.Stage.Name, Dir: s.Dir}
	}
	if c.String("stack") != "" && c.NArg() == names {
		return s, s.FindDir(c)
	}
	return s, nil
}

// Unsalted says how a stage gets a better key whose key guesses of one passphrase can be compared with.
func (s *Session) Unsalted() {
	if s.Engine.Key.Origin().Unsalted {
		a := s.Opener
		fmt.Fprintf(a.Err, "note: the key of %s is derived from its passphrase without a random salt\n", s.Stage)
		a.Style(a.Err).Hints(a.Err, []string{"athanor secret rotate --stage " + s.Stage.Name + " gives it a random one"})
	}
}

// AtWork is the run that holds the stage, or that has it by the record although it died; nil when there is none.
func (s *Session) AtWork(c *cli.Context) (*statestore.Run, error) {
	newest, err := s.Project.Store.Runs(c.Context, s.Stage, 1)
	if err != nil || len(newest) == 0 || newest[0].State != statestore.Running {
		return nil, err
	}
	return &newest[0], nil
}

// addressPatterns are the flags that take patterns of addresses.
var addressPatterns = []string{"target", "exclude", "replace", "allow-delete", "remote"}

// checkPatterns refuses patterns that no address can match, such as those of a shell: a typing mistake in --exclude would let the
// resource be changed.
func checkPatterns(c *cli.Context) error {
	for _, name := range addressPatterns {
		for _, pattern := range c.StringSlice(name) {
			if what := notInAddresses(pattern); what != "" {
				return cli.Hint(fmt.Errorf("--%s %s: no address has %s", name, pattern, what),
					"* stands for any text within one part of an address, ** for any text; athanor graph lists the addresses")
			}
		}
	}
	return nil
}

// notInAddresses says what in a pattern no address has, "" for nothing.
func notInAddresses(pattern string) string {
	if pattern == "" {
		return "no text"
	}
	for _, r := range pattern {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./[]*", r) {
			continue
		}
		return fmt.Sprintf("%q", string(r))
	}
	if _, key, keyed := strings.Cut(pattern, "["); keyed && !strings.ContainsAny(key, "]*") {
		return "a [ without its ]"
	}
	return ""
}
