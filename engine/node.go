package engine

import (
	"cmp"
	"sync"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// node is one address, declared or in state, on its way from the program to what a run does. Each part has its own
// writers, and is read by the stages that come after them.
type node struct {
	declaration
	tracked
	observation
	decision
	forecast
	progress
}

// declaration is what a program says of an address. The index writes it, and nothing of it changes once that is
// arranged.
type declaration struct {
	addr string
	decl *graph.Resource // nil when no longer declared
	read *graph.Read     // set for what is used and not owned; then decl is nil
	kind reconcile.Any
	spec *reconcile.Spec
	// was is set when drift is planned: the declaration is what was deployed last.
	was *deployed

	// props are those declared; uses the references in them, in tree order; needs the addresses that must come before,
	// sorted.
	props *token.Template
	uses  []token.Use
	needs []string
	// referred: the program has a reference to it, and not only an order.
	referred bool
	// users are the declared nodes that need this one; ups those that must come before it: cut edges left out.
	users, ups []*node
	// cut are the late paths, by upstream, through which a cycle is opened.
	cut map[string][]tree.Path
}

// tracked is what the state has of an address. A plan works on the entry as it will be, a run on the entry as it is.
type tracked struct {
	rec *state.Entry // nil without a row
	// from is the address that the row had before this plan moved it.
	from string
}

// observation is what reading showed of an address. The finder and the builder write it.
type observation struct {
	access *observe.Way
	job    *reconcile.Job
	look   reconcile.Look
	looked bool
	err    error // why it could not be observed
	others []found
	// unsought: what its object goes by is known only when its inputs are, so that planning could not look for it.
	unsought bool
	// sought are the names and identities by which a search failed.
	sought []string
	// slot of the name by which a find was made.
	slot   int
	assets map[string]reconcile.Asset
	files  filesKnowledge
}

// decision is what the passes decided about an address.
type decision struct {
	plan *Planned
	// current: it was observed with all its upstreams decided, and need not be compared again.
	current bool
	decided bool // it was classified
	// remade are the paths that differ because what the object is made of changed.
	remade map[tree.Path]bool
	// held: it would do something, and what it needs waits for somebody.
	held bool
	// holding are the addresses of what the object holds and the plan deletes: its own deletion comes after theirs.
	holding []string
	// beside: an object with the owner tag of an address whose entry has another one. The entry is left as it is.
	beside bool
}

// forecast is what others may count on of the attributes of an address: what a plan foresees of them, and while a run
// goes on what they have become.
type forecast struct {
	mu    sync.Mutex
	attrs map[string]any // what is known of its attributes
	// unknown: nothing is known for sure, attrs aside; moving: those attributes may change.
	unknown bool
	moving  map[string]bool
}

// progress is what a run has done about an address.
type progress struct {
	// changed are the paths that its work set; carried are the values of ignored paths for a new object.
	changed []tree.Path
	carried map[tree.Path]any
	// kept: its object was to be deleted before its replacement, and need not be replaced.
	kept bool
	// as is what is done, where that is not what was planned: an object was found in place of being created, or converges.
	as Action
}

// ownNames are the names and identities that errors about the node may hold.
func (n *node) ownNames() []string {
	names := []string{n.addr, n.from, n.look.Identity}
	if n.job != nil {
		names = append(names, n.job.Name, n.job.ID)
	}
	for _, g := range n.generations() {
		names = append(names, g.Identity)
	}
	return append(names, n.sought...)
}

func (n *node) doing() Action { return cmp.Or(n.as, n.plan.Action) }
