package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// classifier decides about declared resources, one after another, each after all its upstreams. It alone says what is
// to be done to one; what comes after it refuses, or adds what else is deleted.
type classifier struct {
	*observer
	*refusals
	o      policy
	guards guards
	// lost: the stage was deployed before, and has no entries.
	lost   bool
	abroad *otherStages
	drift  *drift // is told what is left to the next deploy
	// lastRun is when the last run ended, zero when that is not known. tell is told what is waited for.
	lastRun time.Time
	tell    func(Event)
	// strangers counts what another store of this stage has tagged.
	strangers int
}

// classify decides what is to be done to one declared node.
func (c *classifier) classify(ctx context.Context, n *node) {
	n.plan = &Planned{Address: n.addr, Kind: n.spec.Type, Needs: n.needs, Source: n.decl.Source, Place: n.access.Place, Local: n.spec.Stands != ""}
	if n.from != "" {
		n.plan.From = n.from
	}
	if n.plan.InDev = n.spec.InDev; c.sleeps(n) {
		c.classifySleeping(n)
		return
	}
	if up := n.blockedBy(); up != nil {
		root := cmp.Or(up.plan.BlockedBy, up.addr)
		c.block(n, fmt.Errorf("%w: %s cannot be planned", ErrBlocked, root))
		n.plan.Confined, n.plan.BlockedBy = up.plan.Confined, root
		return
	}
	if n.err == nil {
		n.err = c.awake(n)
	}
	if n.err == nil {
		n.err = c.compare(ctx, n)
	}
	if n.err == nil {
		n.err = c.certain(ctx, n)
	}
	if n.err == nil {
		n.err = c.findReplaced(ctx, n)
	}
	if n.err == nil {
		n.err = c.takes(n)
	}
	if n.err != nil {
		c.block(n, n.err)
		return
	}
	g := n.present()
	n.plan.Identity, n.plan.Waiting = n.look.Identity, n.look.Waiting
	if g != nil {
		n.plan.Generation = g.Number
	}
	n.plan.Assets = n.plannedAssets()
	switch {
	case n.look.Absent && n.was != nil:
		c.classifyVanished(n)
	case n.look.NotYet && n.rec.Live() != nil && n.replacedWhole():
		classifyMoved(n, n.rec.Live())
	case n.look.Absent && !c.unsure(n):
		c.classifyAbsent(n)
	case n.rec.Live() == nil:
		c.classifyFound(ctx, n)
	default:
		c.classifyLive(n)
	}
	c.request(n)
	c.proven(n)
	if n.buildsItself() && n.files == filesKnown && isPending(n.plan) {
		n.files, n.assets, n.current = filesLater, nil, false // its own hook runs before it, and may write them anew
		c.classify(ctx, n)
		return
	}
	if n.was == nil {
		c.holdBack(n)
	} else {
		if err := c.guards.refuses(n, n.look.Holds); err != nil { // what is not repaired changes nothing for those that refer to it
			c.refuse(n, err)
		}
	}
	if err := c.dropUnfit(ctx, n); err != nil {
		c.block(n, err)
		return
	}
	foresee(n)
	compute(ctx, n)
}

func (n *declaration) blockedBy() *node {
	if n.was != nil {
		return nil // it is compared with what it was, whatever became of the others
	}
	for _, up := range n.ups {
		if up.plan != nil && up.plan.Action == Blocked {
			return up
		}
	}
	return nil
}

// compare brings the look up to date with the upstreams that are known now, and looks where that had to wait.
func (c *classifier) compare(ctx context.Context, n *node) error {
	if !n.looked {
		c.lookAt(ctx, n)
		return n.err
	}
	if n.current || len(n.uses) == 0 && n.files == filesKnown || n.replacedWhole() {
		n.current = false
		return nil
	}
	g := n.present()
	t := target{number: 1}
	if g != nil {
		t = target{gen: g, number: g.Number, slot: g.Slot}
	}
	job, err := c.declaredJob(ctx, n, t)
	if err != nil {
		return err
	}
	if g == nil {
		job.ID, job.Name, job.Named = n.job.ID, n.job.Name, n.job.Named
	}
	n.job = job
	if n.look.Absent {
		return nil
	}
	n.look, err = n.kind.Compare(job, n.look)
	return err
}

