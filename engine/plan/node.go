package plan

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Node is one address, declared or in state, on its way from the program to what a run does. Each part has its own
// writers, and is read by the stages that come after them.
type Node struct {
	Declaration
	Tracked
	Observation
	Decision
	Forecast
	progress
	// Size is what the props take that were resolved last, in bytes.
	Size int
}

// Declaration is what a program says of an address. The index writes it, and nothing of it changes once that is
// arranged.
type Declaration struct {
	Address string
	Decl    *graph.Resource // nil when no longer declared
	Read    *graph.Read     // set for what is used and not owned; then decl is nil
	Kind    reconcile.Any
	Spec    *reconcile.Spec
	// Was is set when drift is planned: the declaration is what was deployed last.
	Was *Deployed

	// Props are those declared; Needs the addresses that must come before, sorted.
	Props *token.Template
	Needs []string
	// Referred: the program has a reference to it, and not only an order.
	Referred bool
	// users are the declared nodes that need this one; Ups those that must come before it: cut edges left out.
	users, Ups []*Node
	// Cut are the late paths, by upstream, through which a cycle is opened.
	Cut map[string][]tree.Path
}

// Tracked is what the state has of an address. A plan works on the entry as it will be, a run on the entry as it is.
type Tracked struct {
	Entry *state.Entry // nil without a row
	// From is the address that the row had before this plan moved it.
	From string
}

// Observation is what reading showed of an address. The finder and the builder write it.
type Observation struct {
	Access *observe.Way
	Job    *reconcile.Job
	object *Object         // what stays of a job that was dropped
	look   *reconcile.Look // nil: nothing was read, or nothing is there
	absent bool
	Looked bool
	// Unsought: what its object goes by is known only when its inputs are, so that planning could not look for it.
	Unsought bool
	// Retyped is the kind that state has for the live object, where the entry has it as one of the declared kind: a run keeps the object and writes that.
	// Movable: the declared kind may be able to take it over, which the author does not say.
	Retyped string
	Movable bool
	Err     error // why it could not be observed
	Others  []Find
	// Sought are the names and identities by which a search failed.
	Sought []string
	// Slot of the name by which a find was made.
	Slot   int
	Assets map[string]reconcile.Asset
	Files  filesKnowledge
}

// Look is what reading showed of the object: an empty one as long as it was not read. It is replaced by others, and never changed.
func (o *Observation) Look() *reconcile.Look {
	if o.look != nil {
		return o.look
	}
	return &reconcile.Look{Absent: o.absent} // not kept: of such objects there can be very many
}

// SetLook notes what reading showed of the object.
func (o *Observation) SetLook(look reconcile.Look) {
	if o.look, o.absent = nil, look.Absent; !look.Absent || look.NotYet || look.Identity != "" || look.Attrs != nil {
		o.look = new(look)
	}
}

// ForgetLook takes back what reading showed.
func (o *Observation) ForgetLook() { o.look, o.absent = nil, false }

// Saw is [Observation.SetLook] of a look that may have failed, and returns the error.
func (o *Observation) Saw(look reconcile.Look, err error) error {
	o.SetLook(look)
	return err
}

// Decision is what the passes decided about an address.
type Decision struct {
	Plan *Planned
	room *Planned // for the line
	// Current: it was observed with all its upstreams decided, and need not be compared again.
	Current bool
	Decided bool // it was classified
	// Later: it is only read, and the run reads it, since something that it refers to is not as declared before.
	Later bool
	// Held: it would do something, and what it needs waits for somebody.
	Held bool
	// Beside: an object with the owner tag of an address whose entry has another one. The entry is left as it is.
	Beside bool
	// remade are the paths that differ because what the object is made of changed.
	remade map[tree.Path]bool
	// Holding are the addresses of what the object holds and the plan deletes: its own deletion comes after theirs.
	Holding []string
}

// Forecast is what others may count on of the attributes of an address: what a plan foresees of them, and while a run
// goes on what they have become.
type Forecast struct {
	Mu    sync.Mutex
	Attrs map[string]any // what is known of its attributes
	// Unknown: nothing is known for sure, Attrs aside; Moving: those attributes may change.
	Unknown bool
	Moving  []string
}

