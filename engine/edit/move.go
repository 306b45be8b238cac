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

// Rename gives the record of one address to another. Where both end in "/" it means a whole scope; "/" alone is the
// scope of everything.
type Rename struct{ From, To string }

// Move makes the plan of moving entries to other addresses, as PlanMove of the engine says.
func Move(ctx context.Context, e *planner.Planner, stage statestore.Stage, dir string, renames []Rename) (*plan.Plan, error) {
	w, err := e.NewEdit(ctx, stage, dir)
	if err != nil {
		return nil, err
	}
	if err := planner.BetweenStages(ctx, w); err != nil {
		return nil, err
	}
	m := &moving{w: w, was: maps.Clone(w.Records)}
	moves := m.expand(renames)
	if w.Refused() == nil {
		w.Relocate(moves, w.Planner.Key)
		m.prepare(reconcile.ReadOnly(reconcile.WithGate(ctx, w.Gate)), moves)
	}
	actions := make([]plan.Planned, 0, len(m.nodes))
	for _, n := range m.nodes {
		actions = append(actions, *n.Plan)
	}
	again := func(ctx context.Context) (*plan.Plan, error) { return Move(ctx, e, stage, dir, renames) }
	return w.EditPlan(actions, &execute.StateEdit{Apply: m.apply}, again)
}

// moving is one move of records.
type moving struct {
	w *planner.Draft
	// was are the records as they were, by their old addresses.
	was map[string]*state.Entry
	// begun are the moves that an interrupted run has written to state, from old to new addresses.
	begun map[string]string
	nodes []*plan.Node
	// others are the records that name a moved address and do not move.
	others []*state.Entry
}

// expand makes single moves of scopes, and refuses those that cannot be.
func (m *moving) expand(renames []Rename) map[string]string {
	moves := map[string]string{}
	add := func(from, to string) {
		other, twice := moves[from]
		switch {
		case twice && other != to:
			m.w.Wrong(from, fmt.Errorf("it cannot move to %s and to %s", other, to))
		case from == to:
			m.w.Wrong(from, errors.New("it is there already"))
		default:
			moves[from] = to
		}
	}
	for _, r := range renames {
		from, isScope := strings.CutSuffix(r.From, "/")
		to, intoScope := strings.CutSuffix(r.To, "/")
		switch {
		case isScope != intoScope:
			m.w.Wrong(r.From, reconcile.WithHint(fmt.Errorf("a scope and a single address: %s, %s", r.From, r.To), "both end in /, or neither does"))
		case isScope:
			m.expandScope(from, to, add)
		default:
			add(r.From, r.To)
		}
	}
	if m.wasBegun(moves) {
		m.begun = moves
		return nil
	}
	for _, from := range slices.Sorted(maps.Keys(moves)) {
		m.check(from, moves)
	}
	return moves
}

// wasBegun reports that an interrupted run has moved all these rows. Where a row comes from says so, and not that there is none
// at the old address: in a chain or a swap another one came there.
func (m *moving) wasBegun(moves map[string]string) bool {
	for from, to := range moves {
		if rec := m.w.Records[to]; rec == nil || rec.MovingFrom != from {
			return false
		}
	}
	return len(moves) > 0
}

// expandScope adds what an interrupted run has moved out of a scope, else what lies in it.
func (m *moving) expandScope(from, to string, add func(from, to string)) {
	found := false
	for addr, rec := range m.w.Records {
		if rest, inside := inScope(to, addr); inside && rec.MovingFrom != "" && rec.MovingFrom == scoped(from, rest) {
			found = true
			add(rec.MovingFrom, addr)
		}
	}
	if found {
		return
	}
	for addr := range m.w.Known() {
		if rest, inside := inScope(from, addr); inside {
			found = true
			add(addr, scoped(to, rest))
		}
	}
	if !found {
		m.w.Wrong(from+"/", reconcile.WithHint(errors.New("state has nothing in this scope"), "`athanor state list` lists what is"))
	}
}

// inScope reports whether an address lies in a scope, and where; everything lies in the scope "".
func inScope(scope, addr string) (rest string, inside bool) {
	if scope == "" {
		return addr, true
	}
	return strings.CutPrefix(addr, scope+"/")
}

func scoped(scope, rest string) string {
	if scope == "" {
		return rest
	}
	return scope + "/" + rest
}

// check refuses one move that cannot be.
func (m *moving) check(from string, moves map[string]string) {
	w, to := m.w, moves[from]
	if err := graph.CheckAddress(to); err != nil {
		w.Wrong(from, err)
		return
	}
	for other, same := range moves {
		if same == to && other < from {
			w.Wrong(from, fmt.Errorf("%s moves to %s too", other, to))
			return
		}
	}
	_, leaves := moves[to]
	switch {
	case w.Damaged[from] != nil:
		w.Wrong(from, plan.Unreadable(from, w.Damaged[from]))
	case w.Records[from] == nil:
		w.Wrong(from, planner.NothingAs(from, slices.Collect(maps.Keys(w.Records))))
	case w.Damaged[to] != nil, w.Records[to] != nil && !leaves:
		w.Wrong(from, reconcile.WithHint(fmt.Errorf("%s is already in state", to), "move that one elsewhere in the same command, or forget it: athanor state rm %s", to))
	}
}

