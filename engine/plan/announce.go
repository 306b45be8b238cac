package plan

import (
	"cmp"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Acts reports a kind that acts on the outside when it is created, although nothing but its state is kept.
func Acts(spec *reconcile.Spec) bool { return spec.Rerun || spec.InDev }

// Undoes reports a kind that acts on the outside and whose deletion undoes that. Nothing shows how far a run or an undo came.
func Undoes(spec *reconcile.Spec) bool { return spec.Rerun && !spec.InDev && spec.Tidies }

// Announcer lists what decisions lead to.
type Announcer struct {
	Catalog *reconcile.Catalog
	// Unobserved: what is there was not read.
	Unobserved bool
	// MayDelete reports whether users' data may go with the object of a node, deletedWith returns the resource whose deletion
	// takes a generation along.
	MayDelete   func(*Node) bool
	DeletedWith func(*Node, uint64) *Node
}

// announce lists the operations that a decision leads to: what is not listed here is not done.
func (a Announcer) announce(n *Node) []operation.Step {
	var operations []operation.Operation
	switch n.Plan.Action {
	case Unchanged, Wait, Blocked:
		return nil
	case Delete:
		own := slices.DeleteFunc(slices.Clone(n.Entry.Generations), func(g *state.Generation) bool { return a.DeletedWith(n, g.Number) != nil })
		operations = a.removals(n, own)
		if len(own) > 0 {
			operations = append(operations, hookOperations(n)...)
		}
	case Forget:
		operations = a.releases(n)
	default:
		operations = append(a.making(n), hookOperations(n)...)
	}
	return []operation.Step{{ID: n.Address, Operations: operations}}
}

// making lists the operations of a declared resource.
func (a Announcer) making(n *Node) []operation.Operation {
	if n.Spec.Recorded {
		return a.stateOnly(n)
	}
	object := SeenObject(n)
	switch n.Plan.Action {
	case Create:
		return a.creating(n, object)
	case Replace:
		operations := slices.Concat(a.taking(n, object), a.creating(n, object), a.replacing(n))
		if n.Plan.May {
			operations = append(operations, a.settings(n, object)...) // it may turn out to need no new object
		}
		return operations
	case Move:
		return []operation.Operation{{Verb: operation.Retag, Object: object}}
	case Recover, Adopt:
		return slices.Concat(a.taking(n, object), a.resuming(n, object), a.settings(n, object))
	default:
		return a.settings(n, object)
	}
}

// onlyWritten are the operations of every resource that is kept in state alone and does not act.
var onlyWritten = []operation.Operation{{Verb: operation.Write}}

// stateOnly lists the operations of a kind that has no object: it acts, or is only written down.
func (a Announcer) stateOnly(n *Node) []operation.Operation {
	if !Acts(n.Spec) {
		return onlyWritten
	}
	run := operation.Operation{Verb: operation.Run, May: n.Plan.May, Call: n.Spec.Type, Want: RunDigest(n.Job)}
	if n.Plan.Action != Replace && n.Plan.Action != Create || n.Entry == nil {
		return []operation.Operation{run}
	}
	return append(a.removals(n, n.Entry.Generations), run)
}

// RunDigest is the keyed digest of what a resource that acts is run with, "" as long as that is not known.
func RunDigest(job *reconcile.Job) string {
	if job == nil || job.Digest == nil || job.Props == nil || len(job.Unknown) > 0 {
		return ""
	}
	inputs := AnyMap(job.Props)
	for _, p := range job.Ignore {
		inputs = tree.Without(inputs, p)
	}
	return job.Digest("run "+job.Address, tree.Canonical(inputs))
}

// creating lists what a creation may do: make the object, finish or give up one that an earlier run began, and take what
// could not be looked for.
func (a Announcer) creating(n *Node, object state.Object) []operation.Operation {
	number := uint64(1)
	if n.Entry != nil {
		number = n.Entry.NextNumber()
	}
	object.Identity = ""
	var more []operation.Operation
	if c := n.Entry.Candidate(); c != nil {
		number = min(number, c.Number)
		more = append(more, removal(c, true))
	}
	if live := n.Entry.Live(); live != nil && n.Plan.Action == Create && n.Look().NotYet {
		number = min(number, live.Number)
		more = append(more, taken(live.Object())...)
	}
	if n.Plan.Action == Create && n.Unsought {
		more = append(more, taken(object)...)
	}
	more = append(more, givenUp(n.Spec, object, number)...)
	return append([]operation.Operation{{Verb: operation.Create, Object: object, Generation: number, May: n.Plan.May}}, more...)
}

// givenUp lists the deletion of an object whose creation answered what nobody heard.
func givenUp(spec *reconcile.Spec, object state.Object, number uint64) []operation.Operation {
	if len(spec.Once) == 0 {
		return nil
	}
	return []operation.Operation{{Verb: operation.Remove, Object: object, Generation: number, May: true}}
}

// taken lists what is done to an object that is known to be there only when it is looked for again.
func taken(object state.Object) []operation.Operation {
	return []operation.Operation{{Verb: operation.Take, Object: object, May: true}, {Verb: operation.Set, May: true}}
}

// taking lists the taking over of an object that the state does not know.
func (a Announcer) taking(n *Node, object state.Object) []operation.Operation {
	if n.Look().Absent || n.Present() != nil {
		return nil
	}
	return []operation.Operation{{Verb: operation.Take, Object: object, Owner: n.Look().Owner}}
}

// resuming lists how a creation goes on that an earlier run began.
func (a Announcer) resuming(n *Node, object state.Object) []operation.Operation {
	c := n.Entry.Candidate()
	if c == nil {
		return nil
	}
	object.Identity = ""
	create := operation.Operation{Verb: operation.Create, Object: object, Generation: c.Number, May: true}
	return []operation.Operation{create, removal(c, true)}
}

// replacing lists the deletion of what a new object takes the place of.
func (a Announcer) replacing(n *Node) []operation.Operation {
	if n.Entry.Live() == nil {
		if n.Look().Absent || n.Entry.Candidate() != nil {
			return nil // a candidate is given up with its creation
		}
		return []operation.Operation{deletion(n.Decl.Options.Retain, operation.Operation{Object: SeenObject(n), Generation: n.Plan.Generation, May: n.Plan.May, Data: a.MayDelete(n)})}
	}
	live := n.Entry.Live()
	o := a.removals(n, []*state.Generation{live})[0]
	o.May = n.Plan.May
	if o.Verb == operation.Remove {
		o = deletion(n.Decl.Options.Retain, o)
	}
	return []operation.Operation{o}
}

// deletion is the deletion of an object, or where it is retained its release.
func deletion(retain bool, o operation.Operation) operation.Operation {
	o.Verb = operation.Remove
	if retain {
		o.Verb = operation.Release
	}
	return o
}

// removal is the deletion of a generation.
func removal(g *state.Generation, may bool) operation.Operation {
	return operation.Operation{
		Verb: operation.Remove, Object: g.Object(), Generation: g.Number, May: may,
	}
}

// removals lists the deletion of generations.
func (a Announcer) removals(n *Node, gens []*state.Generation) []operation.Operation {
	var operations []operation.Operation
	for _, g := range gens {
		o := removal(g, false)
		o.Data = a.MayDelete(n)
		if kind, ok := a.Catalog.Kind(g.Kind); ok && kind.Spec().Recorded {
			o.Verb = operation.Write
			if Acts(kind.Spec()) {
				o.Verb = operation.Undo
			}
		}
		operations = append(operations, o)
	}
	return operations
}

// releases lists what is done where a resource is no longer managed: its live object stays.
func (a Announcer) releases(n *Node) []operation.Operation {
	live := n.Entry.Live()
	operations := []operation.Operation{{Verb: operation.Detach}}
	for _, g := range n.Entry.Generations {
		if g == live {
			operations = append(operations, operation.Operation{Verb: operation.Release, Object: g.Object(), Generation: g.Number})
			continue
		}
		operations = append(operations, a.removals(n, []*state.Generation{g})...)
	}
	return operations
}

// settings lists the changes in place: those that the comparison showed, and what is known later.
func (a Announcer) settings(n *Node, object state.Object) []operation.Operation {
	var operations []operation.Operation
	for _, s := range n.Look().Steps {
		if s.Replaces && !s.Unknown {
			continue
		}
		operations = append(operations, setting(object, s, n.Plan.Action == Replace))
	}
	if a.Unobserved {
		for _, r := range n.Plan.Reasons {
			operations = append(operations, operation.Operation{Verb: operation.Set, Object: object, Path: r.Path, May: true})
		}
	}
	known := n.Object()
	if known == nil {
		return operations
	}
	for _, p := range slices.Sorted(maps.Keys(known.Unknown)) {
		announced := func(o operation.Operation) bool { return o.Path == p }
		if !slices.ContainsFunc(operations, announced) {
			operations = append(operations, operation.Operation{Verb: operation.Set, Object: object, Path: p, May: true})
		}
	}
	return operations
}

// setting is the change of one path.
func setting(object state.Object, s reconcile.Step, may bool) operation.Operation {
	o := operation.Operation{
		Verb: operation.Set, Object: object, Path: s.Path, Call: s.Call, Have: s.HaveDigest, Want: s.WantDigest, Affects: s.Affects,
		May: may || s.Unknown,
	}
	if s.Want == nil && !s.Unknown {
		o.Verb = operation.Unset
	}
	return o
}

// hookOperations lists the hooks of a resource that is changed.
func hookOperations(n *Node) []operation.Operation {
	before, after := n.Hooks()
	var operations []operation.Operation
	for _, h := range slices.Concat(before, after) {
		operations = append(operations, operation.Operation{Verb: operation.Hook, Call: cmp.Or(h.Run, h.Func)})
	}
	return operations
}

// condemnedStep announces the deletion of one object that was left behind, or its release.
func (a Announcer) condemnedStep(n *Node, line *Planned) []operation.Step {
	g := &state.Generation{Number: line.Generation, Kind: line.Kind, Location: line.Place, Identity: line.Identity}
	operations := a.removals(n, []*state.Generation{g})
	switch line.Action {
	case Delete:
		if a.DeletedWith(n, g.Number) != nil {
			operations = nil // it has no deletion of its own
		}
	case Forget:
		operations[0].Verb = operation.Release
	default:
		return nil
	}
	return []operation.Step{{ID: n.Address + "/delete", Operations: operations}}
}

// untieStep announces that paths of a member of a cycle are emptied.
func untieStep(n *Node, paths []Reason) []operation.Step {
	var operations []operation.Operation
	for _, r := range paths {
		operations = append(operations, operation.Operation{Verb: operation.Unset, Path: r.Path, May: true})
	}
	return []operation.Step{{ID: n.Address + "/untie", Operations: operations, Only: true}}
}
