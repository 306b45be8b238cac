package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/watch"
	"github.com/athanor-dev/athanor/engine"
)

// devName is the name of the command, and of its runs in the history.
const devName = "dev"

// lookEvery is how often a few of the resources that nothing changed are looked at; lookMany is how many those are.
const (
	lookEvery = 10 * time.Second
	lookMany  = 25
)

func (a *app) devCommand() *cli.Command {
	return &cli.Command{
		Name: devName, Usage: "deploy, then watch and deploy again on each change", ArgsUsage: "[TARGET]",
		Description: `Watches what the stack is made of: the program with all that it imports or includes, secret files, and the files
and folders that resources are made of. Each save is deployed without asking; only what it changed is looked at.
The others are looked at in the background, a few at a time, and changed back when the world changed them.

What does not build or plan is printed, and what runs keeps running. A save in the middle of a deploy lets running
calls finish, and goes on with the newest program. Ctrl-C ends it with a clean record.

It works on a stage of its own, and refuses one that something else made. With --here it works on that too, and
deletes nothing there that it did not make.

` + targetHelp + `

Exit codes: 0 ended; 1 error; 3 another dev session has the stage; 4 --destroy-on-exit could not delete all;
130 interrupted in the middle of a deploy.`,
		UsageText: `dev                             the stack in this directory
dev ./shop --destroy-on-exit    leave nothing behind
dev --json                      for programs: each step of the loop as a JSON line
dev --stage staging --here      on what was deployed; deletes nothing of it`,
		Flags: cli.StageFlags(defaultStage(devName), cli.DeleteFlags(
			&cli.BoolFlag{Name: "here", Usage: "work on a stage that dev did not create; delete nothing of it"},
			&cli.StringSliceFlag{Name: "remote", Usage: "create `ADDRESS` (globs; may be repeated) in the cloud although it could be local"},
			&cli.BoolFlag{Name: "destroy-on-exit", Usage: "delete what dev created when it ends"},
			&cli.DurationFlag{Name: "look", Value: lookEvery, Usage: "read a few of the unchanged resources every `DURATION`; default 10s, 0 never"},
			cli.AdoptFlag())...),
		Action: a.dev,
	}
}

// dev is one session: the program, what is watched, and the round that is at work.
type dev struct {
	app     *app
	c       *cli.Context
	src     *source
	s       *session
	program devProgram
	watcher *watch.Watcher
	lock    *devLock
	lines   *lines
	screen  devScreen

	// graph is the newest that was evaluated; good the last that was deployed as a whole, nil before.
	graph, good *engine.Graph
	// sources are what the program itself is made of, as far as its last evaluation could tell; made is that and the
	// files of its secrets; watched is how many things are.
	sources, made watch.Set
	watched       int
	// whole: the next plan looks at everything.
	whole   bool
	loading *loading
	round   *round
	// retries counts, by address, the rounds in a row that began because a resource had changed since its plan.
	retries map[string]int
	// next: when the round ends, another one begins.
	next bool
	// look is the place in the order of addresses where the background look goes on; cooled when kept things were last
	// let go.
	look   int
	cooled time.Time
	timer  *time.Timer
	// held: it was said that another run holds the stage.
	held bool
	// cut: a deploy was interrupted by the end of the session.
	cut bool
}

