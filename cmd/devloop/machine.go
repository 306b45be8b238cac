// Package devloop is the loop of a dev session: the program is evaluated and deployed, what it is made of is watched,
// and each save begins that again.
//
// [Machine] decides what comes next and performs nothing: one event and the time give the next machine and the effects
// that are due. [Session] performs the effects and reports what comes of them. The package knows neither how a program
// is written nor how anything is shown.
package devloop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

const (
	// mostRetries is how many rounds in a row are planned anew because one resource changed since its plan. After that
	// the session waits for a save.
	mostRetries = 3
	// observeMany is how many of the unchanged resources one round in the background observes.
	observeMany = 25
	// invalidateEvery is how often credentials are asked again where they lead.
	invalidateEvery = time.Minute
	// heldPause is the time between two attempts while another run holds the stage.
	heldPause = time.Second
)

// Evaluation is the state of the evaluation of the program.
type Evaluation string

// The states of an evaluation. A stale one was given up for a newer save, and begins again when it has ended.
const (
	NotEvaluating Evaluation = ""
	Evaluating    Evaluation = "evaluating"
	Stale         Evaluation = "stale"
)

// Access is the state of the session's stage.
type Access string

// The states of the stage.
const (
	Closed  Access = ""
	Opening Access = "opening"
	Open    Access = "open"
)

// Work is the state of the round: one plan and its deployment.
type Work string

// The states of a round. One that is given up while it plans applies nothing; one that stops starts nothing new, and
// its running calls finish.
const (
	Idle     Work = ""
	Planning Work = "planning"
	GivenUp  Work = "given up"
	Applying Work = "applying"
	Stopping Work = "stopping"
)

// Ending is how far the end of the session has come.
type Ending string

// The states of the end.
const (
	Running    Ending = ""
	Draining   Ending = "draining"
	Destroying Ending = "destroying"
	Ended      Ending = "ended"
)

// Program is a program that was evaluated.
type Program struct {
	Version   int // 0 is none
	Stack     string
	Addresses []string
}

// Round is one plan and its deployment.
type Round struct {
	Program int // the version that is deployed
	// Observe are the addresses that are observed although nothing changed them.
	Observe []string
	// Narrow: only what the program changed is observed, and Observe.
	Narrow bool
	// Background: nothing was saved, and the round only observes.
	Background bool
}

// Machine is the state of a session. A copy is a state of its own: no step changes what another copy holds.
type Machine struct {
	// ObserveEvery is the time between two rounds in the background; 0 is never.
	ObserveEvery time.Duration
	// DestroyOnExit: what the session created is deleted at its end.
	DestroyOnExit bool
	// Whole: the next plan observes every resource.
	Whole bool

	Evaluation Evaluation
	Access     Access
	Work       Work
	Ending     Ending

	round Round
	// newest is the newest program that was evaluated; deployed is the last one that was deployed as a whole.
	newest, deployed Program
	// besideProgram: something was saved, since the evaluation began, that is no part of the program.
	besideProgram bool
	// again: another round begins when this one has ended.
	again bool
	// retries counts, by address, the rounds in a row that began because a resource had changed since its plan.
	retries map[string]int
	// position is the place in the order of addresses where the next round in the background begins.
	position    int
	invalidated time.Time
	// held: it was reported that another run holds the stage.
	held bool
	// interrupted and cancelled: a first signal came, and a second one. cut: the first one cut a deployment.
	interrupted, cancelled, cut bool
	// err is why the session cannot go on.
	err error
}

// Event is something that happened to a session.
type Event interface{ apply(*step) }

// The events of a session.
type (
	// Started begins a session.
	Started struct{}
	// Saved reports files that were saved. Program: one of them belongs to the program; Beside: one of them does not.
	Saved struct {
		Paths           []string
		Program, Beside bool
	}
	// Evaluated answers [Evaluate].
	Evaluated struct {
		Program Program
		Err     error
	}
	// Opened answers [OpenStage].
	Opened struct{ Err error }
	// Unwatched reports that something cannot be watched.
	Unwatched struct{ Err error }
	// Planned answers [Plan]. Refused is why the plan is not applied; Drift: all it does is to undo changes from
	// outside.
	Planned struct {
		Err, Refused error
		Drift        bool
	}
	// Applied answers [Apply]. State is "" when nothing came of it; Changed are the addresses that were left as they
	// were because they had changed since the plan.
	Applied struct {
		State   statestore.RunState
		Changed []string
		Err     error
	}
	// Woken reports that the time of [Wake] is over.
	Woken struct{}
	// Interrupted is a first signal: Ctrl-C, SIGTERM, the end of the terminal or of the reader of the output.
	Interrupted struct{}
	// Cancelled is a second signal, which cancels running calls.
	Cancelled struct{}
	// Destroyed answers [Destroy].
	Destroyed struct{ Err error }
)

