package devloop

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/cmd/internal/watch"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/plan/operation"
)

// Source is what a session evaluates again and again.
type Source interface {
	// Load evaluates the newest source, one at a time. A load that takes long reports by found what the program is made
	// of, before it is built. The error may be a [*HandOver].
	Load(ctx context.Context, found func(watch.Set)) (Loaded, error)
}

// Loaded is what comes of an evaluation.
type Loaded struct {
	Graph *engine.Graph
	// Sources are what the program is made of, as far as that is known; they are there after a failure, too.
	Sources watch.Set
	// Compiled is how long the compiler took of it.
	Compiled time.Duration
}

// View shows a session. Its methods are called from the goroutine of [Session.Run].
type View interface {
	Line(Line)
	Problem(err error, runs bool)
	// Begin shows the progress of a plan until End.
	Begin(*engine.Plan)
	End()
	// Report shows how a run ended, as a line of a type.
	Report(line string, res *engine.Result, p *engine.Plan)
}

// Session is a session with all that its effects need.
type Session struct {
	Machine Machine
	Source  Source
	View    View
	Watcher *watch.Watcher
	// Interrupted is closed by the first signal. The context of [Session.Run] ends with the second one.
	Interrupted <-chan struct{}
	// Open opens the stage of a stack. The context ends with the first signal that comes meanwhile.
	Open func(context.Context, *engine.Graph) (*engine.Engine, error)
	// Options are the options of a plan of the session.
	Options func(*engine.Dev) engine.PlanOptions
	// Secrets are the files that the secrets of a stack are read from; Refused is why a plan is not applied.
	Secrets func(*engine.Graph) []string
	Refused func(*engine.Plan) error
	// Destroy deletes what the session created of a stack.
	Destroy func(context.Context, *engine.Graph) error

	engine *engine.Engine
	// graphs are the programs by version: the newest, and those that a round or the machine goes by.
	graphs  map[int]*engine.Graph
	newest  int
	answers chan Event
	load    *load
	round   *round
	wake    *time.Timer
	// program is what the program itself is made of, as far as its last evaluation knows; made is that and the files of
	// its secrets; watched is how many files and folders are.
	program, made watch.Set
	watched       int
	exit          *Exit
}

// load is an evaluation at work, or the last one.
type load struct {
	began  time.Time
	giveUp context.CancelFunc
	found  chan watch.Set
	Loaded
}

// round is the round at work, or the last one.
type round struct {
	Round
	graph   *engine.Graph
	options engine.PlanOptions
	began   time.Time
	giveUp  context.CancelFunc
	stop    chan struct{}
	plan    *engine.Plan
	res     *engine.Result
}

// Run performs what the machine asks for until the session ends.
func (s *Session) Run(ctx context.Context) Exit {
	s.graphs, s.answers, s.load, s.wake = map[int]*engine.Graph{}, make(chan Event), &load{}, time.NewTimer(time.Hour)
	s.wake.Stop()
	defer s.wake.Stop()
	s.step(ctx, Started{})
	interrupted, cancelled := s.Interrupted, ctx.Done()
	for s.exit == nil {
		select { // a signal comes before what else there is
		case <-interrupted:
			interrupted = nil
			s.step(ctx, Interrupted{})
			continue
		default:
		}
		select {
		case <-interrupted:
			interrupted = nil
			s.step(ctx, Interrupted{})
		case <-cancelled:
			cancelled = nil
			s.step(ctx, Cancelled{})
		case paths := <-s.Watcher.Changes():
			s.step(ctx, Saved{
				Paths: paths, Program: slices.ContainsFunc(paths, s.made.Has),
				Beside: slices.ContainsFunc(paths, func(path string) bool { return !s.made.Has(path) }),
			})
		case set := <-s.load.found: // a save is noticed while the compiler is at work
			s.program = s.program.Join(set)
			_ = s.watch(s.load.began) // what cannot be watched is reported when it has ended
		case e := <-s.answers:
			if _, applied := e.(Applied); applied {
				s.View.End()
			}
			s.step(ctx, e)
		case <-s.wake.C:
			s.step(ctx, Woken{})
		}
	}
	return *s.exit
}

