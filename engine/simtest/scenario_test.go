package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// scenario is one command on one world. It is run to its end once, and then cut and disturbed at every event.
type scenario struct {
	name string
	// setup happened before.
	setup []move
	do    simtest.Command
	opts  engine.PlanOptions
	// fails: the command cannot succeed until lift has happened; then it is run again.
	fails bool
	lift  move
	// again is how many times more than without a cut something may be made for each cut, with the reason: what acts
	// anew when its record is lost or its answer was.
	again int
	why   string
	// notLost says why the record is not lost here: the name of a stated limit of recovery.
	notLost string
	// sameAlone says why only the same program can follow a cut: the name of a stated limit of recovery.
	sameAlone string
	// watch looks at what a disturbed run has left, "" when it is well.
	watch func(s *simtest.Sim, r *simtest.Report) string
	// limit names the stated limit of recovery that a point runs into, "" for none.
	limit func(event string, o simtest.Outcome, lost bool) string
	// ends leads to the same end from an empty world; nil when nothing is known that does.
	ends move
	// cell: one of the matrix, cut once at each point and no more.
	cell bool
	// large scenarios are cut at triples that a seed chooses instead of at all pairs.
	large bool

	// ref is the scenario in peace, and daily the keys of what is played every day, where that is all.
	ref   *outcome
	daily map[string]bool
}

// point is one way to disturb a scenario: what the first run meets, the second, and so on; then the command is run once
// more in peace.
type point struct {
	runs []map[string]simtest.Outcome
	// lost: the record is lost after the first run.
	lost bool
}

func (p point) String() string {
	var parts []string
	for _, faults := range p.runs {
		for name, o := range faults {
			parts = append(parts, name+": "+string(o))
		}
	}
	if p.lost {
		parts = append(parts, "store lost")
	}
	return strings.Join(parts, "; ")
}

// once is a point with one fault in the first run.
func once(event string, o simtest.Outcome) map[string]simtest.Outcome {
	return map[string]simtest.Outcome{event: o}
}

// outcome is what came of one point.
type outcome struct {
	shape string
	tally simtest.Tally
	calls int // mutations, of all runs after the setup
	// denied: a call was refused for good, and the run says that all went well. Then it must have.
	denied bool
	// first and last are the runs before and after the disturbance; the same without one.
	// next is the first run after the disturbed ones: where a further cut could be made.
	first, next, last *simtest.Report
	// before is the program that was deployed last in the setup, nil when none was.
	before *engine.Graph
	wrong  []string
}

func (o *outcome) digest() string { return simtest.Digest(o.shape) }

func (o *outcome) violate(format string, args ...any) {
	o.wrong = append(o.wrong, fmt.Sprintf(format, args...))
}

