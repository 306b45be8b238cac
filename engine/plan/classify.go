package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Classifier decides about declared resources, one after another, each after all its upstreams. It alone says what is
// to be done to one; what comes after it refuses, or adds what else is deleted.
type Classifier struct {
	*Basis
	*Refusals
	Options PlanOptions
	Guards  Guards
	// Lost: the stage was deployed before, and has no entries.
	Lost  bool
	Drift *Drift // is told what is left to the next deploy
	// Abroad are the owners of objects in the other stages of the store, as stage:address, once asksAbroad asked for them;
	// abroadErr says why they cannot be read.
	Abroad    map[state.Object]string
	AbroadErr error
	// Strangers counts what another store of this stage has tagged.
	Strangers int
}

// Begin begins the line of a declared node, and reports whether the node is to be observed.
func (c *Classifier) Begin(n *Node) bool {
	if n.Plan = n.room; n.Plan == nil {
		n.Plan = new(Planned)
	}
	*n.Plan = Planned{
		Address: n.Address, Kind: n.Spec.Type, Needs: n.Needs, Source: n.Decl.Source, Bound: n.Decl.Bound, Place: n.Access.Place, Local: n.Spec.Stands != "",
	}
	if n.From != "" {
		n.Plan.From = n.From
	}
	if n.Plan.InDev = n.Spec.InDev; c.Sleeps(n) {
		c.classifySleeping(n)
		return false
	}
	if up := n.BlockedBy(); up != nil {
		c.BlockBehind(n, up)
		return false
	}
	if n.Err == nil {
		n.Err = c.awake(n)
	}
	return true
}

// BlockBehind says that a node cannot be planned because what it needs cannot.
func (c *Classifier) BlockBehind(n, up *Node) {
	root := cmp.Or(up.Plan.BlockedBy, up.Address)
	c.Block(n, fmt.Errorf("%w: %s cannot be planned", ErrBlocked, root))
	n.Plan.Confined, n.Plan.BlockedBy = up.Plan.Confined, root
}

// Classify decides what is to be done to one declared node that was observed. It reports whether that must be observed again and
// decided anew: the node's own hook runs before it, and may write its files.
func (c *Classifier) Classify(n *Node) (again bool) {
	g := n.Present()
	n.Plan.Identity, n.Plan.Waiting = n.Look().Identity, n.Look().Waiting
	if g != nil {
		n.Plan.Generation = g.Number
	}
	n.Plan.Assets = n.plannedAssets()
	switch {
	case n.Look().Absent && n.Was != nil:
		c.classifyVanished(n)
	case n.Look().NotYet && n.Entry.Live() != nil && n.ReplacedWhole():
		classifyMoved(n, n.Entry.Live())
	case n.Look().Absent && !c.unsure(n):
		c.classifyAbsent(n)
	case n.Entry.Live() == nil:
		c.classifyFound(n)
	default:
		c.classifyLive(n)
	}
	c.request(n)
	c.proven(n)
	if n.BuildsItself() && n.Files == FilesKnown && IsPending(n.Plan) {
		n.Files, n.Assets, n.Current = FilesLater, nil, false
		return true
	}
	if n.Was == nil {
		c.holdBack(n)
	} else {
		if err := c.Guards.refuses(n, n.Look().Holds); err != nil { // what is not repaired changes nothing for those that refer to it
			c.Refuse(n, err)
		}
	}
	return false
}

// BlockedBy returns an upstream that cannot be planned, nil for none.
func (n *Declaration) BlockedBy() *Node {
	if n.Was != nil {
		return nil // it is compared with what it was, whatever became of the others
	}
	for _, up := range n.Ups {
		if up.Plan != nil && up.Plan.Action == Blocked {
			return up
		}
	}
	return nil
}

// notVisible is the note of an object that was written a moment ago and that reading does not show.
const notVisible = "not yet visible"