// Engine is the engine of the stage; nil before it is open.
func (s *Session) Engine() *engine.Engine { return s.engine }

// step takes in an event and performs what is due. What an effect answers at once is taken in when all are performed.
func (s *Session) step(ctx context.Context, e Event) {
	for events := []Event{e}; len(events) > 0; events = events[1:] {
		var due []Effect
		s.Machine, due = s.Machine.Step(events[0], time.Now())
		for _, effect := range due {
			if answer := s.perform(ctx, effect); answer != nil {
				events = append(events, answer)
			}
		}
	}
}

// perform performs an effect. It gives the answer of one that is performed at once.
func (s *Session) perform(ctx context.Context, effect Effect) Event {
	switch e := effect.(type) {
	case Evaluate:
		s.evaluate(ctx)
	case GiveUpEvaluation:
		s.load.giveUp()
	case TakeOver:
		s.takeOver(e)
		return s.watchSince(s.load.began)
	case OpenStage:
		return Opened{s.open(ctx)}
	case Watch:
		if s.round == nil { // only the stage is known that was not before
			return s.watchSince(s.load.began)
		}
		return s.watchSince(s.round.began)
	case ReportSaved:
		s.View.Line(Line{Type: LineChanged, Paths: e.Paths})
		if s.engine != nil {
			s.engine.Warm.Changed(e.Paths)
		}
	case Invalidate:
		s.engine.Warm.Cool()
	case Plan:
		s.plan(ctx, e.Round)
	case GiveUpPlan:
		s.round.giveUp()
	case Apply:
		s.apply(ctx, e.Background)
	case StopApply:
		close(s.round.stop)
	case Destroy:
		go func() { s.answers <- Destroyed{s.Destroy(ctx, s.graphs[s.newest])} }()
	case Wake:
		s.wake.Stop()
		if e.After > 0 {
			s.wake.Reset(e.After)
		}
	case Exit:
		s.exit = &e
	default:
		s.show(effect)
	}
	return nil
}

// show performs the effects that only show something.
func (s *Session) show(effect Effect) {
	switch e := effect.(type) {
	case Report:
		line := LineDeployed
		if e.Background {
			line = LineLooked
		}
		s.View.Report(line, s.round.res, s.round.plan)
	case Problem:
		s.View.Problem(e.Err, e.Runs)
	case ReportStopping:
		s.View.Line(Line{Type: LineStopping})
	case ReportEnding:
		s.View.Line(Line{Type: LineEnding})
	}
}

// evaluate evaluates the newest source on a goroutine of its own, so that a newer save is noticed meanwhile.
func (s *Session) evaluate(ctx context.Context) {
	l := &load{began: time.Now(), found: make(chan watch.Set, 1)}
	ctx, l.giveUp = context.WithCancel(ctx)
	s.load = l
	version := s.newest + 1
	go func() {
		defer l.giveUp()
		var err error
		l.Loaded, err = s.Source.Load(ctx, func(set watch.Set) { l.found <- set })
		answer := Evaluated{Err: err}
		if err == nil {
			answer.Program = Program{Version: version, Stack: l.Graph.Stack}
			for i := range l.Graph.Resources {
				answer.Program.Addresses = append(answer.Program.Addresses, l.Graph.Resources[i].Address)
			}
		}
		s.answers <- answer
	}()
}

// takeOver takes over what was evaluated.
func (s *Session) takeOver(e TakeOver) {
	l := s.load
	s.program = l.Sources
	if e.SourcesOnly {
		return
	}
	before := s.newest
	s.newest++
	s.graphs[s.newest] = l.Graph
	for version := range s.graphs { // a round in the background goes by the one before
		if version < before {
			delete(s.graphs, version)
		}
	}
	s.View.Line(Line{
		Type: LineBuilt, Elapsed: time.Since(l.began).Seconds(), Compiled: l.Compiled.Seconds(),
	})
}

