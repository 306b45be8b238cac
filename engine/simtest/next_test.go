package simtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
	"github.com/athanor-dev/athanor/engine/simtest/model"
)

// durable are the cuts after which something is there that was not there before, and the one before anything is.
func durable(events []simtest.Event) []point {
	var all []point
	for _, e := range events {
		switch {
		case strings.HasPrefix(e.Name, "plan "):
		case e.Name == acquire:
			all = append(all, point{runs: []map[string]simtest.Outcome{once(e.Name, simtest.AfterStore)}})
		case e.Sort == simtest.Writing:
			all = append(all, point{runs: []map[string]simtest.Outcome{once(e.Name, simtest.AnswerLost)}})
		case e.Sort == simtest.Storing:
			all = append(all, point{runs: []map[string]simtest.Outcome{once(e.Name, simtest.AfterStore)}})
		}
	}
	return all
}

const acquire = "acquire"

// nexts hands on what may follow the cuts of a scenario: for each state that they leave, the first cut in the order of keys,
// with every next command that applies. Every day some of all cuts are played with some next commands ([chooseDaily]), whatever
// states they leave: to tell states apart every cut has to be played.
func (sc *scenario) nexts(t *testing.T, ref *outcome, d depth, yield func(item) bool) bool {
	cuts := sc.cuts(ref)
	seen := map[string]bool{}
	for _, cut := range cuts {
		p := sc.at(ref, cut)
		first := false
		if d != sample {
			state, err := p.reach(t, cut)
			if err != nil {
				t.Errorf("%s: %v", sc.key(cut.parts()...), err)
				continue
			}
			first = !seen[state]
			if seen[state] = true; !first && d != everyCut {
				continue
			}
		}
		for _, c := range columns() {
			if *columnFlag != "" && *columnFlag != c.name {
				continue
			}
			key := sc.key(append(cut.parts(), "next", c.name)...)
			if d == sample && !sc.daily[key] && !isWitness(key) {
				continue
			}
			n := p.apply(c)
			if n == nil {
				continue
			}
			it := item{key: key, cut: cut.String() + "; next: " + c.name, class: cases, column: c.name, state: first}
			first = false
			it.play = func() *outcome {
				out := &outcome{}
				synctest.Test(t, func(t *testing.T) { p.play(t.Context(), cut, n, out) })
				return out
			}
			if !yield(it) {
				return false
			}
		}
	}
	return true
}

// cuts are the durable ones of a scenario, in the order of keys.
func (sc *scenario) cuts(ref *outcome) []point {
	cuts := durable(ref.first.Events)
	slices.SortFunc(cuts, func(a, b point) int { return strings.Compare(sc.key(a.parts()...), sc.key(b.parts()...)) })
	return cuts
}

// at is where a cut leaves a scenario.
func (sc *scenario) at(ref *outcome, cut point) *place {
	p := &place{sc: sc, ref: ref, base: sc.do.Graph, before: ref.before}
	if sc.do.Destroy {
		if p.base = sc.do.Program; p.base == nil {
			p.base = p.before
		}
	}
	for event, o := range cut.runs[0] {
		p.event, p.outcome = event, o
	}
	p.cut = simtest.AddressOf(p.event)
	if _, to, moved := strings.Cut(p.cut, "→"); moved {
		p.cut = to
	}
	if p.cut == "" && p.base != nil && len(p.base.Resources) > 0 {
		p.cut = slices.MinFunc(p.base.Resources, func(a, b engine.Resource) int { return strings.Compare(a.Address, b.Address) }).Address
	}
	return p
}

// apply is a column at this place; nil when it does not apply, or when a stated limit stands against it.
func (p *place) apply(c nextCommand) *next {
	switch {
	case p.sc.cell && !c.cells:
		return nil
	case !p.sc.inScope(p.event, p.outcome, false) || c.lost && !p.sc.inScope(p.event, p.outcome, true):
		return nil
	case c.other && p.sc.sameAlone != "" || p.sc.opts.Adopt && strings.HasPrefix(c.name, "replaced"):
		return nil // what is adopted is not replaced, and the run says so
	case p.sc.opts.Dev != nil && c.name != "same" && c.name != "edited in place":
		return nil // a dev session deletes nothing that deploy made
	}
	n := c.of(p)
	if n != nil {
		n.lost = c.lost
	}
	return n
}

// reach plays the cut and tells the state that it leaves.
func (p *place) reach(t *testing.T, cut point) (state string, err error) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim(t)
		out := &outcome{}
		if p.start(t.Context(), s, out); len(out.wrong) == 0 {
			p.cutAt(t.Context(), s, cut, out)
		}
		if len(out.wrong) > 0 {
			err = errors.New(strings.Join(out.wrong, "; "))
			return
		}
		state, err = s.Fingerprint(t.Context())
	})
	return state, err
}

