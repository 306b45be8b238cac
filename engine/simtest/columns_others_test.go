package simtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/simtest"
)

// asked plans and asks for drift: neither writes, and they say the same of what was changed outside.
func (p *place) asked() *next {
	if p.sc.do.Destroy || p.sc.opts.Dev != nil {
		return nil
	}
	n := p.same()
	n.late = func(ctx context.Context, s *simtest.Sim, out *outcome) {
		serial := s.Serial(ctx)
		plan := s.Run(ctx, simtest.Command{Graph: p.base, PlanOnly: true}, nil)
		drift := s.Run(ctx, simtest.Command{Graph: p.base, PlanOnly: true, Drift: true}, nil)
		if plan.Wrote() || drift.Wrote() || s.Serial(ctx) != serial {
			out.violate("plan or drift wrote: %v %v", plan.Events, drift.Events)
		}
		if plan.Err != nil {
			out.violate("plan: %v", plan.Err)
		}
		if errors.Is(drift.Err, engine.ErrNothingKnown) || plan.Err != nil {
			return
		}
		if drift.Err != nil {
			out.violate("drift: %v", drift.Err)
			return
		}
		p.oneAnswer(plan.Plan, drift.Plan, out)
	}
	return n
}

// oneAnswer: what is missing for one is missing for the other.
func (p *place) oneAnswer(plan, drift *engine.Plan, out *outcome) {
	creates := map[string]bool{}
	for _, a := range plan.Actions {
		if a.Action != engine.Delete && a.Action != engine.Forget {
			creates[a.Address] = a.Action == engine.Create
		}
	}
	for _, a := range plan.Actions {
		if a.Action == engine.Move {
			delete(creates, a.From) // the program gives the address to another, of which drift knows nothing
		}
	}
	for _, a := range drift.Actions {
		if planned, both := creates[a.Address]; both && a.Action != engine.Blocked && planned != (a.Action == engine.Create) {
			out.violate("plan and drift disagree about %s: plan has %s, drift has %s", a.Address, planText(plan), planText(drift))
		}
	}
}

// saved applies a plan of before the cut: it is refused, or does what it announced and nothing else.
func (p *place) saved() *next {
	if p.sc.do.Destroy || p.sc.opts.Dev != nil || p.sc.fails {
		return nil
	}
	n := p.same()
	var doc []byte
	n.early = func(ctx context.Context, s *simtest.Sim, out *outcome) {
		r := s.Run(ctx, simtest.Command{Graph: p.base, PlanOnly: true}, nil)
		var err error
		if doc, err = json.Marshal(r.Plan); err != nil || r.Err != nil {
			out.violate("plan: %v %v", r.Err, err)
		}
	}
	n.late = func(ctx context.Context, s *simtest.Sim, out *outcome) {
		before := len(s.Cloud.Effects())
		saved, err := engine.ReadPlan(doc)
		if err != nil {
			out.violate("the saved plan: %v", err)
			return
		}
		s.Run(ctx, simtest.Command{Graph: p.base, Saved: saved}, nil)
		for _, wrong := range unannounced(doc, s.Cloud.Effects()[before:]) {
			out.violate("of a saved plan: %s", wrong)
		}
	}
	return n
}

// thirdValue changes what is there of the cut resource to what nobody declared.
func (p *place) thirdValue() *next {
	n := p.same()
	n.late = func(_ context.Context, s *simtest.Sim, _ *outcome) {
		s.Cloud.Edit(simtest.ByAddress(p.cut), func(o *simtest.Object) { o.Fields["color"] = "third" })
	}
	return n
}

// deletedOutside deletes what is there of the cut resource.
func (p *place) deletedOutside() *next {
	n := p.same().creating(1)
	n.late = func(_ context.Context, s *simtest.Sim, _ *outcome) { s.Cloud.Remove(simtest.ByAddress(p.cut)) }
	return n
}