// notVisible is the note of an object that was written a moment ago and that reading does not show.
const notVisible = "not yet visible"

// classifyAbsent: there is none.
func (c *classifier) classifyAbsent(n *node) {
	n.plan.Action = Create
	switch {
	case n.present() != nil && n.look.NotYet:
		n.plan.Notes = append(n.plan.Notes, notVisible)
		n.plan.WaitUntil = n.look.HiddenUntil
	case n.rec.Live() != nil:
		n.plan.Notes = append(n.plan.Notes, "it was deleted outside athanor: "+n.rec.Live().Identity)
	case n.rec == nil && n.spec.Recorded && c.lost && n.spec.Rerun:
		n.plan.Action = Update
		n.plan.Notes = append(n.plan.Notes, "its state entry is lost: it runs again")
	case n.rec == nil && n.spec.Recorded && c.lost:
		n.plan.Action = Recover
	case n.job != nil && n.job.Named && !known(n.job.Name):
		n.plan.Notes = append(n.plan.Notes, "create or find: its name is known after "+token.Show(n.job.Name))
	}
	c.jobs.showProps(n)
}

// compute finds out what a thing that is kept in the record alone will be, as far as that needs no call: a random
// value is known before it is recorded, and so is what is made of it. What nobody refers to is not computed.
func compute(ctx context.Context, n *node) {
	if !n.spec.Recorded || n.spec.Rerun || n.rec != nil || !n.look.Absent || n.job == nil || len(n.job.Unknown) > 0 {
		return
	}
	if !n.referred {
		n.unknown = false
		return
	}
	job := *n.job
	if out, err := n.kind.Settle(reconcile.ReadOnly(ctx), &job, reconcile.Hooks{}); err == nil {
		n.attrs, n.unknown = out.Attrs, false
	}
}

// showProps makes the whole declaration the reasons of a creation: a plan of something new shows everything but the unknown
// words.
func (j *jobs) showProps(n *node) {
	if n.job == nil {
		return
	}
	leaves(n.job.Props, func(p tree.Path, v any) {
		r := Reason{Path: p, Want: v, Source: ByProgram}
		r.Unknown = within(n.job.Unknown, p)
		r.Note = n.filesNote(p)
		if within(n.job.Secret, p) || slices.ContainsFunc(n.spec.SecretProps, func(s tree.Path) bool { return p.Within(s) }) {
			r.Secret, r.Want = true, reconcile.Mask
		}
		n.plan.Reasons = append(n.plan.Reasons, r)
	})
}

// leaves walks to the values that are shown on a line of their own.
func leaves(v any, f func(tree.Path, any)) {
	tree.Walk(v, func(p tree.Path, x any) bool {
		if m, ok := x.(map[string]any); ok && (len(m) > 0 || p == "") {
			return true
		}
		f(p, x)
		return false
	})
}

func within(paths map[tree.Path]bool, p tree.Path) bool {
	for q := range paths {
		if p.Overlaps(q) {
			return true
		}
	}
	return false
}

