// Package devsession is the command dev: it gives the loop of package devloop its program, its stage and its screen.
//
// What comes next in a session is decided there.
package devsession

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/devloop"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/traces"
	"github.com/athanor-dev/athanor/cmd/internal/watch"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/cmd/stackprogram"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/local"
)

// lookEvery is the time between two rounds that observe a few of the unchanged resources.
const lookEvery = 10 * time.Second

// Command is the command dev. again: this process takes the place of an older one in a session.
func Command(o *session.Opener, again bool) *cli.Command {
	return &cli.Command{
		Name: project.DevName, Usage: "deploy, then watch and deploy again on each change", ArgsUsage: "[TARGET]",
		Description: `Watches what the stack is made of: the program with all that it imports or includes, secret files, and the files
and folders that resources are made of. Each save is deployed without asking; only what it changed is read.
The other resources are read in the background, a few at a time, and changed back when something outside athanor
changed them.

What does not build or plan is printed, and what runs keeps running. A save in the middle of a deploy lets running
calls finish, and goes on with the newest program. Ctrl-C ends it with complete state.

It works on a stage of its own, and refuses a stage that another command created. With --here it works on that
too, and deletes nothing there that it did not create.

` + loader.TargetHelp + `

Exit codes: 0 ended; 1 error; 3 another dev session has the stage; 4 --destroy-on-exit could not delete all;
130 interrupted in the middle of a deploy.`,
		UsageText: `dev                             the stack in this directory
dev ./shop --destroy-on-exit    leave nothing behind
dev --json                      for programs: each step of the loop as a JSON line
dev --stage staging --here      on what was deployed; deletes nothing of it`,
		Flags: cli.StageFlags(project.DefaultStage(project.DevName), cli.DeleteFlags(
			&cli.BoolFlag{Name: "here", Usage: "work on a stage that dev did not create; delete nothing of it"},
			&cli.StringSliceFlag{Name: "remote", Usage: "create `ADDRESS` (globs; may be repeated) in the cloud although it could be local"},
			&cli.BoolFlag{Name: "destroy-on-exit", Usage: "delete what dev created when it ends"},
			&cli.GenericFlag{Name: "look", Value: &cli.Duration{Value: lookEvery}, Usage: "read a few of the unchanged resources every `DURATION`; default 10s, 0 never"},
			session.NewStageFlag(), cli.AdoptFlag())...),
		Action: func(c *cli.Context) error { return run(o, c, again) },
	}
}

// dev is one session: what the loop works with, and what it is shown on.
type dev struct {
	opener *session.Opener
	c      *cli.Context
	src    *loader.Source
	s      *session.Session
	loop   *devloop.Session
	lock   *devloop.Lock
	lines  *terminal.Lines
	screen devScreen
	traces devTraces
	status *render.Status // nil where there is none
}

func run(o *session.Opener, c *cli.Context, again bool) (err error) {
	o.InDev = true
	s, src, err := o.Begin(c, 0)
	if err != nil {
		return err
	}
	if err := s.FillConfig(c.Context, src); err != nil {
		return err
	}
	d := &dev{opener: o, c: c, src: src, s: s}
	program, err := programOf(o.Loader, s, src)
	if err != nil {
		return err
	}
	watcher, err := watch.New()
	if err != nil {
		return err
	}
	stopped := o.Interrupts.Applying(d.stopping)
	told := o.Err
	if o.AsJSON {
		told = o.Out
	}
	unread, err := o.Interrupts.HangUpUnread(told)
	if err != nil {
		return err
	}
	defer unread()
	d.status = o.KeepStatus()
	d.loop = &devloop.Session{
		Machine: devloop.Machine{ObserveEvery: c.Duration("look"), DestroyOnExit: c.Bool("destroy-on-exit"), Whole: !again},
		Source:  program, View: d, Watcher: watcher, Interrupted: stopped,
		Open: d.open, Options: d.options, Secrets: d.secretFiles, Refused: whyBlocked, Destroy: d.destroy,
	}
	exit := d.loop.Run(c.Context)
	d.traces.close()
	if over, ok := errors.AsType[*devloop.HandOver](exit.Err); ok {
		return d.handOver(over)
	}
	if err := errors.Join(d.close(), exit.Err); err != nil || !exit.Cut {
		return err
	}
	return cli.Exit(cli.ExitInterrupted)
}

