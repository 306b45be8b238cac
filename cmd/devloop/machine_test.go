package devloop

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

var (
	shop      = Program{Version: 1, Stack: "shop", Addresses: []string{"a", "b"}}
	shop2     = Program{Version: 2, Stack: "shop", Addresses: []string{"a", "b"}}
	shop3     = Program{Version: 3, Stack: "shop", Addresses: []string{"a", "b"}}
	errBroken = errors.New("does not build")
	errDenied = errors.New("denied")
	errHeld   = fmt.Errorf("x: %w", statestore.ErrHeld)
	done      = Applied{State: statestore.Succeeded}
	stopped   = Applied{State: statestore.Cancelled}
	program   = Saved{Paths: []string{"main.go"}, Program: true}
	beside    = Saved{Paths: []string{"site/index.html"}, Beside: true}
	takeOver  = &HandOver{Binary: "next"}
)

// names are the effects by name, those that only show something in brackets, with what matters of them.
func names(effects []Effect) string {
	var all []string
	for _, e := range effects {
		name := strings.TrimPrefix(fmt.Sprintf("%T", e), "devloop.")
		switch e := e.(type) {
		case Watch, ReportSaved:
			continue
		case Wake:
			if e.After == 0 {
				continue
			}
			name += fmt.Sprint(" ", e.After)
		case TakeOver:
			if e.SourcesOnly {
				continue
			}
		case Plan:
			name += fmt.Sprint(" ", e.Round.Program)
			if e.Round.Narrow {
				name += " narrow"
			}
			if len(e.Round.Observe) > 0 {
				name += " " + strings.Join(e.Round.Observe, "+")
			}
		case Exit:
			if e.Err != nil {
				name += fmt.Sprint(" ", e.Err)
			}
			if e.Cut {
				name += " cut"
			}
		case Problem:
			name += fmt.Sprint(" ", strings.Split(e.Err.Error(), ",")[0])
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

// beat is an event and the effects that it has.
type beat struct {
	event Event
	want  string
}

// opened are the first events of a session: its first program is planned as a whole.
var opened = []beat{
	{Started{}, "Evaluate"}, {Evaluated{Program: shop}, "TakeOver, OpenStage"}, {Opened{}, "Plan 1"},
}

// deployed is a session that waits.
var deployed = append(slices.Clone(opened), beat{Planned{}, "Apply"}, beat{done, "Report, Wake 10s"})

func after(beats []beat, more ...beat) []beat { return append(slices.Clone(beats), more...) }

func TestMachine(t *testing.T) {
	hours := func(n int) time.Time { return time.Date(2026, 1, 1, n, 0, 0, 0, time.UTC) }
	changed := func(addresses ...string) Applied { return Applied{State: statestore.Failed, Changed: addresses} }
	for name, beats := range map[string][]beat{
		"a save of the program": after(deployed,
			beat{program, "Evaluate"}, beat{Evaluated{Program: shop2}, "TakeOver, Plan 2 narrow"}, beat{Planned{}, "Apply"},
			beat{done, "Report, Wake 10s"}),
		"a save beside the program": after(deployed,
			beat{beside, "Plan 1 narrow"}, beat{Planned{}, "Apply"}, beat{done, "Report, Wake 10s"}),
		"a save before the stage is open": {
			{Started{}, "Evaluate"},
			{beside, "GiveUpEvaluation"},
			{Evaluated{Program: shop}, "Evaluate"},
			{Evaluated{Program: shop}, "TakeOver, OpenStage"},
			{beside, "Evaluate"},
			{Opened{}, "Plan 1"},
			{Evaluated{Program: shop2}, "TakeOver, GiveUpPlan"},
			{Planned{Err: context.Canceled}, "Plan 2"},
		},
		"a save while it plans": after(opened,
			beat{program, "Evaluate"}, beat{Evaluated{Program: shop2}, "TakeOver, GiveUpPlan"},
			beat{Planned{Err: context.Canceled}, "Plan 2"}),
		"a save while it plans, and the plan is made nevertheless": after(opened,
			beat{beside, "GiveUpPlan"}, beat{beside, ""}, beat{Planned{Refused: errDenied}, "Plan 1"}),
		"a save while it plans, and planning fails for a reason of its own": after(opened,
			beat{beside, "GiveUpPlan"}, beat{Planned{Err: errDenied}, "Problem denied, Plan 1"}),
		"a save while it applies": after(opened, beat{Planned{}, "Apply"},
			beat{program, "Evaluate"}, beat{Evaluated{Program: shop2}, "TakeOver, StopApply"}, beat{program, "Evaluate"},
			beat{Evaluated{Program: shop3}, "TakeOver"}, beat{stopped, "Report, Plan 3 narrow"}),
		"a broken save while it applies": after(opened, beat{Planned{}, "Apply"},
			beat{program, "Evaluate"}, beat{Evaluated{Err: errBroken}, "Problem does not build"}, beat{done, "Report, Wake 10s"}),
		"a save while it builds": after(deployed,
			beat{program, "Evaluate"}, beat{program, "GiveUpEvaluation"}, beat{program, ""},
			beat{Evaluated{Program: shop2}, "Evaluate"}, beat{Evaluated{Program: shop2}, "TakeOver, Plan 2 narrow"}),
		"a broken save and one beside it": after(deployed,
			beat{Saved{Program: true, Beside: true}, "Evaluate"}, beat{Evaluated{Err: errBroken}, "Problem does not build, Plan 1 narrow"}),
		"a save beside while it builds": after(deployed, beat{program, "Evaluate"}, beat{beside, "Plan 1 narrow"},
			beat{Evaluated{Program: shop2}, "TakeOver, GiveUpPlan"}, beat{Planned{}, "Plan 2 narrow"}),
		"a broken program at the start": {{Started{}, "Evaluate"}, {Evaluated{Err: errBroken}, "Problem does not build"}, {program, "Evaluate"}},
		"another stack": after(deployed, beat{program, "Evaluate"},
			beat{Evaluated{Program: Program{Version: 2, Stack: "other"}}, "Problem the stack is called other now"}, beat{beside, "Plan 1 narrow"}),
		"a stage that does not open": {opened[0], opened[1], {Opened{Err: errDenied}, "Exit denied"}, {program, ""}},
		"a stage that deploy made":   after(opened, beat{Planned{Err: engine.ErrDeployed}, "Exit " + engine.ErrDeployed.Error()}),
		"a plan that is refused":     after(opened, beat{Planned{Refused: errDenied}, "Problem denied"}, beat{Woken{}, "Plan 1"}),
		"what cannot be watched":     after(deployed, beat{Unwatched{errDenied}, "Problem denied"}, beat{beside, "Plan 1 narrow"}),
		"a round in the background": after(deployed,
			beat{Woken{}, "Invalidate, Plan 1 narrow a+b"}, beat{Planned{Drift: true}, "Apply"},
			beat{done, "Report, Wake 10s"}, beat{Woken{}, "Plan 1 narrow a+b"}),
		"a failed deployment is whole": after(opened, beat{Planned{}, "Apply"},
			beat{Applied{State: statestore.Failed, Err: errDenied}, "Report, Problem denied"}, beat{beside, "Plan 1"}),
		"another run holds the stage": after(deployed, beat{beside, "Plan 1 narrow"}, beat{Planned{}, "Apply"},
			beat{Applied{Err: errHeld}, "Problem x: " + statestore.ErrHeld.Error() + ", Wake 1s"},
			beat{Woken{}, "Plan 1 narrow"}, beat{Planned{}, "Apply"}, beat{Applied{Err: errHeld}, "Wake 1s"},
			beat{Woken{}, "Plan 1 narrow"}, beat{Planned{}, "Apply"}, beat{done, "Report, Wake 10s"}),
		"resources that changed since the plan": after(deployed, beat{beside, "Plan 1 narrow"},
			beat{Planned{}, "Apply"}, beat{changed("a"), "Report, Plan 1 narrow a"},
			beat{Planned{}, "Apply"}, beat{changed("a", "b"), "Report, Plan 1 narrow a+b"},
			beat{Planned{}, "Apply"}, beat{changed("a", "b"), "Report, Plan 1 narrow a+b"},
			beat{Planned{}, "Apply"}, beat{changed("a", "b"), "Report, Plan 1 narrow b"},
			beat{Planned{}, "Apply"}, beat{changed("a", "b"), "Report"}, // a save is waited for
			beat{beside, "Plan 1 narrow"}, beat{Planned{}, "Apply"}, beat{changed("a"), "Report, Plan 1 narrow a"}),
		"the count begins again after a round without": after(deployed, beat{beside, "Plan 1 narrow"},
			beat{Planned{}, "Apply"}, beat{changed("a"), "Report, Plan 1 narrow a"},
			beat{Planned{}, "Apply"},
			beat{Applied{State: statestore.Failed, Err: errDenied}, "Report, Problem denied"},
			beat{beside, "Plan 1 narrow"}, beat{Planned{}, "Apply"}, beat{changed("a"), "Report, Plan 1 narrow a"}),
		"athanor cancel": after(opened, beat{Planned{}, "Apply"}, beat{stopped, "Report"}, beat{beside, "Plan 1 narrow"}),
		"interrupt while it builds at the start": {
			{Started{}, "Evaluate"}, {Interrupted{}, "GiveUpEvaluation"}, {program, ""}, {Evaluated{Err: context.Canceled}, "Exit"},
		},
		"interrupt while it builds": after(deployed, beat{program, "Evaluate"}, beat{Interrupted{}, "GiveUpEvaluation"},
			beat{Evaluated{Program: shop2}, "ReportEnding, Exit"}),
		"interrupt while a build is given up": after(deployed,
			beat{program, "Evaluate"}, beat{program, "GiveUpEvaluation"}, beat{Interrupted{}, ""},
			beat{Evaluated{Program: shop2}, "ReportEnding, Exit"}),
		"interrupt while it opens": {opened[0], opened[1], {Interrupted{}, ""}, {Opened{Err: context.Canceled}, "Exit context canceled"}},
		"interrupt while it plans": after(opened,
			beat{Interrupted{}, "GiveUpPlan, ReportStopping"}, beat{Planned{Err: context.Canceled}, "ReportEnding, Exit"}),
		"interrupt while it applies": after(opened, beat{Planned{}, "Apply"}, beat{Interrupted{}, "StopApply, ReportStopping"},
			beat{Cancelled{}, ""}, beat{Applied{State: statestore.Cancelled, Err: errDenied}, "Report, ReportEnding, Exit cut"}),
		"interrupt while it stops for a save": after(opened, beat{Planned{}, "Apply"}, beat{beside, "StopApply"},
			beat{Interrupted{}, "ReportStopping"},
			beat{stopped, "Report, ReportEnding, Exit cut"}),
		"interrupt that comes too late to cut": after(opened, beat{Planned{}, "Apply"}, beat{Interrupted{}, "StopApply, ReportStopping"},
			beat{done, "Report, ReportEnding, Exit"}),
		"interrupt while it waits": after(deployed, beat{Interrupted{}, "ReportEnding, Exit"}, beat{Interrupted{}, ""}, beat{Woken{}, ""}),
		"a program that takes over": after(deployed, beat{program, "Evaluate"},
			beat{Evaluated{Err: takeOver}, "Exit the new program takes over: next"}),
		"a program that takes over when the calls have finished": after(opened,
			beat{Planned{}, "Apply"}, beat{program, "Evaluate"}, beat{Evaluated{Err: takeOver}, "StopApply, ReportStopping"},
			beat{stopped, "Report, Exit the new program takes over: next"}),
		"interrupt before it takes over": after(opened, beat{Planned{}, "Apply"}, beat{program, "Evaluate"},
			beat{Evaluated{Err: takeOver}, "StopApply, ReportStopping"}, beat{Interrupted{}, ""}, beat{stopped, "Report, ReportEnding, Exit cut"}),
	} {
		t.Run(name, func(t *testing.T) {
			m := Machine{ObserveEvery: 10 * time.Second, Whole: true}
			var due []Effect
			for i, b := range beats {
				if m, due = m.Step(b.event, hours(0)); names(due) != b.want {
					t.Fatalf("%d: %T%+v: %s\nwant %s", i, b.event, b.event, names(due), b.want)
				}
			}
		})
	}
}

// A session with --destroy-on-exit ends when that is done, and with its error.
func TestDestroyOnExit(t *testing.T) {
	m := Machine{DestroyOnExit: true, Whole: true}
	var due []Effect
	for _, b := range after(opened, beat{Planned{}, "Apply"}, beat{done, "Report"},
		beat{Interrupted{}, "ReportEnding, Destroy"}, beat{program, ""}, beat{Cancelled{}, ""},
		beat{Destroyed{errDenied}, "Exit denied"}) {
		if m, due = m.Step(b.event, time.Time{}); names(due) != b.want {
			t.Fatalf("%T%+v: %s, want %s", b.event, b.event, names(due), b.want)
		}
	}
}

// Rounds in the background go through all resources in turn, and ask credentials again once a minute.
func TestObserveInTurn(t *testing.T) {
	many := Program{Version: 1, Stack: "shop"}
	for i := range 60 {
		many.Addresses = append(many.Addresses, fmt.Sprint("r", i))
	}
	m, now := Machine{ObserveEvery: time.Second}, time.Unix(1e9, 0)
	for _, e := range []Event{Started{}, Evaluated{Program: many}, Opened{}, Planned{}, done} {
		m, _ = m.Step(e, now)
	}
	var seen []string
	var invalidated []int
	for i := range 9 {
		var due []Effect
		m, due = m.Step(Woken{}, now)
		for _, e := range due {
			switch e := e.(type) {
			case Plan:
				seen = append(seen, e.Round.Observe...)
			case Invalidate:
				invalidated = append(invalidated, i)
			}
		}
		m, _ = m.Step(Planned{Drift: true}, now)
		m, _ = m.Step(done, now)
		now = now.Add(11 * time.Second)
	}
	if want := slices.Concat(many.Addresses, many.Addresses, many.Addresses); !slices.Equal(seen, want) {
		t.Errorf("observed %v", seen)
	}
	if !slices.Equal(invalidated, []int{0, 6}) {
		t.Errorf("credentials are asked again in the rounds %v", invalidated)
	}
}

// state is what two machines that go on alike have in common.
func state(m Machine) string {
	return fmt.Sprint(m.Evaluation, m.Access, m.Work, m.Ending, "|",
		m.Whole, m.round.Program, m.round.Observe, m.round.Narrow, m.round.Background,
		"|", m.newest.Version, m.newest.Stack, m.deployed.Version, m.besideProgram, m.again, m.retries, m.position, m.held,
		m.interrupted, m.cancelled, m.cut, m.err)
}

// possible are the events that may come in a state, with each kind of answer to what is under way.
func possible(m Machine) []Event {
	return append(answers(m), program, beside, Saved{Program: true, Beside: true}, Woken{}, Interrupted{}, Cancelled{},
		Unwatched{errDenied})
}

// answers are the answers that may come to what is under way.
func answers(m Machine) []Event {
	var events []Event
	if m.Evaluation != NotEvaluating {
		next := shop
		if m.newest.Version == shop.Version {
			next = shop2
		}
		other := Program{Version: next.Version, Stack: "other"}
		events = append(events, Evaluated{Program: next}, Evaluated{Program: other},
			Evaluated{Err: errBroken}, Evaluated{Err: context.Canceled}, Evaluated{Err: takeOver})
	}
	if m.Access == Opening {
		events = append(events, Opened{}, Opened{Err: errDenied})
	}
	switch m.Work {
	case Planning, GivenUp:
		events = append(events, Planned{}, Planned{Drift: true}, Planned{Err: errDenied}, Planned{Refused: errDenied},
			Planned{Err: errHeld}, Planned{Err: context.Canceled}, Planned{Err: engine.ErrDeployed})
	case Applying, Stopping:
		events = append(events, done, stopped, Applied{State: statestore.Failed},
			Applied{State: statestore.Failed, Changed: []string{"a"}}, Applied{Err: errHeld}, Applied{Err: errDenied}, Applied{Err: context.Canceled})
	case Idle:
	}
	if m.Ending == Destroying {
		events = append(events, Destroyed{}, Destroyed{errDenied})
	}
	return events
}

// check holds what one step must not do.
func check(before, after Machine, e Event, due []Effect) string {
	under := map[bool]int{}
	for _, effect := range due {
		switch effect.(type) {
		case Evaluate:
			if after.Evaluation != Evaluating || before.Evaluation == Evaluating {
				return "a second evaluation at once"
			}
		case GiveUpEvaluation:
			if before.Evaluation != Evaluating {
				return "gives up no evaluation"
			}
		case Plan:
			if under[true]++; after.Work != Planning || after.Access != Open || under[true] > 1 {
				return "plans while something is at work, or without a stage"
			}
		case GiveUpPlan:
			if before.Work != Planning {
				return "gives up no plan"
			}
		case Apply:
			if _, planned := e.(Planned); !planned || before.Work != Planning || before.Ending != Running {
				return "applies what was not planned, was given up, or comes after the end"
			}
		case StopApply:
			if before.Work != Applying {
				return "stops no run, or stops it twice"
			}
		case OpenStage:
			if before.Access != Closed {
				return "opens the stage twice"
			}
		case Exit:
			if after.Ending != Ended || after.Work != Idle || after.Evaluation != NotEvaluating || after.Access == Opening {
				return "exits while something is at work"
			}
		}
	}
	return ""
}

// TestEveryState goes through all states that can be reached: every event has an answer in each, each can come to an
// end by an interrupt, and in each a save of the program is deployed.
func TestEveryState(t *testing.T) {
	now := time.Unix(1e9, 0)
	every := time.Second
	for _, first := range []Machine{{Whole: true, ObserveEvery: every}, {ObserveEvery: every, DestroyOnExit: true}} {
		known := map[string]Machine{state(first): first}
		open := []Machine{first}
		events := 0
		for len(open) > 0 {
			m := open[0]
			open = open[1:]
			if m.Ending == Ended {
				for _, e := range append(possible(m), Started{}, done, Planned{}, Opened{}, Destroyed{}) {
					if _, due := m.Step(e, now); len(due) > 0 {
						t.Fatalf("%T after the end: %s", e, names(due))
					}
				}
				continue
			}
			before := state(m)
			for _, e := range append(possible(m), Started{}) {
				events++
				next, due := m.Step(e, now)
				if bad := check(m, next, e, due); bad != "" {
					t.Fatalf("%s: %T%+v in %s: %s", bad, e, e, before, names(due))
				}
				key := state(next)
				if _, ok := known[key]; !ok {
					known[key] = next
					open = append(open, next)
				}
			}
			if state(m) != before {
				t.Fatalf("a step changes the state that it began with: %s", before)
			}
			for _, e := range []Event{Evaluated{Program: shop}, Opened{}, Planned{}, done, Destroyed{}} {
				expected := slices.ContainsFunc(answers(m), func(a Event) bool {
					return reflect.TypeOf(a) == reflect.TypeOf(e)
				})
				if next, due := m.Step(e, now); !expected && (len(due) > 0 || state(next) != before) {
					t.Fatalf("%T answers nothing and changes %s: %s", e, state(m), names(due))
				}
			}
		}
		ended := map[string]bool{}
		for _, m := range known {
			ends(t, m, now, ended)
			deploys(t, m, now)
		}
		t.Logf("%d states, %d events", len(known), events)
	}
}

// ends holds that an interrupt ends a session, whatever the answers to what is under way are, and that it begins
// nothing. The states that are known to end are in ended.
func ends(t *testing.T, m Machine, now time.Time, ended map[string]bool) {
	t.Helper()
	m, _ = m.Step(Interrupted{}, now)
	var follow func(m Machine, left int)
	follow = func(m Machine, left int) {
		key := state(m)
		if m.Ending == Ended || ended[key] {
			return
		}
		under := answers(m)
		if len(under) == 0 || left == 0 {
			t.Fatalf("an interrupt does not end %s", key)
		}
		for _, e := range under {
			next, due := m.Step(e, now)
			for _, effect := range due {
				switch effect.(type) {
				case Evaluate, Plan, Apply, OpenStage:
					t.Fatalf("%T begins after an interrupt: %s", effect, key)
				}
			}
			follow(next, left-1)
		}
		ended[key] = true
	}
	follow(m, 5)
}

// deploys holds that a save of the program in any state is deployed when all that is under way goes well.
func deploys(t *testing.T, m Machine, now time.Time) {
	t.Helper()
	if m.Ending != Running {
		return
	}
	last := Program{Version: 9, Stack: "shop"}
	if m.newest.Stack != "" {
		last.Stack = m.newest.Stack
	}
	m, _ = m.Step(program, now)
	for range 12 {
		switch {
		case m.Evaluation != NotEvaluating:
			m, _ = m.Step(Evaluated{Program: last}, now)
		case m.Access == Opening:
			m, _ = m.Step(Opened{}, now)
		case m.Work == Planning, m.Work == GivenUp:
			m, _ = m.Step(Planned{}, now)
		case m.Work == Applying:
			m, _ = m.Step(done, now)
		case m.Work == Stopping:
			m, _ = m.Step(stopped, now)
		}
	}
	if m.deployed.Version != last.Version || m.Work != Idle {
		t.Fatalf("a save is not deployed: %s", state(m))
	}
}