// prepare looks at all that moves, and at what names it.
func (m *moving) prepare(ctx context.Context, moves map[string]string) {
	for from, to := range moves {
		m.add(from, to)
	}
	for from, to := range m.begun {
		m.add(from, to)
	}
	slices.SortFunc(m.nodes, func(a, b *plan.Node) int { return strings.Compare(a.Address, b.Address) })
	for addr, rec := range m.w.Records {
		changed, differs := rec.Readdressed(moves)
		if !differs {
			continue
		}
		m.w.Records[addr] = changed
		if n := m.w.Nodes[addr]; n != nil {
			n.Entry = changed
		} else {
			m.others = append(m.others, changed)
		}
	}
	errs := make([]error, len(m.nodes))
	planner.Parallel(len(m.nodes), planner.Lookers, func(i int) { errs[i] = markable(ctx, m.w.Jobs, m.nodes[i]) })
	for i, n := range m.nodes {
		if errs[i] != nil {
			m.w.Refuse(n, errs[i])
		}
	}
}

func (m *moving) add(from, to string) {
	n := m.w.LeftNode(to, m.w.Records[to])
	n.From, n.Entry.MovingFrom = from, from
	n.Plan = &plan.Planned{Address: to, Action: plan.Move, From: from, Needs: n.Entry.Needs}
	if g := n.Present(); g != nil {
		plan.NameObject(n.Plan, g)
	}
	m.nodes = append(m.nodes, n)
}

// markable finds out whether all objects of a node can get an owner tag with its new address.
func markable(ctx context.Context, j *planner.Jobs, n *plan.Node) error {
	for _, g := range n.Entry.Generations {
		job, look, err := j.MarkJob(ctx, n, g, j.Mark(n.Address, g.Number))
		switch {
		case err != nil:
			return err
		case job == nil:
			err = unmarked(n, g)
		case look.Absent && g.State == statestore.Condemned:
		case look.Absent:
			err = reconcile.WithHint(fmt.Errorf("%s %s is missing", g.Kind, g.Identity), "deploy makes it again under its old address, or `athanor state rm %s` forgets it", n.From)
		default:
			err = remarkable(j, n, g, job, look)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unmarked says whether an object without an owner tag may move: what is ours by its content or its parent, or is
// kept in state alone, is so under any address.
func unmarked(n *plan.Node, g *state.Generation) error {
	switch {
	case g.StateOnly:
		if from := n.Entry.Birth; from != n.Address {
			n.Plan.Notes = append(n.Plan.Notes, "kept in state alone, and there it stays what was created as "+from)
		}
		return nil
	case g.Identity == "":
		return reconcile.WithHint(errors.New("its creation began and state does not say how it ended"), "`athanor deploy` finishes it")
	}
	return tagless(n, g, func() error {
		return reconcile.WithHint(fmt.Errorf("a %s has no owner tag: only its name shows that it is ours, and its name stays that of %s", g.Kind, n.Entry.Birth),
			"declare it under the new address with renamedFrom: [%s] and deploy", n.From)
	})
}

// tagless says why an object that has no owner tag to write cannot move. Of one that only its name shows to be ours named says so.
func tagless(n *plan.Node, g *state.Generation, named func() error) error {
	switch {
	case n.Spec == nil:
		return fmt.Errorf("no kind of this name is linked in: %s", g.Kind)
	case n.Spec.Marked:
		return reconcile.WithHint(errors.New("state does not say what it was created from, and its owner tag cannot be compared"), "`athanor deploy` writes it to state")
	case n.Spec.Named && !n.Spec.Same && !n.Spec.ByParent && !g.NameGiven:
		return named()
	}
	return nil
}

// remarkable says whether the owner tag of an object can be rewritten.
func remarkable(j *planner.Jobs, n *plan.Node, g *state.Generation, job *reconcile.Job, look reconcile.Look) error {
	kind, _ := j.Catalog.Kind(g.Kind)
	if answer := adopt.Judge(j.EvidenceOf(n, kind.Spec(), job, look, g)); answer.Verdict != adopt.Ours {
		return reconcile.WithHint(&adopt.OwnerError{Kind: g.Kind, Identity: look.Identity, Verdict: answer.Verdict, Owner: answer.Owner},
			"`athanor state rm %s` forgets it here", n.From)
	}
	steps := slices.DeleteFunc(slices.Clone(look.Steps), func(s reconcile.Step) bool { return !plan.IsMarkStep(s) })
	rewritable := !slices.ContainsFunc(steps, func(s reconcile.Step) bool { return s.Replaces })
	if look.Owner.Address == n.Address || len(steps) > 0 && rewritable {
		return nil
	}
	return reconcile.WithHint(fmt.Errorf("the owner tag of %s %s cannot be rewritten", g.Kind, g.Identity), "declare it under the new address with renamedFrom: [%s] and deploy", n.From)
}