// classifyAbsent: there is none.
func (c *Classifier) classifyAbsent(n *Node) {
	n.Plan.Action = Create
	switch {
	case n.Present() != nil && n.Look().NotYet:
		n.Plan.Notes = append(n.Plan.Notes, notVisible)
		n.Plan.WaitUntil = n.Look().HiddenUntil
	case n.Entry.Live() != nil:
		n.Plan.Notes = append(n.Plan.Notes, "it was deleted outside athanor: "+n.Entry.Live().Identity)
	case n.Entry == nil && n.Spec.Recorded && c.Lost && n.Spec.Rerun:
		n.Plan.Action = Update
		n.Plan.Notes = append(n.Plan.Notes, "its state entry is lost: it runs again")
	case n.Entry == nil && n.Spec.Recorded && c.Lost:
		n.Plan.Action = Recover
	case n.Job != nil && n.Job.Named && !IsKnown(n.Job.Name):
		n.Plan.Notes = append(n.Plan.Notes, "create or find: its name is known after "+token.Show(n.Job.Name))
	}
	c.showProps(n)
}

// showProps makes the whole declaration the reasons of a creation: a plan of something new shows everything but the unknown
// words.
func (b *Basis) showProps(n *Node) {
	if n.Job == nil {
		return
	}
	Leaves(n.Job.Props, func(p tree.Path, v any) {
		r := Reason{Path: p, Want: v, Source: ByProgram}
		r.Unknown = Within(n.Job.Unknown, p)
		r.Note = n.filesNote(p)
		if Within(n.Job.Secret, p) || slices.ContainsFunc(n.Spec.SecretProps, func(s tree.Path) bool { return p.Within(s) }) {
			r.Secret, r.Want = true, reconcile.Mask
		}
		if !r.Unknown && !r.Secret {
			r.Ref = n.reference(p)
		}
		n.Plan.Reasons = append(n.Plan.Reasons, r)
	})
}

// reference returns the reference that the program has at a path, as people write it, "" where it has text, or more than that one.
func (n *Node) reference(at tree.Path) string {
	uses := n.Uses()
	i := slices.IndexFunc(uses, func(u token.Use) bool { return u.At == at })
	if i < 0 || i+1 < len(uses) && uses[i+1].At == at {
		return ""
	}
	written, _ := tree.Get(n.Decl.Props, at)
	text, _ := written.(string)
	if shown := token.Show(text); shown == "${"+uses[i].Ref.String()+"}" {
		return shown
	}
	return ""
}

// Leaves walks to the values that are shown on a line of their own.
func Leaves(v any, f func(tree.Path, any)) {
	tree.Walk(v, func(p tree.Path, x any) bool {
		if m, ok := x.(map[string]any); ok && (len(m) > 0 || p == "") {
			return true
		}
		f(p, x)
		return false
	})
}

// Within reports that a path lies in one of a set, or has one of them in it.
func Within(paths map[tree.Path]bool, p tree.Path) bool {
	for q := range paths {
		if p.Overlaps(q) {
			return true
		}
	}
	return false
}

// classifyLive: there is the one in state.
func (c *Classifier) classifyLive(n *Node) {
	g := n.Entry.Live()
	if n.ReplacedWhole() {
		classifyMoved(n, g)
		return
	}
	answer := adopt.Judge(c.Evidence(n, n.Job, *n.Look(), g))
	if answer.Verdict == adopt.Foreign && !answer.Owner.IsZero() {
		c.Refuse(n, reconcile.WithHint(OwnerError(n.Spec.Type, *n.Look(), answer),
			"another owner took it over; `athanor state rm %s` removes it from this state", n.Address))
		return
	}
	c.noteStore(n, answer)
	if c.Options.NoObserve {
		c.compareRecord(n)
		return
	}
	if err := c.yield(n); err != nil {
		c.Block(n, err)
		return
	}
	n.Plan.Reasons = c.reasons(n)
	switch {
	case len(n.Look().Steps) > 0 && n.From != "" && !slices.ContainsFunc(n.Look().Steps, func(s reconcile.Step) bool { return !IsMarkStep(s) }):
		n.Plan.Action, n.Plan.Reasons = Move, nil
	case len(n.Look().Steps) > 0:
		n.Plan.Action = Update
		n.Plan.May = !slices.ContainsFunc(n.Look().Steps, func(s reconcile.Step) bool { return !s.Unknown })
		escalate(n)
	case n.From != "":
		n.Plan.Action = Move
	case n.Look().Waiting != "":
		n.Plan.Action = Wait
	default:
		n.Plan.Action = Unchanged
	}
	if n.Retyped != "" {
		n.Plan.Reasons = slices.Insert(n.Plan.Reasons, 0, Reason{Path: "kind", Have: n.Retyped, Want: n.Spec.Type, Source: ByProgram})
		if n.Plan.Action == Unchanged {
			n.Plan.Action = Move
		}
	}
	if note := n.renameNote(); note != "" && n.Was == nil {
		n.Plan.Notes = append(n.Plan.Notes, note)
	}
}