// progress is what a run has done about an address.
type progress struct {
	// Changed are the paths that its work set; Carried are the values of ignored paths for a new object.
	Changed []tree.Path
	Carried map[tree.Path]any
	// Kept: its object was to be deleted before its replacement, and need not be replaced.
	Kept bool
	// As is what is done, where that is not what was planned: an object was found in place of being created, or converges.
	As Action
}

// OwnNames are the names and identities that errors about the node may hold.
func (n *Node) OwnNames() []string {
	names := []string{n.Address, n.From, n.Look().Identity}
	if o := n.Object(); o != nil {
		names = append(names, o.Name, o.ID)
	}
	for _, g := range n.Generations() {
		names = append(names, g.Identity)
	}
	return append(names, n.Sought...)
}

// Object is what the job of a node says of its object.
type Object struct {
	Name, ID string
	// Named: the author gave the name.
	Named bool
	// MayDeleteData: a prop allows to delete users' data with the object.
	MayDeleteData bool
	// Naming is how a name is generated, nil for a kind that generates none, and Unknown the paths of props that are known only later.
	// Neither is there once a run has begun.
	Naming  *reconcile.Naming
	Unknown map[tree.Path]bool
}

// isEmpty reports that nothing is known of the object.
func (o *Object) isEmpty() bool {
	return o.Name == "" && o.ID == "" && !o.Named && !o.MayDeleteData && o.Naming == nil && len(o.Unknown) == 0
}

// Object returns what is known of the object of a node from the job that it was planned with, nil without one.
func (n *Node) Object() *Object {
	if n.Job == nil {
		return n.object
	}
	return &Object{
		Name: n.Job.Name, ID: n.Job.ID, Named: n.Job.Named, MayDeleteData: n.Job.Leave, Naming: n.Job.Naming, Unknown: n.Job.Unknown,
	}
}

// announcesPaths reports that the line of a node has operations on paths of an object that is there.
func announcesPaths(n *Node) bool {
	return n.Spec != nil && !n.Spec.Recorded && n.Plan != nil && n.Plan.Action != Create
}

// DropJob drops the job that a node was planned with, when no more of it is needed than its object. A job is the largest part of a
// node, and there can be very many.
func (n *Node) DropJob() {
	if n.object, n.Job = n.Object(), nil; n.object == nil {
		return
	}
	if !announcesPaths(n) {
		n.object.Unknown = nil
	}
}

// DropValues drops the job of a node, with all values that a run resolves anew.
func (n *Node) DropValues() {
	if n.DropJob(); n.object == nil {
		return
	}
	if n.object.Naming, n.object.Unknown = nil, nil; n.object.isEmpty() {
		n.object = nil
	}
}

// Amend lets a run note what it has found of an address. The line of the plan document stays as it was approved.
func (n *Node) Amend(change func(*Planned)) {
	amended := *n.Plan
	change(&amended)
	n.Plan = &amended
}

// Doing is what is done to the address: what was planned, or what a run found to do in its place.
func (n *Node) Doing() Action { return cmp.Or(n.As, n.Plan.Action) }

// IsDeleted reports that an undeclared node is to be deleted.
func IsDeleted(n *Node) bool { return n.Plan != nil && n.Doing() == Delete }

// SeenObject names the object that reading showed, as one of the declared kind and location.
func SeenObject(n *Node) state.Object {
	return state.Object{Kind: n.Spec.Type, Location: n.Access.Place, Identity: n.Look().Identity}
}

// KindName is the name of the kind that is declared, else of the one in state.
func (n *Node) KindName() string {
	if n.Spec != nil {
		return n.Spec.Type
	}
	return n.Plan.Kind
}

// ErrStopped ends work that may not be started any more.
var ErrStopped = errors.New("stopped")

// Hooks are those of the program, or for what is no longer declared the commands that were deployed last: functions
// are not at hand when the declaration is not.
func (n *Node) Hooks() (before, after []graph.Hook) {
	if n.Decl != nil {
		return n.Decl.Options.Before, n.Decl.Options.After
	}
	if n.Entry == nil || n.Doing() != Delete {
		return nil, nil
	}
	function := func(h graph.Hook) bool { return h.Func != "" }
	o := n.Entry.Options()
	return slices.DeleteFunc(slices.Clone(o.Before), function), slices.DeleteFunc(slices.Clone(o.After), function)
}