// open opens the stage. A first signal ends the attempt.
func (s *Session) open(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	opened := make(chan struct{})
	defer close(opened)
	go func() {
		select {
		case <-s.Interrupted:
			cancel()
		case <-opened: // what keeps the context goes on with it
		}
	}()
	var err error
	if s.engine, err = s.Open(ctx, s.graphs[s.newest]); err != nil {
		return err
	}
	s.View.Line(Line{Type: LineOpened})
	return nil
}

// watchSince watches all that the stack is made of. It gives the event of a failure.
func (s *Session) watchSince(since time.Time) Event {
	if err := s.watch(since); err != nil {
		return Unwatched{err}
	}
	return nil
}

// watch watches all that the stack is made of. What is new in it and was written since then counts as changed.
func (s *Session) watch(since time.Time) error {
	set := s.program
	if g := s.graphs[s.newest]; g != nil {
		set = set.Join(watch.Set{Files: s.Secrets(g)})
	}
	s.made = set
	if s.engine != nil {
		set = set.Join(watch.Set{Trees: s.engine.Warm.Sources()})
	}
	if err := s.Watcher.Watch(set, since); err != nil {
		return err
	}
	if n := len(set.Files) + len(set.Packages) + len(set.Trees); n != s.watched {
		s.watched = n
		s.View.Line(Line{Type: LineWatching, Count: n, Folders: s.Watcher.Count()})
	}
	return nil
}

// plan plans a round on a goroutine of its own.
func (s *Session) plan(ctx context.Context, r Round) {
	at := &round{
		Round: r, graph: s.graphs[r.Program], options: s.Options(&engine.Dev{Narrow: r.Narrow, Look: r.Observe}),
		began: time.Now(), stop: make(chan struct{}),
	}
	s.round = at
	ctx, at.giveUp = context.WithCancel(ctx)
	go func() {
		defer at.giveUp()
		p, err := s.engine.Plan(ctx, at.graph, at.options)
		answer := Planned{Err: err}
		if err == nil {
			at.plan, answer.Refused, answer.Drift = p, s.Refused(p), undoesDrift(p)
		}
		s.answers <- answer
	}()
}

// apply applies the plan of the round on a goroutine of its own.
func (s *Session) apply(ctx context.Context, background bool) {
	at := s.round
	if !background || at.plan.Pending() {
		elapsed := time.Since(at.began).Seconds()
		s.View.Line(Line{Type: LinePlanned, Elapsed: elapsed, Summary: &at.plan.Summary, Drift: background})
	}
	s.View.Begin(at.plan)
	go func() {
		var refused error
		res, err := s.engine.Apply(ctx, at.plan, engine.ApplyOptions{
			PlanOptions: at.options, Command: "dev", Interrupt: at.stop, Approve: func(p *engine.Plan) bool {
				refused = s.Refused(p) // the state moved before the run had the lease
				return refused == nil
			},
		})
		if refused != nil && errors.Is(err, engine.ErrNotApproved) {
			err = refused
		}
		answer := Applied{Err: err}
		if res != nil {
			if res.Run == "" {
				res.Took = time.Since(at.began)
			}
			at.res, answer.State, answer.Changed = res, res.State, changed(res)
		}
		s.answers <- answer
	}()
}

// changed are the addresses that a run left as they were because they had changed since the plan.
func changed(res *engine.Result) []string {
	var addresses []string
	for _, f := range res.Failures {
		if errors.Is(f, operation.ErrChanged) {
			addresses = append(addresses, f.Address)
		}
	}
	return addresses
}

// undoesDrift reports that all a plan does is to undo what was changed outside athanor.
func undoesDrift(p *engine.Plan) bool {
	return !slices.ContainsFunc(p.Actions, func(a engine.Planned) bool {
		drifted := slices.ContainsFunc(a.Reasons, func(r engine.Reason) bool { return r.Source == engine.ByWorld })
		deleted := a.Action == engine.Create && a.Generation > 0
		return a.Action != engine.Unchanged && a.Action != engine.Wait && !drifted && !deleted
	})
}