// start does the setup.
func (p *place) start(ctx context.Context, s *simtest.Sim, out *outcome) {
	for i, do := range p.sc.setup {
		if err := do(ctx, s); err != nil {
			out.violate("setup, step %d: %v", i+1, err)
			return
		}
	}
	s.Opts = p.sc.opts
}

// cutAt runs the command until it is cut.
func (p *place) cutAt(ctx context.Context, s *simtest.Sim, cut point, out *outcome) {
	if r := s.Run(ctx, p.sc.do, cut.runs[0]); !r.Hit {
		out.violate("it did not meet %v; it went %v", cut.runs[0], r.Events)
	}
}

// play cuts a scenario, goes on with another command, repeats that and destroys everything.
func (p *place) play(ctx context.Context, cut point, n *next, out *outcome) {
	k, err := key()
	if err != nil {
		out.violate("key: %v", err)
		return
	}
	s, err := simtest.New(k)
	if err != nil {
		out.violate("kinds: %v", err)
		return
	}
	if p.start(ctx, s, out); len(out.wrong) > 0 {
		return
	}
	c := &judge{p: p, n: n, s: s, out: out, from: len(s.Cloud.Effects()), deployed: s.Cloud.Table()}
	if n.early != nil {
		n.early(ctx, s, out)
	}
	p.cutAt(ctx, s, cut, out)
	c.cut = len(s.Cloud.Effects())
	if p.sc.fails {
		// A cut run is not held to what a whole one must have done by then, but for what it must not have touched.
		if err := p.sc.lift(ctx, s); errors.Is(err, errTouched) {
			out.violate("lift: %v", err)
		}
		if err := s.With(); err != nil {
			out.violate("kinds: %v", err)
		}
	}
	if n.late != nil {
		n.late(ctx, s, out)
	}
	if n.opts != nil {
		s.Opts = *n.opts
	}
	c.before = foreign(s.Cloud.Table()) // a call of the cut run that changed any of them is seen among the effects
	if c.next(ctx); len(out.wrong) == 0 {
		c.quiet(ctx)
		c.lastDestroy(ctx)
	}
	out.tally = simtest.Count(s.Cloud.Effects()[c.from:])
	out.calls = out.tally.Mutations
	out.shape = s.Cloud.String()
}

// foreign are the objects that no call of ours created.
func foreign(table []model.Object) []model.Object {
	return slices.DeleteFunc(table, func(o model.Object) bool { return o.Created })
}

// judge holds one case to the judges: by the cloud's own table, by the bytes of the state, and by the text of plans.
type judge struct {
	p      *place
	n      *next
	s      *simtest.Sim
	out    *outcome
	before []model.Object
	from   int // effects of the setup
	cut    int // effects up to the cut
	// deployed are the objects that were there after the setup.
	deployed []model.Object
	// confirmed is 1 when somebody did what was waited for: then more is created than without.
	confirmed int
}

// expected is the case as the model sees it, with this program.
func (c *judge) expected(program *engine.Graph) *model.Case {
	want := &model.Case{Before: c.before, Adopt: c.p.sc.opts.Adopt, Leaves: c.p.sc.opts.Dev != nil}
	for _, g := range c.s.Programs {
		want.Earlier = append(want.Earlier, c.json(g))
	}
	if program != nil {
		want.Program = c.json(program)
	}
	return want
}

func (c *judge) json(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		c.out.violate("json: %v", err)
	}
	return data
}

// next runs the next command: it succeeds, does what it announced, and leaves what the model says.
func (c *judge) next(ctx context.Context) {
	from := len(c.s.Cloud.Effects())
	r := c.s.Run(ctx, c.n.do, nil)
	c.out.first, c.out.last = r, r
	if strings.Contains(*proofFlag, "|next|") { // one case is played: for people
		fmt.Printf("plan: %s\nthen: %s\n", c.json(r.Plan), c.s.Cloud.Effects()[from:])
	}
	if r.Failed() && !c.nothingKnown(r) {
		c.out.violate("next: it failed: %v", failure(r))
	}
	for _, wrong := range unannounced(c.json(r.Plan), c.s.Cloud.Effects()[from:]) {
		c.out.violate("announced: %s", wrong)
	}
	if !r.Failed() && c.s.Cloud.Confirm() {
		c.confirmed = 1
		if r := c.s.Run(ctx, c.n.do, nil); r.Failed() {
			c.out.violate("next: it failed after somebody did what it waited for: %v", failure(r))
		}
	}
	c.effects()
	if !r.Failed() || c.nothingKnown(r) {
		c.end(ctx, "end", c.n.program)
	}
}

// nothingKnown: a destroy without a program says so when there is no state, and does not succeed. That is right as long as
// there is nothing, which the end shows.
func (c *judge) nothingKnown(r *simtest.Report) bool {
	nowhere := c.n.do.Program == nil || len(c.n.do.Program.Resources) == 0
	return c.n.do.Destroy && nowhere && errors.Is(r.Err, engine.ErrNothingKnown)
}