// classifyMoved: what is there is of another kind or in another place than declared.
func classifyMoved(n *Node, g *state.Generation) {
	n.Plan.Action = Replace
	if n.Movable {
		n.Plan.Notes = append(n.Plan.Notes, "with `options: {adopt: "+movedKind+g.Kind+"}` it would be moved and kept, if its provider can")
	}
	if g.Kind != n.Spec.Type {
		n.Plan.Reasons = append(n.Plan.Reasons, Reason{Path: "kind", Have: g.Kind, Want: n.Spec.Type, Source: ByProgram, Replaces: true})
	}
	if g.Location != n.Access.Place {
		n.Plan.Reasons = append(n.Plan.Reasons, Reason{Path: "provider", Have: g.Location.String(), Want: n.Access.Place.String(), Source: ByProgram, Replaces: true})
	}
}

// escalate turns a difference that nothing can change in place into a replacement, certain or possible.
func escalate(n *Node) {
	fixed := n.Look().Replaces()
	if len(fixed) == 0 {
		return
	}
	n.Plan.Action = Replace
	n.Plan.May = len(CertainSteps(fixed)) == 0
}

// CertainSteps are the differences that do not hang on values which are known later.
func CertainSteps(steps []reconcile.Step) []reconcile.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s reconcile.Step) bool { return s.Unknown })
}

// compareRecord compares the declaration with state alone: nothing was observed.
func (b *Basis) compareRecord(n *Node) {
	n.Plan.Action = Unchanged
	if n.From != "" {
		n.Plan.Action = Move
	}
	Differences(n.Entry.Props, n.Job.Props, func(p tree.Path, had, v any) {
		if !Within(n.Job.Unknown, p) {
			n.Plan.Reasons = append(n.Plan.Reasons, b.Reason(n, n.Job, reconcile.Step{Path: p, Have: had, Want: v}))
		}
	})
	if len(n.Plan.Reasons) > 0 || len(n.Job.Unknown) > 0 {
		n.Plan.Action, n.Plan.May = Update, len(n.Plan.Reasons) == 0
	}
}

// reasons turns the differences of a node into reasons, each with who made the difference. A difference that the node has only because it
// is forced is by request. Any other is shown as it is without force.
func (b *Basis) reasons(n *Node) []Reason {
	steps := n.Look().Steps
	reasons := make([]Reason, 0, len(steps))
	unforced := steps
	if n.Job.Force {
		job := *n.Job
		job.Force = false
		if look, err := n.Kind.Compare(&job, *n.Look()); err == nil {
			unforced = look.Steps
		}
	}
	for _, s := range steps {
		at := slices.IndexFunc(unforced, func(u reconcile.Step) bool { return u.Path == s.Path })
		if at >= 0 {
			reasons = append(reasons, b.Reason(n, n.Job, unforced[at]))
			continue
		}
		forced := b.Reason(n, n.Job, s)
		forced.Source = ByRequest
		reasons = append(reasons, forced)
	}
	return reasons
}

// Reason shows a difference of an object from a job to people, with secrets masked.
func (b *Basis) Reason(n *Node, job *reconcile.Job, s reconcile.Step) Reason {
	r := Reason{
		Path: s.Path, Have: s.Have, Want: s.Want, Replaces: s.Replaces, Unknown: s.Unknown, Secret: s.Secret, Call: s.Call,
		Note: s.Note, Source: ByProgram, Files: s.Files,
	}
	if s.Unknown && s.Note == "" {
		r.Note = n.filesNote(s.Path)
	}
	if (b.EverSecret(n, s.Path) || Within(job.Secret, s.Path)) && !s.Secret {
		r.Secret, r.Have, r.Want, r.Files = true, MaskOf(r.Have), MaskOf(r.Want), nil
	}
	switch {
	case n.Was != nil:
		r.Source = ByWorld
	case n.remade[s.Path]:
	case n.Entry != nil && n.Entry.Props != nil && !s.Unknown:
		_, had := tree.Get(n.Entry.Props, s.Path)
		_, wants := tree.Get(job.Props, s.Path)
		same := sameAt(n.Entry.Props, job.Props, s.Path)
		// A path that no prop spells is derived from all of them, and from the address.
		if !had && !wants {
			same = n.From == "" && tree.Equal(AnyMap(n.Entry.Props), AnyMap(job.Props))
		}
		if same {
			r.Source = ByWorld
		}
	}
	return r
}