// AtBirth reports that n needs no more of up than attributes known at birth.
func (n *Declaration) AtBirth(up *Node) bool {
	if n.Decl == nil || len(up.Spec.AtBirth) == 0 || slices.Contains(n.Decl.Options.DependsOn, up.Address) {
		return false
	}
	if slices.ContainsFunc(n.Ups, func(read *Node) bool { return read.Read != nil && slices.Contains(read.Ups, up) }) {
		return false // who reads sees only what is there
	}
	return !slices.ContainsFunc(n.Uses(), func(u token.Use) bool {
		if u.Ref.Address != up.Address {
			return false
		}
		first, below := u.Ref.Path.First()
		settled := slices.ContainsFunc(n.Spec.NeedsSettled, func(p tree.Path) bool { return u.At.Within(p) })
		return settled || !below || !slices.Contains(up.Spec.AtBirth, first.Key)
	})
}

// Know says what the attributes of a node are from now on.
func (f *Forecast) Know(attrs map[string]any) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Attrs, f.Unknown, f.Moving = attrs, false, nil
}

// IsReadByRun reports a read that waits for the run, which makes or changes something that it refers to.
func (n *Node) IsReadByRun() bool {
	return n.Read != nil && slices.ContainsFunc(n.Ups, func(up *Node) bool {
		switch {
		case up.Read != nil:
			return up.Later
		case up.Plan == nil, up.Spec.Recorded && !up.Spec.Rerun:
			return false // its value is all that there is of it: known, or not
		}
		switch up.Plan.Action {
		case Create, Update, Replace:
			return true
		case Adopt, Recover, Move:
			return up.Look().Absent || len(up.Look().Steps) > 0
		default:
			return false
		}
	})
}

// Find is an object that reading showed and no entry has.
type Find struct {
	reconcile.Found
	Access *observe.Way
	Look   reconcile.Look
	Job    *reconcile.Job
	Slot   int
	// Unsought: there was nothing yet to look for it by.
	Unsought bool
}

// NextNumber is the generation that comes after those which the entry has.
func (n *Tracked) NextNumber() uint64 {
	if n.Entry == nil {
		return 1
	}
	return n.Entry.NextNumber()
}

// Generations are those of the entry.
func (n *Tracked) Generations() []*state.Generation {
	if n.Entry == nil {
		return nil
	}
	return n.Entry.Generations
}

// Present is the generation that a node is compared with.
func (n *Tracked) Present() *state.Generation { return n.Entry.Present() }

// PresentKind is the kind of the present object, which may be another than the declared.
func (n *Node) PresentKind(catalog *reconcile.Catalog) reconcile.Any {
	if g := n.Present(); g != nil && g.Kind != n.Spec.Type {
		if k, ok := catalog.Kind(g.Kind); ok {
			return k
		}
	}
	return n.Kind
}

// ReplacedWhole reports that kind or place changed under the same address.
func (n *Node) ReplacedWhole() bool {
	g := n.Present()
	return g != nil && (g.Kind != n.Spec.Type || g.Location != n.Access.Place)
}

// Birth is the address that a node's generated names come from.
func (n *Node) Birth() string {
	if n.Entry != nil && n.Entry.Birth != "" {
		return n.Entry.Birth
	}
	return n.Address
}

// Births are all addresses that the owner tag or the name of an object of this node may have.
func (n *Node) Births() []string {
	births := []string{n.Birth()}
	if n.Address != births[0] {
		births = append(births, n.Address)
	}
	if n.Entry != nil {
		births = append(births, n.Entry.Former...)
	}
	if n.Decl != nil {
		births = append(births, n.Decl.Options.RenamedFrom...)
	}
	return births
}

// Uses are the references in the declared props, in tree order.
func (n *Declaration) Uses() []token.Use { return n.Props.Refs() }

// Source is where the program declares the address, "" for an undeclared one.
func (n *Declaration) Source() string {
	switch {
	case n.Decl != nil:
		return n.Decl.Source
	case n.Read != nil:
		return n.Read.Source
	default:
		return ""
	}
}
