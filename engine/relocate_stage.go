package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// StageEnd is one end of a relocation: a stage, the engine that has its key, and the directory in which its relative paths start.
type StageEnd struct {
	Engine *Engine
	Stage  statestore.Stage
	Dir    string
}

// Relocation moves resources of one stage to another stage of the same store, with a run in each. Both leases are taken before
// anything is changed, in the order of the stages' names. The rows of both stages name each other for as long as both have the
// object, and no plan of either stage is made then: the same relocation again completes it.
type Relocation struct {
	// Source is what the stage that gives does, Target what the one that gets does.
	Source, Target *Plan

	from, to relocationEnd
	renames  []Rename
	derives  func(kind string) bool
	// moves are old addresses to new ones; begun those that an interrupted run has written to the target.
	moves map[string]string
	begun map[string]bool
	nodes []relocated
	o     ApplyOptions
}

// relocationEnd is one end while the relocation is planned and applied.
type relocationEnd struct {
	StageEnd
	w      *Draft
	plan   *Plan
	run    *Run
	inner  *relocationEnd // the end whose lease is taken after this one's
	result *Result        // of the inner end
	end    statestore.Change
}

// relocated is one resource as both stages see it. The source is nil once it has given the resource away.
type relocated struct{ source, target *Node }

// PlanRelocation says what moving resources to another stage would do; it observes their objects, and changes nothing. Renames name
// single addresses. derives reports kinds whose values come from the key of their stage. What cannot be moved is a *RefusedError,
// beside the plans.
func PlanRelocation(ctx context.Context, from, to StageEnd, renames []Rename, derives func(kind string) bool) (*Relocation, error) {
	m := &Relocation{from: relocationEnd{StageEnd: from}, to: relocationEnd{StageEnd: to}, renames: renames, derives: derives}
	err := m.plan(ctx)
	return m, err
}