// Effect is something that is due.
type Effect interface{ effect() }

// The effects of a step, which are performed in their order.
type (
	// Evaluate begins to evaluate the newest source; [Evaluated] answers.
	Evaluate struct{}
	// GiveUpEvaluation ends the evaluation early.
	GiveUpEvaluation struct{}
	// TakeOver makes what was evaluated the newest program and watches what it is made of; with SourcesOnly it only
	// watches.
	TakeOver struct{ SourcesOnly bool }
	// OpenStage opens the stage; [Opened] answers.
	OpenStage struct{}
	// Watch watches all that the stack is made of after a round; [Unwatched] reports a failure.
	Watch struct{}
	// ReportSaved shows files that were saved, and invalidates what was kept of them.
	ReportSaved struct{ Paths []string }
	// Invalidate asks credentials again where they lead.
	Invalidate struct{}
	// Plan plans a round; [Planned] answers.
	Plan struct{ Round Round }
	// GiveUpPlan ends planning early.
	GiveUpPlan struct{}
	// Apply applies the plan; [Applied] answers.
	Apply struct{ Background bool }
	// StopApply starts nothing new; running calls finish.
	StopApply struct{}
	// Report shows what a round did.
	Report struct{ Background bool }
	// Problem shows an error that does not end the session. Runs: what was deployed keeps running.
	Problem struct {
		Err  error
		Runs bool
	}
	// Wake asks for [Woken] after a time, instead of an earlier wish; 0 is never.
	Wake struct{ After time.Duration }
	// ReportStopping shows that the session waits for running calls.
	ReportStopping struct{}
	// ReportEnding shows that the session ends.
	ReportEnding struct{}
	// Destroy deletes what the session created; [Destroyed] answers.
	Destroy struct{}
	// Exit ends the session. Cut: a deployment was interrupted.
	Exit struct {
		Err error
		Cut bool
	}
)

// HandOver is the error of an evaluation whose program must take the place of this process.
type HandOver struct{ Binary string }

// Error implements error.
func (h *HandOver) Error() string { return "the new program takes over: " + h.Binary }

// step is a machine that takes in one event.
type step struct {
	Machine
	now     time.Time
	effects []Effect
}

// Step takes in an event. It gives the next state and what is due.
func (m Machine) Step(e Event, now time.Time) (Machine, []Effect) {
	s := &step{Machine: m, now: now}
	if m.Ending != Ended {
		e.apply(s)
		s.finish()
	}
	return s.Machine, s.effects
}

func (s *step) due(effects ...Effect) { s.effects = append(s.effects, effects...) }

// apply begins the first evaluation.
func (Started) apply(s *step) {
	if s.Ending == Running && s.newest.Version == 0 {
		s.evaluate(false)
	}
}

// apply evaluates the program anew when it was saved. For anything else the newest program is deployed at once.
func (e Saved) apply(s *step) {
	if s.Ending != Running {
		return
	}
	s.due(ReportSaved{e.Paths})
	if s.Access == Open && !e.Program {
		s.restart()
		return
	}
	s.evaluate(e.Beside)
}

func (e Evaluated) apply(s *step) {
	before, beside := s.Evaluation, s.besideProgram
	if before == NotEvaluating {
		return
	}
	s.Evaluation = NotEvaluating
	switch {
	case s.Ending != Running:
		return
	case before == Stale:
		s.evaluate(beside)
		return
	}
	if e.Err == nil && s.newest.Stack != "" && s.Access != Closed && s.newest.Stack != e.Program.Stack {
		e.Err = reconcile.WithHint(fmt.Errorf("the stack is called %s now, and was %s", e.Program.Stack, s.newest.Stack),
			"end dev and start it again: that is another stack")
	}
	s.due(TakeOver{SourcesOnly: e.Err != nil})
	if e.Err != nil {
		if s.problem(e.Err); s.Ending == Running && beside && s.Access == Open {
			s.restart() // for what was saved beside the broken program
		}
		return
	}
	s.newest = e.Program
	switch s.Access {
	case Closed:
		s.Access = Opening
		s.due(OpenStage{})
	case Open:
		s.restart()
	case Opening:
	}
}