func (c *judge) end(ctx context.Context, when string, program *engine.Graph) {
	want := c.expected(program)
	wrong := want.End(c.s.Cloud.Table())
	if c.p.sc.opts.Dev == nil {
		wrong = append(wrong, want.Commands(c.acts(), c.n.lost)...)
	}
	for _, w := range wrong {
		c.out.violate("%s: %s", when, w)
	}
	if len(wrong) > 0 {
		return // the state cannot be right either
	}
	entries, outputs, err := c.s.Entries(ctx)
	if err != nil {
		c.out.violate("%s: state: %v", when, err)
		return
	}
	if program == nil {
		outputs = nil // the last ones stay readable
	}
	if c.p.sc.opts.Dev != nil {
		return // what deploy made and the program dropped stays in the state
	}
	for _, wrong := range want.State(entries, outputs) {
		c.out.violate("%s: %s", when, wrong)
	}
}

// acts are what commands did, in order.
func (c *judge) acts() []model.Act {
	var all []model.Act
	for i, e := range c.s.Cloud.Effects() {
		if e.Op == "run" || e.Op == "undo" {
			all = append(all, model.Act{Address: e.ID, Text: e.Want, Undone: e.Op == "undo", Cut: i == c.cut-1 && c.p.event == "run "+e.ID})
		}
	}
	return all
}

// effects: nothing is created more often than the program calls for, nothing of others is changed, no data is deleted
// that nobody allowed.
func (c *judge) effects() {
	creations := map[string]int{}
	for _, e := range c.s.Cloud.Effects()[c.from:] {
		switch {
		case e.Op == "create":
			creations["create "+e.Kind+" "+e.Owner.Address]++
		case e.Foreign && !c.p.sc.opts.Adopt:
			c.out.violate("effects: %s is on an object that is not ours", e)
		}
		if e.Op == "delete" && c.retains(e) {
			c.out.violate("effects: %s deleted what every program retains", e)
		}
		if e.Data > 0 && !c.mayDeleteData(e.Owner.Address) {
			c.out.violate("effects: %s deleted data", e)
		}
	}
	for what, n := range creations {
		if most := c.p.ref.tally.ByAddress[what] + c.n.more + c.confirmed; n > most {
			c.out.violate("effects: %s: %d times, %d are enough", what, n, most)
		}
	}
}

// retains reports whether an effect is on an object that was deployed before, of an address that every program which declares
// it retains.
func (c *judge) retains(e simtest.Effect) bool {
	retained := false
	for _, g := range c.s.Programs {
		for _, r := range g.Resources {
			if r.Address == e.Owner.Address && !r.Options.Retain {
				return false
			}
			retained = retained || r.Address == e.Owner.Address
		}
	}
	return retained && slices.ContainsFunc(c.deployed, func(o model.Object) bool { return o.ID == e.ID && o.Created })
}

func (c *judge) mayDeleteData(address string) bool {
	return slices.ContainsFunc(c.s.Programs, func(g *engine.Graph) bool {
		return slices.ContainsFunc(g.Resources, func(r engine.Resource) bool { return r.Address == address && r.Options.AllowDelete })
	})
}

// quiet: once more changes nothing, in the cloud or in the state, and there is no drift.
func (c *judge) quiet(ctx context.Context) {
	c.s.Wait()
	r := c.s.Run(ctx, c.n.do, nil)
	switch {
	case c.nothingKnown(r):
		return
	case r.Failed():
		c.out.violate("quiet: the same once more failed: %v", failure(r))
	case !*modelFlag && r.Plan.Pending() || r.Wrote():
		c.out.violate("quiet: the same once more has something to do: %s %v", planText(r.Plan), r.Events)
	}
	if c.n.program == nil || c.p.sc.opts.Dev != nil || *modelFlag {
		return
	}
	if r := c.s.Run(ctx, simtest.Command{Graph: c.n.program, PlanOnly: true, Drift: true}, nil); r.Err != nil && !errors.Is(r.Err, engine.ErrNothingKnown) {
		c.out.violate("quiet: drift: %v", r.Err)
	} else if r.Err == nil && r.Plan.Drifted() {
		c.out.violate("quiet: there is drift: %s", planText(r.Plan))
	}
}

// lastDestroy: nothing that a call of ours created is left, save what is retained.
func (c *judge) lastDestroy(ctx context.Context) {
	program := c.n.program
	if program == nil {
		program = c.n.do.Program
	}
	c.s.Opts = engine.PlanOptions{TakeOver: c.s.Opts.TakeOver}
	r := c.s.Run(ctx, simtest.Command{Destroy: true, Program: program}, nil)
	nowhere := (program == nil || len(program.Resources) == 0) && errors.Is(r.Err, engine.ErrNothingKnown)
	if r.Failed() && !nowhere {
		c.out.violate("last destroy: it failed: %v", failure(r))
		return
	}
	c.end(ctx, "last destroy", nil)
}