// plan plans both ends on the state of now.
func (m *Relocation) plan(ctx context.Context) error {
	for _, end := range []*relocationEnd{&m.from, &m.to} {
		var err error
		if end.w, err = end.Engine.planner().NewEdit(ctx, end.Stage, end.Dir); err != nil {
			return err
		}
	}
	if err := BetweenStages(ctx, m.from.w); err != nil && !errors.Is(err, ErrRefused) { // what is refused may be this very move
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
func problemIf(r *Refusals, addr string, err error) {
	if err != nil {
		r.Wrong(addr, err)
	}
}

// name is an address of the end as the other end writes it.
func (e *relocationEnd) name(addr string) string { return AbroadName(e.Stage, addr) }

// AbroadName is an address of another stage as this one writes it: STACK/STAGE:ADDRESS.
func AbroadName(stage statestore.Stage, addr string) string { return stage.String() + ":" + addr }

// SplitAbroad reads STACK/STAGE:ADDRESS.
func SplitAbroad(name string) (stage statestore.Stage, addr string, ok bool) {
	where, addr, ok := strings.Cut(name, ":")
	stack, stageName, both := strings.Cut(where, "/")
	return statestore.Stage{Stack: stack, Name: stageName}, addr, ok && both
}

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
		return Unreadable(from, source.Damaged[from])
	case target.Damaged[to] != nil:
		return Unreadable(to, target.Damaged[to])
	case arrived != nil && arrived.MovingFrom == m.from.name(from) && (rec == nil || rec.MovingTo == m.to.name(to)):
		m.begun[from] = true
		return nil
	case rec == nil:
		return nothingAs(from, slices.Collect(maps.Keys(source.Records)))
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
		if g.StateOnly && m.derives(g.Kind) && m.from.Engine.Key.ID() != m.to.Engine.Key.ID() {
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
				entry = rec.Abroad(to, m.moves, m.from.Engine.Key, m.to.Engine.Key)
				entry.MovingFrom = m.from.name(from)
			}
		}
		pair.target = m.to.w.LeftNode(to, entry)
		pair.target.Plan = &Planned{Address: to, Action: Move, From: m.from.name(from), Needs: entry.Needs}
		if g := pair.target.Present(); g != nil {
			NameObject(pair.target.Plan, g)
		}
		m.nodes = append(m.nodes, pair)
	}
	errs := make([]error, len(m.nodes))
	Parallel(len(m.nodes), Lookers, func(i int) {
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
		case job == nil:
			err = m.tagless(n, g)
		case look.Absent && g.State == statestore.Condemned:
		case look.Absent:
			err = reconcile.WithHint(fmt.Errorf("%s %s is missing", g.Kind, g.Identity), "deploy %s, which makes it again", m.from.Stage)
		case !m.tagged(pair, g, look) && judgedHere(j, n, g, job, look).Verdict != adopt.Ours:
			answer := judgedHere(j, n, g, job, look)
			err = &adopt.OwnerError{Kind: g.Kind, Identity: look.Identity, Verdict: answer.Verdict, Owner: answer.Owner}
		case !m.tagged(pair, g, look) && !slices.ContainsFunc(look.Steps, IsMarkStep),
			slices.ContainsFunc(look.Steps, func(s reconcile.Step) bool { return IsMarkStep(s) && s.Replaces }):
			err = reconcile.WithHint(fmt.Errorf("the owner tag of %s %s cannot be rewritten", g.Kind, g.Identity), byAdoption, n.Address)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const byAdoption = "`athanor state rm %s` retains it, and a deploy of the other stack with --adopt takes it over"

// tagless says why an object that has no owner tag to write cannot change its stage.
func (m *Relocation) tagless(n *Node, g *state.Generation) error {
	switch {
	case g.StateOnly:
		return nil
	case n.Spec == nil:
		return fmt.Errorf("%w: %s", errNoKind, g.Kind)
	case n.Spec.Marked:
		return reconcile.WithHint(errors.New("state does not say what it was created from, and its owner tag cannot be compared"), "`athanor deploy` writes it to state")
	case n.Spec.Named && !n.Spec.Same && !n.Spec.ByParent && !g.NameGiven:
		return reconcile.WithHint(fmt.Errorf("a %s has no owner tag: only its name shows that it is ours, and its name is that of %s", g.Kind, m.from.Stage),
			"give it a name in the program of both stacks")
	}
	return nil
}

// judgedHere is the verdict on an object by the owner tag of its own stage, whatever the job would write.
func judgedHere(j *Jobs, n *Node, g *state.Generation, job *reconcile.Job, look reconcile.Look) adopt.Answer {
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
	var arrives, leaves []Planned
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
		lines []Planned
	}{{&m.from, leaves}, {&m.to, arrives}} {
		what := &StateEdit{Apply: func(ctx context.Context, r *Run) (statestore.Change, error) {
			return m.enter(ctx, end.relocationEnd, r)
		}, More: true}
		plan, err := end.w.EditPlan(end.lines, what, func(ctx context.Context) (*Plan, error) {
			err := m.plan(ctx)
			return end.plan, err
		})
		refused, end.plan = errors.Join(refused, err), plan
	}
	m.Source, m.Target = m.from.plan, m.to.plan
	return m.from.w.Refused()
}

// BetweenStages refuses to plan a stage while one of its objects is in the state of another stage too, because a move there was
// interrupted. A move that was interrupted before the other stage had the object, or after this one gave it up, needs nothing.
func BetweenStages(ctx context.Context, w *Draft) error {
	refused := &RefusedError{}
	for _, addr := range slices.Sorted(maps.Keys(w.Records)) {
		rec := w.Records[addr]
		other, there, arrives := SplitAbroad(rec.MovingFrom)
		if !arrives {
			var leaves bool
			if other, there, leaves = SplitAbroad(rec.MovingTo); !leaves {
				continue
			}
		}
		snap, err := w.Planner.Store.Load(ctx, other)
		if err != nil {
			return err
		}
		row, known := snap.Rows[there]
		if !known || !state.Shares(w.Snap.Rows[addr], row) {
			w.Records[addr] = rec.Clone()
			w.Records[addr].MovingTo, w.Records[addr].MovingFrom = "", ""
			continue
		}
		source, from, target, to := w.Stage, addr, other, there
		if arrives {
			source, from, target, to = other, there, w.Stage, addr
		}
		refused.Problems = append(refused.Problems, Problem{Address: addr, Err: reconcile.WithHint(
			fmt.Errorf("its move from %s to %s was interrupted: both stages have it", AbroadName(source, from), AbroadName(target, to)),
			"athanor state mv %s %s --stack %s --stage %s finishes it", from, AbroadName(target, to), source.Stack, source.Name)})
	}
	if len(refused.Problems) > 0 {
		return refused
	}
	return nil
}