// request applies what the command line asks for.
func (c *Classifier) request(n *Node) {
	if !Matches(c.Options.Replace, n.Address) || n.Plan.Action == Create || n.Plan.Action == Blocked {
		return
	}
	if _, versioned := props.Dump(n.Spec.NewProps())["version"]; versioned && n.Spec.Recorded {
		c.Refuse(n, reconcile.WithHint(errors.New("a recomputable value cannot be replaced by request"), "raise its prop `version`"))
		return
	}
	n.Plan.Action, n.Plan.May = Replace, false
	n.Plan.Reasons = append(n.Plan.Reasons, Reason{Path: "", Source: ByRequest, Replaces: true})
}

// holdBack keeps a node from what it would do as long as somebody else must act first on what it needs: the next deploys
// have nothing to do about it either.
func (c *Classifier) holdBack(n *Node) {
	if !IsPending(n.Plan) {
		return
	}
	for _, up := range n.Ups {
		if up.Plan == nil || up.Plan.Action != Wait || n.AtBirth(up) {
			continue
		}
		n.Held = true
		n.Plan.Notes = append(n.Plan.Notes, string(n.Plan.Action)+" when "+up.Address+" is ready")
		n.Plan.Action, n.Plan.May = Wait, false
		return
	}
}

// Foresee says what others can count on of this node's attributes.
func Foresee(n *Node) {
	n.Attrs, n.Unknown, n.Moving = n.Look().Attrs, false, nil
	switch n.Plan.Action {
	case Create, Replace, Blocked:
		n.Unknown = true
	case Wait:
		n.Unknown = n.Look().Absent
	case Recover, Move:
		n.Unknown = n.Look().Absent
		if len(n.Look().Steps) > 0 { // owner tags that are rewritten are a change as well
			var own []tree.Path
			for _, s := range n.Look().Steps {
				own = append(own, s.Path)
			}
			n.movesAll(own)
		}
	case Update, Adopt:
		n.Unknown = n.Look().Absent
		var own []tree.Path
		for _, r := range n.Plan.Reasons {
			own = append(own, r.Path)
		}
		n.movesAll(own)
	default:
	}
	n.asRecorded()
}

// mayMove reports whether a change of these paths may move an attribute: not where the kind says by which props, and none of
// them is among the paths.
func mayMove(spec *reconcile.Spec, attribute string, changed []tree.Path) bool {
	by, named := spec.MovedBy[attribute]
	return !named || slices.ContainsFunc(changed, func(c tree.Path) bool {
		return slices.ContainsFunc(by, c.Overlaps)
	})
}

// movesAll notes which attributes a change of these paths may move, with what else the calls for it change.
func (n *Node) movesAll(changed []tree.Path) {
	for _, s := range n.Look().Steps {
		changed = append(changed, s.Affects...)
	}
	stays := func(name string) bool { return !mayMove(n.Spec, name, changed) }
	if n.Moving = n.Spec.Moves; slices.ContainsFunc(n.Moving, stays) {
		n.Moving = slices.DeleteFunc(slices.Clone(n.Moving), stays)
	}
}

// Matches reports whether an address is named by one of several globs.
func Matches(globs []string, addr string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return graph.Match(g, addr) })
}

// Differences walks to the values that two trees of props hold differently.
func Differences(have, want map[string]any, differs func(p tree.Path, have, want any)) {
	Leaves(want, func(p tree.Path, v any) {
		if had, _ := tree.Get(have, p); !tree.Equal(had, v) {
			differs(p, had, v)
		}
	})
	Leaves(have, func(p tree.Path, had any) {
		if _, declared := tree.Get(want, p); !declared && had != nil {
			differs(p, had, nil)
		}
	})
}