// key is one stage key for all simulations, the same in every process: golden plans hold digests that are keyed by it.
var key = sync.OnceValues(func() (*seal.Key, error) {
	dir, err := os.MkdirTemp("", "simtest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	folder := filepath.Join(dir, "keys")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	text := "athanor-key-1:" + strings.Repeat("5a", 32) + "\n"
	if err := os.WriteFile(filepath.Join(folder, "key"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	return seal.LoadOrMake(folder, simtest.Stage().Stack, simtest.Stage().Name)
})

// newSim makes a simulation in this bubble.
func newSim(t *testing.T) *simtest.Sim {
	t.Helper()
	k, err := key()
	if err != nil {
		t.Fatal(err)
	}
	s, err := simtest.New(k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// play runs a scenario in this bubble, disturbed as the point says, and looks at what came of it. The tally is that of
// an undisturbed run, nil while that is what is being played.
func (sc *scenario) play(ctx context.Context, p point, want *outcome) *outcome {
	out := &outcome{}
	k, err := key()
	if err != nil {
		out.violate("key: %v", err)
		return out
	}
	s, err := simtest.New(k)
	if err != nil {
		out.violate("kinds: %v", err)
		return out
	}
	for i, do := range sc.setup {
		if err := do(ctx, s); err != nil {
			out.violate("setup, step %d: %v", i+1, err)
			return out
		}
	}
	if n := len(s.Programs); n > 0 {
		out.before = s.Programs[n-1]
	}
	s.Opts = sc.opts
	if sc.do.PlanOnly {
		sc.look(ctx, s, out)
		return out
	}
	before := len(s.Cloud.Effects())
	sc.disturb(ctx, s, p, out)
	if len(out.wrong) > 0 {
		return out
	}
	sc.finish(ctx, s, p, out)
	out.tally = simtest.Count(s.Cloud.Effects()[before:])
	out.calls = out.tally.Mutations
	if out.shape, err = s.Shape(ctx); err != nil {
		out.violate("shape: %v", err)
	}
	sc.judge(ctx, s, p, out, want)
	return out
}

// look plans, which must change nothing.
func (sc *scenario) look(ctx context.Context, s *simtest.Sim, out *outcome) {
	before, err := s.Shape(ctx)
	if err != nil {
		out.violate("shape: %v", err)
	}
	serial := s.Serial(ctx)
	r := s.Run(ctx, sc.do, nil)
	out.first, out.last = r, r
	if r.Err != nil {
		out.violate("plan: %v", r.Err)
	}
	if out.shape, err = s.Shape(ctx); err != nil || out.shape != before || r.Wrote() || s.Serial(ctx) != serial {
		out.violate("a plan changed something: %v\n%s\nwas\n%s", err, out.shape, before)
	}
}

// disturb runs the command as often as the point has faults for.
func (sc *scenario) disturb(ctx context.Context, s *simtest.Sim, p point, out *outcome) {
	for i, faults := range p.runs {
		r := s.Run(ctx, sc.do, faults)
		if out.first == nil {
			out.first = r
		}
		out.last = r
		if !r.Hit {
			out.violate("run %d did not meet %v; it went %v", i+1, faults, r.Events)
			return
		}
		if len(r.Zombies) > 0 {
			out.violate("without its lease it began %v", r.Zombies)
		}
		for event, o := range faults {
			sc.answered(r, event, o, out)
		}
		if sc.watch != nil {
			if wrong := sc.watch(s, r); wrong != "" {
				out.violate("%s", wrong)
			}
		}
		if p.lost && i == 0 {
			s.Lose()
		}
	}
}

// answered checks how a run dealt with a fault that it lived through.
func (sc *scenario) answered(r *simtest.Report, event string, o simtest.Outcome, out *outcome) {
	switch o {
	case simtest.Throttle, simtest.Stumble, simtest.Swallow:
		if r.Failed() && !sc.fails {
			out.violate("%s %s: the run gave up: %v", event, o, failure(r))
		}
	case simtest.Severed:
		if !r.Failed() {
			out.violate("%s %s: the run says that all went well", event, o)
		}
	case simtest.Deny, simtest.Hang:
		out.denied = !r.Failed()
		if r.Failed() && strings.HasPrefix(event, "plan ") && !sc.do.Destroy && r.Wrote() {
			out.violate("%s %s: the run went on to write: %v", event, o, r.Events)
		}
	default:
	}
}

// finish runs the command to its end.
func (sc *scenario) finish(ctx context.Context, s *simtest.Sim, p point, out *outcome) {
	r := s.Run(ctx, sc.do, nil)
	if out.next = r; out.first == nil {
		out.first = r
	}
	if out.denied && r.Wrote() {
		out.violate("a call was refused and the run said that all went well; the next one did %v", r.Events)
	}
	if sc.fails {
		if !r.Failed() && !p.lost {
			out.violate("it cannot have succeeded")
		}
		if err := sc.lift(ctx, s); err != nil {
			out.violate("lift: %v", err)
		}
		r = s.Run(ctx, sc.do, nil)
	}
	if out.last = r; r.Failed() {
		out.violate("the last run failed: %v\n%s", failure(r), s.Cloud)
	}
}

// judge is both oracles: the end state, and the count of what was done.
func (sc *scenario) judge(ctx context.Context, s *simtest.Sim, p point, out, want *outcome) {
	for _, b := range s.Cloud.Broken() {
		out.violate("%s", b)
	}
	cuts := len(p.runs)
	if want != nil {
		if out.shape != want.shape {
			out.violate("the end is\n%s\nand not\n%s", out.shape, want.shape)
		}
		for what, n := range out.tally.ByAddress {
			if most := want.tally.ByAddress[what] + sc.again*cuts; n > most {
				out.violate("%s: %d times, %d are enough", what, n, most)
			}
		}
		for what, n := range want.tally.ByAddress {
			if out.tally.ByAddress[what] < n && !strings.HasPrefix(what, "create") && !p.lost {
				out.violate("%s: %d times instead of %d", what, out.tally.ByAddress[what], n)
			}
		}
		if most := want.calls + (2+sc.again*2)*cuts; out.calls > most {
			out.violate("%d mutations; %d are enough", out.calls, most)
		}
	}
	if !p.lost { // without state numbers begin again where nothing is left to read one from
		for what, n := range out.tally.ByGeneration {
			if n > 1+sc.again*cuts {
				out.violate("%s: %d times", what, n)
			}
		}
	}
	if snap, err := s.Record(ctx); err != nil {
		out.violate("record: %v", err)
	} else if bad := snap.Check(); len(bad) > 0 {
		out.violate("record: %v", errors.Join(bad...))
	}
	sc.orphans(ctx, s, out)
	s.Wait()
	r := s.Run(ctx, sc.do, nil)
	if r.Failed() {
		out.violate("the run after the last failed: %v", failure(r))
		return
	}
	if r.Plan.Pending() {
		out.violate("the run after the last has something to do: %s", planText(r.Plan))
	}
	if r.Wrote() {
		out.violate("the run after the last wrote: %v", r.Events)
	}
}

// orphans: everything of ours that is there stands in a row, also after a run in peace, which nothing is compared with.
func (sc *scenario) orphans(ctx context.Context, s *simtest.Sim, out *outcome) {
	rows, err := s.Rows(ctx)
	if err != nil {
		out.violate("rows: %v", err)
	}
	known := map[string]bool{}
	for _, row := range rows {
		for i := range row.Generations {
			known[row.Generations[i].Identity] = true
		}
	}
	for _, o := range s.Cloud.Objects() {
		if o.Owner.Address != "" && !o.Owner.Retained && !known[o.ID] {
			out.violate("%s %s of %s stands in no row", o.Kind, o.ID, o.Owner.Address)
		}
	}
}

func planText(p *engine.Plan) string {
	if p == nil {
		return "none"
	}
	var b strings.Builder
	for _, a := range p.Actions {
		fmt.Fprintf(&b, "%s:%s", a.Address, a.Action)
		for _, r := range a.Reasons {
			fmt.Fprintf(&b, " %s %v→%v", r.Path, r.Have, r.Want)
		}
		b.WriteByte(' ')
	}
	return b.String()
}