// classifyLive: there is the one on record.
func (c *classifier) classifyLive(n *node) {
	g := n.rec.Live()
	if n.replacedWhole() {
		classifyMoved(n, g)
		return
	}
	answer := adopt.Judge(c.evidence(n, n.job, n.look, g))
	if answer.Verdict == adopt.Foreign && !answer.Owner.IsZero() {
		c.refuse(n, reconcile.WithHint(ownerError(n.spec.Type, n.look, answer),
			"another owner took it over; `athanor state rm %s` removes it from this state", n.addr))
		return
	}
	c.noteStore(n, answer)
	if c.o.NoObserve {
		c.jobs.compareRecord(n)
		return
	}
	if err := c.yield(n); err != nil {
		c.block(n, err)
		return
	}
	n.plan.Reasons = c.jobs.reasons(n, n.look.Steps)
	switch {
	case len(n.look.Steps) > 0 && n.from != "" && !slices.ContainsFunc(n.look.Steps, func(s reconcile.Step) bool { return !isMarkStep(s) }):
		n.plan.Action, n.plan.Reasons = Move, nil
	case len(n.look.Steps) > 0:
		n.plan.Action = Update
		n.plan.May = !slices.ContainsFunc(n.look.Steps, func(s reconcile.Step) bool { return !s.Unknown })
		escalate(n)
	case n.from != "":
		n.plan.Action = Move
	case n.look.Waiting != "":
		n.plan.Action = Wait
	default:
		n.plan.Action = Unchanged
	}
	if note := n.renameNote(); note != "" && n.was == nil {
		n.plan.Notes = append(n.plan.Notes, note)
	}
}

// classifyMoved: what is there is of another kind or in another place than declared.
func classifyMoved(n *node, g *state.Generation) {
	n.plan.Action = Replace
	if g.Kind != n.spec.Type {
		n.plan.Reasons = append(n.plan.Reasons, Reason{Path: "kind", Have: g.Kind, Want: n.spec.Type, Source: ByProgram, Replaces: true})
	}
	if g.Location != n.access.Place {
		n.plan.Reasons = append(n.plan.Reasons, Reason{Path: "provider", Have: g.Location.String(), Want: n.access.Place.String(), Source: ByProgram, Replaces: true})
	}
}

// escalate turns a difference that nothing can change in place into a replacement, certain or possible.
func escalate(n *node) {
	fixed := n.look.Replaces()
	if len(fixed) == 0 {
		return
	}
	n.plan.Action = Replace
	n.plan.May = len(certain(fixed)) == 0
}

func certain(steps []reconcile.Step) []reconcile.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s reconcile.Step) bool { return s.Unknown })
}

// compareRecord compares the declaration with the record alone.
func (j *jobs) compareRecord(n *node) {
	n.plan.Action = Unchanged
	if n.from != "" {
		n.plan.Action = Move
	}
	differences(n.rec.Props, n.job.Props, func(p tree.Path, had, v any) {
		if !within(n.job.Unknown, p) {
			n.plan.Reasons = append(n.plan.Reasons, j.reason(n, reconcile.Step{Path: p, Have: had, Want: v}))
		}
	})
	if len(n.plan.Reasons) > 0 || len(n.job.Unknown) > 0 {
		n.plan.Action, n.plan.May = Update, len(n.plan.Reasons) == 0
	}
}

// reasons turns steps into reasons, each with who made the difference.
func (j *jobs) reasons(n *node, steps []reconcile.Step) []Reason {
	reasons := make([]Reason, 0, len(steps))
	for _, s := range steps {
		reasons = append(reasons, j.reason(n, s))
	}
	return reasons
}

func (j *jobs) reason(n *node, s reconcile.Step) Reason {
	r := Reason{
		Path: s.Path, Have: s.Have, Want: s.Want, Replaces: s.Replaces, Unknown: s.Unknown, Secret: s.Secret, Call: s.Call,
		Note: s.Note, Source: ByProgram,
	}
	if s.Unknown && s.Note == "" {
		r.Note = n.filesNote(s.Path)
	}
	if (j.everSecret(n, s.Path) || within(n.job.Secret, s.Path)) && !s.Secret {
		r.Secret, r.Have, r.Want = true, maskOf(r.Have), maskOf(r.Want)
	}
	switch {
	case n.was != nil:
		r.Source = ByWorld
	case n.remade[s.Path]:
	case n.rec != nil && n.rec.Props != nil && !s.Unknown:
		_, had := tree.Get(n.rec.Props, s.Path)
		_, wants := tree.Get(n.job.Props, s.Path)
		same := sameAt(n.rec.Props, n.job.Props, s.Path)
		// A path that no prop spells is derived from all of them.
		if !had && !wants {
			same = tree.Equal(anyMap(n.rec.Props), anyMap(n.job.Props))
		}
		if same {
			r.Source = ByWorld
		}
	}
	return r
}