func (a *app) dev(c *cli.Context) (err error) {
	s, src, err := a.begin(c, 0)
	if err != nil {
		return err
	}
	d := &dev{app: a, c: c, src: src, s: s, whole: true, timer: time.NewTimer(time.Hour)}
	d.timer.Stop()
	if d.program, err = a.devProgram(s, src); err != nil {
		return err
	}
	if d.watcher, err = watch.New(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.Context)
	defer cancel()
	a.interrupts.applying(func() { d.stopping() })
	told := a.err
	if a.asJSON {
		told = a.out
	}
	unread, err := a.interrupts.hangUpUnread(told)
	if err != nil {
		return err
	}
	defer unread()
	go func() { // what has not begun yet is given up by the first signal
		select {
		case <-a.interrupts.stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	err = d.run(ctx)
	if over, ok := errors.AsType[*handOver](err); ok {
		return d.handOver(over)
	}
	return errors.Join(d.close(), err)
}

// run waits for a program that evaluates, deploys it, and goes on until the session is ended.
func (d *dev) run(ctx context.Context) error {
	if err := d.loop(ctx); err != nil || d.s.engine == nil {
		return err
	}
	return d.end()
}

// open opens the record for the session.
func (d *dev) open() error {
	s := d.s
	s.stage.Stack, s.graph = d.graph.Stack, d.graph
	if err := s.open(d.c, d.src.dir); err != nil {
		return err
	}
	var err error
	if d.lock, err = s.lockDev(); err != nil {
		return err
	}
	d.lines = d.app.newLines(d.app.err, false)
	s.engine.Warm, s.engine.Events, s.engine.Dev = engine.NewWarm(), d.event, s.project.newDev(d.lines)
	d.whole = d.app.program == nil || !d.app.program.again
	d.emit(devLine{Type: devOpened})
	return nil
}

// options are those of a plan of the session.
func (d *dev) options(look []string) engine.PlanOptions {
	o := d.s.options
	o.Dev = &engine.Dev{Here: d.c.Bool("here"), Narrow: !d.whole, Look: look, Remote: d.c.StringSlice("remote")}
	return o
}

// end ends a session in good order: what is at work was recorded, and on demand what it made goes.
func (d *dev) end() error {
	d.emit(devLine{Type: devEnding})
	if d.c.Bool("destroy-on-exit") {
		return d.destroy()
	}
	if d.cut {
		return cli.Exit(cli.ExitInterrupted)
	}
	return nil
}

// destroy deletes what dev made of the stage. A further signal cancels it.
func (d *dev) destroy() error {
	e, o := d.s.engine, d.options(nil)
	o.Dev.Here = true // what it did not make stays anyway
	p, err := e.PlanDestroy(d.c.Context, d.s.stage, d.graph, o)
	if err != nil {
		return err
	}
	d.screen.begin(d, p)
	res, err := e.Apply(d.c.Context, p, engine.ApplyOptions{
		PlanOptions: o, Command: devName, Wait: time.Minute, Approve: func(*engine.Plan) bool { return true },
	})
	d.screen.end(d)
	if res == nil {
		return err
	}
	d.report(devDestroyed, res, p)
	return errors.Join(err, verdict(res, p))
}

// endPatience is how long what the session owns may take to end in good order.
const endPatience = 10 * time.Second

// close lets go of everything. What the session owns ends.
func (d *dev) close() error {
	errs := []error{d.watcher.Close()}
	if e := d.s.engine; e != nil && e.Dev != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(d.c.Context), endPatience)
		defer cancel()
		errs = append(errs, e.Dev.Close(ctx))
	}
	return errors.Join(append(errs, d.lock.release())...)
}

// handOver lets the new program take the place of this process.
func (d *dev) handOver(over *handOver) error {
	if err := d.close(); err != nil {
		return err
	}
	if d.app.store != nil {
		if err := d.app.store.Close(); err != nil {
			return err
		}
		d.app.store = nil
	}
	var variables []string
	if d.s.engine != nil {
		variables = append(variables, againVariable+"=1")
	}
	if d.src.goMain {
		return d.app.become(d.c, over.binary, d.src, 0, variables...)
	}
	env := append(append(os.Environ(), variables...), dirVariable+"="+d.src.dir)
	return replaceProcess(over.binary, os.Args[1:], env)
}

// problem shows what is wrong, unless it ends the session: then it is returned.
func (d *dev) problem(ctx context.Context, err error) error {
	_, over := errors.AsType[*handOver](err)
	switch {
	case over, errors.Is(err, engine.ErrDeployed):
		return err
	case ctx.Err() != nil && errors.Is(err, context.Canceled), ctx.Err() != nil && d.ended():
		return nil // it was given up
	}
	if d.app.asJSON {
		line := d.app.errors().Line(devProblem, err, codeOf(err))
		d.app.json(devProblemLine{time.Now().UTC(), d.s.stage.Stack, d.s.stage.Name, line})
		return nil
	}
	d.screen.apart(func() {
		d.app.reportAs(err, codeOf(err))
		if d.good != nil {
			fmt.Fprintln(d.app.err, "what runs keeps running")
		}
	})
	return nil
}

// ended reports that somebody wants the session to end.
func (d *dev) ended() bool { return d.app.interrupts.stopping() }

// stopping tells what a first signal does.
func (d *dev) stopping() {
	if d.screen.atWork() {
		d.screen.say(d, stoppingText)
	}
}