// open opens the stage of a graph for the session.
func (d *dev) open(ctx context.Context, g *engine.Graph) (*engine.Engine, error) {
	s, c := d.s, *d.c
	c.Context = ctx
	s.Stage.Stack, s.Graph = g.Stack, g
	if err := s.Open(&c, d.src.Dir); err != nil {
		return nil, err
	}
	if _, err := s.NewStage(&c, len(g.Resources)); err != nil {
		return nil, err
	}
	dir := filepath.Join(s.Project.Root, ".athanor", "dev")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := loader.Ignore(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	var err error
	if d.lock, err = devloop.TakeLock(dir, s.Stage); err != nil {
		return nil, err
	}
	d.lines = d.opener.NewLines(d.opener.Err, false)
	d.traces.about = traces.About{Version: d.opener.Release.Text(), Stack: s.Stage.Stack, Stage: s.Stage.Name, Command: project.DevName}
	d.traces.warn = func(text string) { d.screen.apart(func() { d.opener.Warn("%s", text) }) }
	s.Engine.Warm, s.Engine.Events, s.Engine.Dev = engine.NewWarm(), d.event, newDev(s.Project, d.lines)
	return s.Engine, nil
}

// options are the options of a plan of the session.
func (d *dev) options(mode *engine.Dev) engine.PlanOptions {
	o := d.s.Options
	mode.Here, mode.Remote = mode.Here || d.c.Bool("here"), d.c.StringSlice("remote")
	o.Dev = mode
	return o
}

// whyBlocked is why a plan of the session is not applied; nil when it is.
func whyBlocked(p *engine.Plan) error {
	return p.BlockedError(p.Blocked())
}

// destroy deletes what dev created of the stage. A further signal cancels it.
func (d *dev) destroy(ctx context.Context, g *engine.Graph) error {
	// What dev did not create stays anyway.
	e, o := d.s.Engine, d.options(&engine.Dev{Here: true, Narrow: true})
	p, err := e.PlanDestroy(ctx, d.s.Stage, g, o)
	if err != nil {
		return err
	}
	d.Begin(p)
	res, err := e.Apply(ctx, p, engine.ApplyOptions{
		PlanOptions: o, Command: project.DevName, Wait: time.Minute, Approve: func(*engine.Plan) bool { return true },
	})
	d.End()
	if res == nil {
		return err
	}
	d.Report(devloop.LineDestroyed, res, p)
	if err = errors.Join(err, session.Verdict(res, p)); err == nil {
		d.s.Forget(ctx, p)
	}
	return err
}

// endPatience is how long what the session owns may take to end in good order.
const endPatience = 10 * time.Second

// close ends the session and everything that it owns.
func (d *dev) close() error {
	if d.status != nil {
		d.status.Set("")
	}
	errs := []error{d.loop.Watcher.Close()}
	if e := d.s.Engine; e != nil && e.Dev != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(d.c.Context), endPatience)
		defer cancel()
		errs = append(errs, e.Dev.Close(ctx))
		if snap, err := e.Store.Load(ctx, d.s.Stage); err == nil && d.lock != nil {
			errs = append(errs, local.SweepLogs(e.Dev.Dir, d.s.Stage.Stack, d.s.Stage.Name, maps.Keys(snap.Rows)))
		}
	}
	return errors.Join(append(errs, d.lock.Release())...)
}

// handOver lets the new program take the place of this process.
func (d *dev) handOver(over *devloop.HandOver) error {
	if err := errors.Join(d.close(), d.opener.EndChildren()); err != nil {
		return err
	}
	if d.opener.Store != nil {
		if err := d.opener.Store.Close(); err != nil {
			return err
		}
		d.opener.Store = nil
	}
	var variables []string
	if d.s.Engine != nil {
		variables = append(variables, AgainVariable+"=1")
	}
	if d.src.GoMain {
		return d.opener.Become(d.c, over.Binary, d.src, 0, variables...)
	}
	env := append(append(os.Environ(), variables...), stackprogram.DirVariable+"="+d.src.Dir)
	return loader.ReplaceProcess(over.Binary, os.Args[1:], env)
}