// request applies what the command line asks for.
func (c *classifier) request(n *node) {
	if !matches(c.o.Replace, n.addr) || n.plan.Action == Create || n.plan.Action == Blocked {
		return
	}
	if _, versioned := props.Dump(n.spec.NewProps())["version"]; versioned && n.spec.Recorded {
		c.refuse(n, reconcile.WithHint(errors.New("a recomputable value cannot be replaced by request"), "raise its prop `version`"))
		return
	}
	n.plan.Action, n.plan.May = Replace, false
	n.plan.Reasons = append(n.plan.Reasons, Reason{Path: "", Source: ByRequest, Replaces: true})
}

// holdBack keeps a node from what it would do as long as somebody else must act first on what it needs: the next deploys
// have nothing to do about it either.
func (c *classifier) holdBack(n *node) {
	switch n.plan.Action {
	case Unchanged, Wait, Blocked:
		return
	default:
	}
	for _, up := range n.ups {
		if up.plan == nil || up.plan.Action != Wait || n.atBirth(up) {
			continue
		}
		n.held = true
		n.plan.Notes = append(n.plan.Notes, string(n.plan.Action)+" when "+up.addr+" is ready")
		n.plan.Action, n.plan.May = Wait, false
		return
	}
}

// foresee says what others can count on of this node's attributes.
func foresee(n *node) {
	n.attrs, n.unknown, n.moving = n.look.Attrs, false, nil
	switch n.plan.Action {
	case Create, Replace, Blocked:
		n.unknown = true
	case Wait:
		n.unknown = n.look.Absent
	case Recover, Move:
		n.unknown = n.look.Absent
		if len(n.look.Steps) > 0 { // owner tags that are rewritten are a change as well
			n.movesAll(slices.Concat(stepPaths(n.look.Steps), affectedPaths(n.look.Steps)))
		}
	case Update, Adopt:
		n.unknown = n.look.Absent
		n.movesAll(slices.Concat(reasonPaths(n.plan.Reasons), affectedPaths(n.look.Steps)))
	default:
	}
	n.asRecorded()
}

func stepPaths(steps []reconcile.Step) []tree.Path {
	paths := make([]tree.Path, 0, len(steps))
	for _, s := range steps {
		paths = append(paths, s.Path)
	}
	return paths
}

// affectedPaths are what the calls of steps may change beside their own paths.
func affectedPaths(steps []reconcile.Step) []tree.Path {
	var paths []tree.Path
	for _, s := range steps {
		paths = append(paths, s.Affects...)
	}
	return paths
}

func reasonPaths(reasons []Reason) []tree.Path {
	paths := make([]tree.Path, 0, len(reasons))
	for _, r := range reasons {
		paths = append(paths, r.Path)
	}
	return paths
}

// mayMove reports whether a change of these paths may move an attribute: not where the kind says by which props, and none of
// them is among the paths.
func mayMove(spec *reconcile.Spec, attribute string, changed []tree.Path) bool {
	by, named := spec.MovedBy[attribute]
	return !named || slices.ContainsFunc(changed, func(c tree.Path) bool {
		return slices.ContainsFunc(by, c.Overlaps)
	})
}

// movesAll notes which attributes a change of these paths may move.
func (n *node) movesAll(changed []tree.Path) {
	n.moving = map[string]bool{}
	for _, name := range n.spec.Moves {
		n.moving[name] = mayMove(n.spec, name, changed)
	}
}

// matches reports whether an address is named by one of several globs.
func matches(globs []string, addr string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return graph.Match(g, addr) })
}
