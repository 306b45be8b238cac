package edit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/execute"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/planner"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// StageEnd is one end of a relocation: a stage, what applies plans with its key, and the directory in which its relative paths start.
type StageEnd struct {
	Runner func() *execute.Runner
	Stage  statestore.Stage
	Dir    string
}

// Relocation moves resources of one stage to another stage of the same store, with a run in each. Both leases are taken before
// anything is changed, in the order of the stages' names. The rows of both stages name each other for as long as both have the
// object, and no plan of either stage is made then: the same relocation again completes it.
type Relocation struct {
	// Source is what the stage that gives does, Target what the one that gets does.
	Source, Target *plan.Plan

	from, to relocationEnd
	renames  []Rename
	derives  func(kind string) bool
	// moves are old addresses to new ones; begun those that an interrupted run has written to the target.
	moves map[string]string
	begun map[string]bool
	nodes []relocated
	o     execute.RunOptions
}

// relocationEnd is one end while the relocation is planned and applied.
type relocationEnd struct {
	StageEnd
	w      *planner.Draft
	plan   *plan.Plan
	run    *execute.Run
	inner  *relocationEnd  // the end whose lease is taken after this one's
	result *execute.Result // of the inner end
	end    statestore.Change
}

// relocated is one resource as both stages see it. The source is nil once it has given the resource away.
type relocated struct{ source, target *plan.Node }

// PlanRelocation makes the plans of both stages, as PlanRelocation of the engine says.
func PlanRelocation(ctx context.Context, from, to StageEnd, renames []Rename, derives func(kind string) bool) (*Relocation, error) {
	m := &Relocation{from: relocationEnd{StageEnd: from}, to: relocationEnd{StageEnd: to}, renames: renames, derives: derives}
	err := m.plan(ctx)
	return m, err
}

// plan plans both ends on the state of now.
func (m *Relocation) plan(ctx context.Context) error {
	for _, end := range []*relocationEnd{&m.from, &m.to} {
		var err error
		if end.w, err = end.Runner().NewEdit(ctx, end.Stage, end.Dir); err != nil {
			return err
		}
	}
	if err := planner.BetweenStages(ctx, m.from.w); err != nil && !errors.Is(err, plan.ErrRefused) { // what is refused may be this very move
		return err
	}
	m.moves, m.begun, m.nodes = map[string]string{}, map[string]bool{}, nil
	for _, r := range m.renames {
		problemIf(m.from.w.Refusals, r.From, m.check(r.From, r.To))
		m.moves[r.From] = r.To
	}
	if m.from.w.Refused() == nil {
		m.prepare(reconcile.ReadOnly(reconcile.WithGate(ctx, m.from.w.Gate)))
	}
	return m.documents()
}

// problemIf refuses an edit because of an address where there is an error.
func problemIf(r *plan.Refusals, addr string, err error) {
	if err != nil {
		r.Wrong(addr, err)
	}
}

// name is an address of the end as the other end writes it.
func (e *relocationEnd) name(addr string) string { return plan.AbroadName(e.Stage, addr) }

// check says why a move cannot be; nil for one that can.
func (m *Relocation) check(from, to string) error {
	source, target := m.from.w, m.to.w
	arrived := target.Records[to]
	switch {
	case strings.HasSuffix(from, "/") || strings.HasSuffix(to, "/"):
		return reconcile.WithHint(errors.New("scopes move within a stage only"), "name each address")
	case m.moves[from] != "" || slices.Contains(slices.Collect(maps.Values(m.moves)), to):
		return errors.New("it is named twice")
	}
	if err := graph.CheckAddress(to); err != nil {
		return err
	}
	rec := source.Records[from]
	switch {
	case source.Damaged[from] != nil:
		return plan.Unreadable(from, source.Damaged[from])
	case target.Damaged[to] != nil:
		return plan.Unreadable(to, target.Damaged[to])
	case arrived != nil && arrived.MovingFrom == m.from.name(from) && (rec == nil || rec.MovingTo == m.to.name(to)):
		m.begun[from] = true
		return nil
	case rec == nil:
		return planner.NothingAs(from, slices.Collect(maps.Keys(source.Records)))
	case arrived != nil:
		return reconcile.WithHint(fmt.Errorf("%s has %s already", m.to.Stage, to), "choose another address there")
	case rec.MovingFrom != "":
		return reconcile.WithHint(fmt.Errorf("its move from %s was interrupted", rec.MovingFrom), "finish that one first, by the same command")
	case rec.MovingTo != "" && rec.MovingTo != m.to.name(to):
		return reconcile.WithHint(fmt.Errorf("its move to %s was interrupted", rec.MovingTo), "athanor state mv %s %s finishes that one", from, rec.MovingTo)
	}
	return m.checkRow(from, rec)
}

// checkRow says why what state has of a resource cannot leave its stage.
func (m *Relocation) checkRow(from string, rec *state.Entry) error {
	going := map[string]bool{}
	for _, r := range m.renames {
		going[r.From] = true
	}
	if by := neededBy(m.from.w.Snap, from, going); len(by) > 0 {
		return reconcile.WithHint(&statestore.NeededError{Address: from, By: by},
			"move them too, or deploy a program in which they refer to an output of %s instead", m.to.Stage.Stack)
	}
	for _, g := range rec.Generations {
		if g.Intent != nil && !g.StateOnly {
			return reconcile.WithHint(errors.New("its creation began and state does not say how it ended"), "`athanor deploy` finishes it")
		}
		if g.StateOnly && m.derives(g.Kind) && m.from.Runner().Key.ID() != m.to.Runner().Key.ID() {
			return reconcile.WithHint(fmt.Errorf("the values of a %s are derived from the key of %s, and %s has another one", g.Kind, m.from.Stage, m.to.Stage),
				"make it an output of %s and refer to that", m.from.Stage.Stack)
		}
		for addr, other := range m.to.w.Records {
			if slices.ContainsFunc(other.Generations, func(x *state.Generation) bool {
				return g.Identity != "" && x.Kind == g.Kind && x.Location == g.Location && x.Identity == g.Identity
			}) {
				return fmt.Errorf("%s has the same object as %s", m.to.Stage, addr)
			}
		}
	}
	return nil
}