func (e Opened) apply(s *step) {
	if s.Access != Opening {
		return
	}
	if s.Access = Closed; e.Err != nil {
		s.fail(e.Err)
		return
	}
	s.Access = Open
	if s.Ending == Running {
		s.due(Watch{})
		s.restart()
	}
}

func (e Unwatched) apply(s *step) {
	if s.Ending == Running {
		s.problem(e.Err)
	}
}

func (e Planned) apply(s *step) {
	if e.Err == nil && s.Work == Planning {
		e.Err = e.Refused
	}
	switch {
	case s.Work == Planning && e.Err == nil:
		s.Work = Applying
		s.round.Background = s.round.Background && e.Drift // a save that came meanwhile is a deployment like any other
		s.due(Apply{s.round.Background})
	case s.Work == Planning, s.Work == GivenUp:
		s.ended(e.Err, nil)
	}
}

func (e Applied) apply(s *step) {
	if s.Work != Applying && s.Work != Stopping {
		return
	}
	if e.State != "" {
		if e.Err == nil && !s.round.Narrow {
			s.Whole = false // everything was observed, and state knows what is left to do
		}
		if s.deployed = (Program{}); e.Err == nil && e.State == statestore.Succeeded {
			s.deployed = s.program()
		}
		s.cut = s.Work == Stopping && s.interrupted && e.State == statestore.Cancelled
		s.due(Report{s.round.Background})
	}
	s.ended(e.Err, e.Changed)
}

// program is the one that the round is about. A round of an older version than the newest one deploys none as a whole.
func (s *step) program() Program {
	if s.round.Program == s.newest.Version {
		return s.newest
	}
	return Program{Version: s.round.Program}
}

func (Woken) apply(s *step) {
	switch {
	case s.Ending != Running, s.Work != Idle, s.Access != Open:
	case s.again, s.deployed.Version == 0:
		s.begin(Round{})
	case len(s.deployed.Addresses) > 0:
		s.observe()
	}
}

// apply ends the session. A program that was to take over does not: nobody would end it.
func (Interrupted) apply(s *step) {
	s.interrupted = true
	if _, over := errors.AsType[*HandOver](s.err); over {
		s.err = nil
	}
	s.end()
}

func (Cancelled) apply(s *step) {
	s.interrupted, s.cancelled = true, true
	s.end()
}

func (e Destroyed) apply(s *step) {
	if s.Ending == Destroying {
		s.exit(Exit{Err: e.Err})
	}
}

// evaluate begins to evaluate the newest source. An evaluation at work is given up for it, its compiler ended.
func (s *step) evaluate(beside bool) {
	switch s.Evaluation {
	case NotEvaluating:
		s.Evaluation, s.besideProgram = Evaluating, beside
		s.due(Evaluate{})
	case Evaluating:
		s.Evaluation, s.besideProgram = Stale, s.besideProgram || beside
		s.due(GiveUpEvaluation{})
	case Stale:
		s.besideProgram = s.besideProgram || beside
	}
}

// restart begins a round for the newest program when the one at work has finished its running calls.
func (s *step) restart() {
	if s.again = s.Work != Idle; s.again {
		s.abandon()
		return
	}
	s.begin(Round{})
}

// abandon lets a round end as soon as it can in good order.
func (s *step) abandon() {
	switch s.Work {
	case Planning:
		s.Work = GivenUp
		s.due(GiveUpPlan{})
	case Applying:
		s.Work = Stopping
		s.due(StopApply{})
	case Idle, GivenUp, Stopping:
	}
}

// begin begins a round that nothing before it asked for.
func (s *step) begin(r Round) {
	s.retries = nil
	s.start(r)
}