// strangerOutside puts somebody else's object where the cut resource has a given name: nothing of it is changed.
func (p *place) strangerOutside() *next {
	if p.base == nil || p.sc.opts.Adopt || p.sc.fails {
		return nil
	}
	at := slices.IndexFunc(p.base.Resources, func(r engine.Resource) bool { return r.Address == p.cut })
	if at < 0 || p.base.Resources[at].Props["name"] == nil || p.base.Resources[at].Kind != "sim.Named" {
		return nil
	}
	name, _ := p.base.Resources[at].Props["name"].(string)
	if strings.Contains(name, "⟦") {
		return nil
	}
	n := p.same()
	n.late = func(ctx context.Context, s *simtest.Sim, out *outcome) {
		if slices.ContainsFunc(s.Cloud.Objects(), func(o simtest.Object) bool { return o.Name == name }) {
			return
		}
		s.Cloud.Put(stranger(name))
		if r := s.Run(ctx, p.sc.do, nil); !r.Failed() && !p.sc.do.Destroy {
			out.violate("a stranger has the name, and the run says that all went well")
		}
		if err := gives(name)(ctx, s); err != nil {
			out.violate("%v", err)
		}
	}
	return n
}

// dev runs a dev session's round: what deploy made stays.
func (p *place) dev() *next {
	deletes := func(a engine.Planned) bool { return a.Action == engine.Delete || a.Action == engine.Replace }
	if p.sc.do.Destroy || p.sc.opts.Dev != nil || p.ref.first.Plan == nil || slices.ContainsFunc(p.ref.first.Plan.Actions, deletes) {
		return nil
	}
	n := p.same()
	n.late = func(ctx context.Context, s *simtest.Sim, out *outcome) {
		opts := s.Opts
		s.Opts.Dev = &engine.Dev{Here: true, Narrow: true}
		before := len(s.Cloud.Effects())
		s.Run(ctx, simtest.Command{Graph: p.base}, nil)
		s.Opts = opts
		for _, e := range s.Cloud.Effects()[before:] {
			if e.Op == "delete" && e.Owner.Address != "" && !p.halfMade(e) {
				out.violate("a dev session deleted what deploy made: %s", e)
			}
		}
	}
	return n
}

// halfMade reports whether an effect is about what the cut run had only begun.
func (p *place) halfMade(e simtest.Effect) bool { return e.Owner.Address == p.cut }

// unknownKind goes on with a binary that lacks the kind of the cut resource: what is of other kinds is deployed.
func (p *place) unknownKind() *next {
	if p.base == nil || p.sc.do.Destroy || p.sc.fails || p.sc.opts.Dev != nil {
		return nil
	}
	at := slices.IndexFunc(p.base.Resources, func(r engine.Resource) bool { return r.Address == p.cut })
	if at < 0 {
		return nil
	}
	kind := p.base.Resources[at].Kind
	rest := copied(p.base)
	for _, r := range p.base.Resources {
		if r.Kind == kind {
			undeclared(rest, &r)
		}
	}
	rest = painting(rest)
	if len(rest.Resources) == 0 {
		return nil
	}
	n := p.same().creating(2) // what referred to the kind may be replaced, and again when it refers to it anew
	n.late = func(ctx context.Context, s *simtest.Sim, out *outcome) {
		if err := s.Without(kind); err != nil {
			out.violate("kinds: %v", err)
		}
		r := s.Run(ctx, simtest.Command{Graph: rest}, nil)
		for _, r := range rest.Resources {
			isPainted := func(o simtest.Object) bool { return o.Owner.Address == r.Address && o.Fields["color"] == "painted" }
			if !inState(&r) && !slices.ContainsFunc(s.Cloud.Objects(), isPainted) {
				out.violate("a kind is unknown, and %s of another kind was not deployed", r.Address)
			}
		}
		if err := s.With(); err != nil {
			out.violate("kinds: %v", err)
		}
		_ = r // blocked entries may make the run fail: what counts is that the others are done
	}
	return n
}

// painting changes everything in place.
func painting(g *engine.Graph) *engine.Graph {
	for i := range g.Resources {
		painted(g, &g.Resources[i])
	}
	return g
}