// prepare reads the objects that move.
func (m *Relocation) prepare(ctx context.Context) {
	for _, from := range slices.Sorted(maps.Keys(m.moves)) {
		to := m.moves[from]
		var pair relocated
		entry := m.to.w.Records[to]
		if rec := m.from.w.Records[from]; rec != nil {
			pair.source = m.from.w.LeftNode(from, rec)
			if !m.begun[from] {
				entry = rec.Abroad(to, m.moves, m.from.Runner().Key, m.to.Runner().Key)
				entry.MovingFrom = m.from.name(from)
			}
		}
		pair.target = m.to.w.LeftNode(to, entry)
		pair.target.Plan = &plan.Planned{Address: to, Action: plan.Move, From: m.from.name(from), Needs: entry.Needs}
		if g := pair.target.Present(); g != nil {
			plan.NameObject(pair.target.Plan, g)
		}
		m.nodes = append(m.nodes, pair)
	}
	errs := make([]error, len(m.nodes))
	planner.Parallel(len(m.nodes), planner.Lookers, func(i int) {
		if m.nodes[i].source != nil {
			errs[i] = m.leavable(ctx, m.nodes[i])
		}
	})
	for i, err := range errs {
		problemIf(m.from.w.Refusals, m.nodes[i].target.Plan.From, err)
	}
}

// leavable says why the objects of a resource cannot get owner tags of another stage; nil when they can.
func (m *Relocation) leavable(ctx context.Context, pair relocated) error {
	n, j := pair.source, m.from.w.Jobs
	for _, g := range n.Entry.Generations {
		job, look, err := j.MarkJob(ctx, n, g, m.to.w.Jobs.Mark(pair.target.Address, g.Number))
		if err != nil {
			return err
		}
		switch {
		case job == nil && !g.StateOnly:
			err = tagless(n, g, func() error {
				return reconcile.WithHint(fmt.Errorf("a %s has no owner tag: only its name shows that it is ours, and its name is that of %s", g.Kind, m.from.Stage),
					"give it a name in the program of both stacks")
			})
		case job == nil:
		case look.Absent && g.State == statestore.Condemned:
		case look.Absent:
			err = reconcile.WithHint(fmt.Errorf("%s %s is missing", g.Kind, g.Identity), "deploy %s, which makes it again", m.from.Stage)
		case !m.tagged(pair, g, look) && judgedHere(j, n, g, job, look).Verdict != adopt.Ours:
			answer := judgedHere(j, n, g, job, look)
			err = &adopt.OwnerError{Kind: g.Kind, Identity: look.Identity, Verdict: answer.Verdict, Owner: answer.Owner}
		case !m.tagged(pair, g, look) && !slices.ContainsFunc(look.Steps, plan.IsMarkStep),
			slices.ContainsFunc(look.Steps, func(s reconcile.Step) bool { return plan.IsMarkStep(s) && s.Replaces }):
			err = reconcile.WithHint(fmt.Errorf("the owner tag of %s %s cannot be rewritten", g.Kind, g.Identity), byAdoption, n.Address)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const byAdoption = "`athanor state rm %s` retains it, and a deploy of the other stack with --adopt takes it over"

// judgedHere is the verdict on an object by the owner tag of its own stage, whatever the job would write.
func judgedHere(j *planner.Jobs, n *plan.Node, g *state.Generation, job *reconcile.Job, look reconcile.Look) adopt.Answer {
	kind, _ := j.Catalog.Kind(g.Kind)
	evidence := j.EvidenceOf(n, kind.Spec(), job, look, g)
	evidence.Tag = j.Mark(n.Address, g.Number)
	return adopt.Judge(evidence)
}

// tagged reports that an object has the owner tag of the target already.
func (m *Relocation) tagged(pair relocated, g *state.Generation, look reconcile.Look) bool {
	return look.Owner == m.to.w.Jobs.Mark(pair.target.Address, g.Number)
}

// documents makes the plans of both ends.
func (m *Relocation) documents() error {
	var arrives, leaves []plan.Planned
	for _, pair := range m.nodes {
		arrives = append(arrives, *pair.target.Plan)
		if pair.source == nil {
			continue
		}
		lines := forgotten(m.from.w.Snap, pair.source.Address)
		lines[0].Notes = append(lines[0].Notes, "moves to "+m.to.name(pair.target.Address))
		leaves = append(leaves, lines...)
	}
	refused := m.from.w.Refused()
	for _, end := range []struct {
		*relocationEnd
		lines []plan.Planned
	}{{&m.from, leaves}, {&m.to, arrives}} {
		what := &execute.StateEdit{Apply: func(ctx context.Context, r *execute.Run) (statestore.Change, error) {
			return m.enter(ctx, end.relocationEnd, r)
		}, More: true}
		doc, err := end.w.EditPlan(end.lines, what, func(ctx context.Context) (*plan.Plan, error) {
			err := m.plan(ctx)
			return end.plan, err
		})
		refused, end.plan = errors.Join(refused, err), doc
	}
	m.Source, m.Target = m.from.plan, m.to.plan
	return m.from.w.Refused()
}