func (s *step) start(r Round) {
	if r.Program == 0 {
		r.Program = s.newest.Version
	}
	r.Narrow = !s.Whole
	s.again, s.Work, s.round = false, Planning, r
	s.due(Wake{}, Plan{r})
}

// observe begins a round about the next few of the resources that nothing changed.
func (s *step) observe() {
	all := s.deployed.Addresses
	if s.position >= len(all) {
		s.position = 0
	}
	if s.position == 0 && s.now.Sub(s.invalidated) > invalidateEvery {
		s.invalidated = s.now
		s.due(Invalidate{})
	}
	some := all[s.position:min(s.position+observeMany, len(all))]
	s.position += len(some)
	s.begin(Round{Program: s.deployed.Version, Observe: some, Background: true})
}

// ended takes in how a round ended, and goes on.
func (s *step) ended(err error, changed []string) {
	given := s.Work == GivenUp || s.Work == Stopping
	s.Work, s.round = Idle, Round{}
	isHeld := errors.Is(err, statestore.ErrHeld)
	switch {
	case given && errors.Is(err, context.Canceled): // for a newer one
	case isHeld && s.held:
	default:
		if s.held = isHeld; err != nil {
			s.problem(err)
		}
	}
	if s.Ending != Running {
		return
	}
	s.due(Watch{})
	var retry []string
	retry, s.retries = planAgain(changed, s.retries)
	switch {
	case s.again:
		s.begin(Round{})
	case len(retry) > 0:
		s.start(Round{Observe: retry})
	case isHeld:
		s.again = true
		s.due(Wake{heldPause})
	case s.ObserveEvery > 0 && s.deployed.Version != 0 && s.deployed.Version == s.newest.Version:
		s.due(Wake{s.ObserveEvery})
	}
}

// planAgain names the resources that are planned again at once because they had changed since their plan. The counts
// are how often that was done in a row, by address, before and after.
func planAgain(changed []string, before map[string]int) (again []string, after map[string]int) {
	for _, address := range changed {
		if after == nil {
			after = map[string]int{}
		}
		if after[address] = before[address]; after[address] < mostRetries {
			after[address]++
			again = append(again, address)
		}
	}
	return again, after
}

// problem shows an error, unless it ends the session.
func (s *step) problem(err error) {
	_, over := errors.AsType[*HandOver](err)
	switch {
	case over, errors.Is(err, engine.ErrDeployed):
		s.fail(err)
	case s.cancelled: // it was given up
	default:
		s.due(Problem{Err: err, Runs: s.deployed.Version != 0})
	}
}

// fail ends the session with an error. The first one counts.
func (s *step) fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.end()
}

// end ends the session: what is at work finishes in good order, and nothing new begins.
func (s *step) end() {
	if s.Ending != Running {
		return
	}
	s.Ending = Draining
	if s.Evaluation == Evaluating {
		s.due(GiveUpEvaluation{})
	}
	if s.Work != Idle {
		s.abandon()
		s.due(ReportStopping{})
	}
	s.due(Wake{})
}

// finish ends a session in which nothing is at work any more.
func (s *step) finish() {
	switch {
	case s.Ending != Draining, s.Evaluation != NotEvaluating, s.Work != Idle, s.Access == Opening:
	case s.err != nil, s.Access == Closed:
		s.exit(Exit{Err: s.err})
	case s.DestroyOnExit:
		s.Ending = Destroying
		s.due(ReportEnding{}, Destroy{})
	default:
		s.due(ReportEnding{})
		s.exit(Exit{Cut: s.cut})
	}
}

func (s *step) exit(e Exit) {
	s.Ending = Ended
	s.due(e)
}

func (Evaluate) effect()         {}
func (GiveUpEvaluation) effect() {}
func (TakeOver) effect()         {}
func (OpenStage) effect()        {}
func (Watch) effect()            {}
func (ReportSaved) effect()      {}
func (Invalidate) effect()       {}
func (Plan) effect()             {}
func (GiveUpPlan) effect()       {}
func (Apply) effect()            {}
func (StopApply) effect()        {}
func (Report) effect()           {}
func (Problem) effect()          {}
func (Wake) effect()             {}
func (ReportStopping) effect()   {}
func (ReportEnding) effect()     {}
func (Destroy) effect()          {}
func (Exit) effect()             {}
