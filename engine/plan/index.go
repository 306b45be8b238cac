package plan

import (
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/redact"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

// Index is a program as a graph of nodes: what each refers to, and the order in which one comes after what it needs. Once it is
// read and arranged nothing of it changes but that nodes of what is no longer declared come to it.
type Index struct {
	Catalog *reconcile.Catalog
	Redact  *redact.Redactor
	// Forget are the addresses that the program removes from state.
	Forget []string

	Nodes    map[string]*Node
	Declared []*Node
	Reads    []*Node
	Sorted   []*Node // reads and declared, upstreams first

	room []Planned // of declared nodes
}

// Reserve makes room for the lines of declared nodes, in the order of their addresses, and returns the nodes in that order: when
// all are decided, their lines are the document.
func (x *Index) Reserve() []*Node {
	nodes := slices.Clone(x.Declared)
	slices.SortFunc(nodes, func(a, b *Node) int { return strings.Compare(a.Address, b.Address) })
	x.room = make([]Planned, len(nodes))
	for i, n := range nodes {
		n.room = &x.room[i]
	}
	return nodes
}

// Basis is what decisions about the resources of a stage go by beside the resources themselves: the program as nodes, and who
// owns the objects that state knows.
type Basis struct {
	*Index
	Stage  statestore.Stage
	Store  string // the store's id
	Owners *state.Owners
	Dev    *reconcile.Dev // nil outside of a dev session
}

// Evidence collects what the verdict on a found object goes by. g is the generation that it may be, nil for none.
func (b *Basis) Evidence(n *Node, job *reconcile.Job, look reconcile.Look, g *state.Generation) adopt.Evidence {
	return b.EvidenceOf(n, n.Spec, job, look, g)
}

// EvidenceOf is the same for an object of another kind than the node's: one that it was before.
func (b *Basis) EvidenceOf(n *Node, spec *reconcile.Spec, job *reconcile.Job, look reconcile.Look, g *state.Generation) adopt.Evidence {
	if g == nil {
		g = new(state.Generation)
	}
	var births []string
	if !look.Owner.IsZero() {
		births = n.Births() // nothing else is compared with them
	}
	return adopt.Evidence{
		Absent: look.Absent, Identity: look.Identity, InState: g.Identity,
		NameIntended: g.Intent != nil && !g.NameGiven && g.Name != "" && g.Name == job.Name,
		Tagged:       look.Owner, Tag: job.Mark, Addresses: births,
		Taggable: spec.Marked, OwnedByContent: spec.Same, ContentEqual: len(look.Steps) == 0,
		Holder:    b.Owners.By(state.Object{Kind: spec.Type, Location: job.Place, Identity: look.Identity}, n.Address),
		Name:      job.Name,
		NameGiven: job.Named || !spec.Named && !spec.Marked && !spec.Recorded && !spec.ByParent,
	}
}

// RetainedHere reports the owner tag of an object that a resource of this stage retained.
func RetainedHere(owner reconcile.Mark, stage statestore.Stage) bool {
	return owner.Retained && owner.Stack == stage.Stack && owner.Stage == stage.Name
}

// IsMarkStep reports a difference that is about the owner tag alone.
func IsMarkStep(s reconcile.Step) bool {
	steps := s.Path.Steps()
	return len(steps) > 0 && adopt.IsMark(steps[len(steps)-1].Key)
}

// EverSecret reports a path that is secret by its type, or was by its value in any deploy.
func (b *Basis) EverSecret(n *Node, p tree.Path) bool {
	in := p.Overlaps
	return slices.ContainsFunc(n.Spec.SecretProps, in) || n.Entry != nil && slices.ContainsFunc(n.Entry.SecretPaths, in)
}

// Mark returns the owner tag of an object of this stage.
func (b *Basis) Mark(addr string, generation uint64) reconcile.Mark {
	return reconcile.Mark{Stack: b.Stage.Stack, Stage: b.Stage.Name, Address: addr, Generation: generation, Store: b.Store}
}

// Elses reports an address that is declared by itself: an object with that address in its owner tag belongs to that
// one.
func (x *Index) Elses(n *Node, addr string) bool {
	other := x.Nodes[addr]
	return other != nil && other != n && other.Decl != nil
}
