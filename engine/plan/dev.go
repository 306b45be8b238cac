package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// Dev says that plans are those of a dev session: state says of what it makes that dev made it, and nothing else is
// ever deleted by it, whatever the program says.
type Dev struct {
	// Here is leave to work on a stage that something else than dev made. Without it such a stage is refused.
	Here bool
	// Narrow reads what state and the program disagree about and takes the rest as state has it, see narrow.go. A
	// stage without rows is looked for as a whole all the same.
	Narrow bool
	// Look are addresses that a narrow plan looks at as well.
	Look []string
	// Remote are globs of addresses that are made in the cloud although their kinds have local variants.
	Remote []string
}

// LocalStage begins the names of stages that are dev's own. It decides one question: whose is what is found of such a
// stage when its state is lost.
const LocalStage = "local-"

// ErrDeployed is matched when a dev session is refused a stage that something else made.
var ErrDeployed = errors.New("it was deployed, and not made by dev")

// ErrKept ends the deletion of what a dev session must leave.
var ErrKept = errors.New("dev did not make it and does not delete it")

// DevRules say what a dev session may delete. Outside of one everything may be.
type DevRules struct {
	Session *Dev   // nil outside of one
	Name    string // of the stage
}

// Keeps reports that a dev session must leave an object: it did not make it.
func (d DevRules) Keeps(g *state.Generation) bool { return d.Session != nil && g != nil && !g.Dev }

// keepsRow is the same for anything of a row.
func (d DevRules) keepsRow(rec *state.Entry) bool {
	return rec != nil && slices.ContainsFunc(rec.Generations, d.Keeps)
}

// Collectable are the condemned generations that this plan may delete.
func (d DevRules) Collectable(rec *state.Entry) []*state.Generation {
	return slices.DeleteFunc(rec.Condemned(), d.Keeps)
}

// FindsOwn reports that what is found without state is taken for made by dev.
func (d DevRules) FindsOwn() bool { return d.Session != nil && strings.HasPrefix(d.Name, LocalStage) }

// Check refuses a dev session a stage that it did not make.
func (d DevRules) Check(entries map[string]*state.Entry, stage statestore.Stage) error {
	if d.Session == nil || d.Session.Here {
		return nil
	}
	var others []string
	for _, addr := range slices.Sorted(maps.Keys(entries)) {
		if d.keepsRow(entries[addr]) {
			others = append(others, addr)
		}
	}
	if len(others) == 0 {
		return nil
	}
	what := others[0]
	if n := len(others); n > 1 {
		what = fmt.Sprintf("%s and %d more", what, n-1)
	}
	return reconcile.WithHint(fmt.Errorf("%s: %w: %s", stage, ErrDeployed, what),
		"--here works on it all the same and deletes nothing that dev did not make; without --stage dev has a stage of its own")
}

// Leaves returns what is no longer declared and not dev's to delete, with what it needs as the state says.
func (d DevRules) Leaves(undeclared []*Node, chosen *Chosen, forget []string) []*Node {
	if d.Session == nil {
		return nil
	}
	at := make(map[string]*Node, len(undeclared))
	for _, n := range undeclared {
		at[n.Address] = n
	}
	var left []*Node
	var leave func(n *Node)
	leave = func(n *Node) {
		if n == nil || !chosen.IsSelected(n) || slices.Contains(forget, n.Address) || slices.Contains(left, n) {
			return
		}
		left = append(left, n)
		for _, a := range n.Entry.Needs {
			leave(at[a])
		}
	}
	for _, n := range undeclared {
		if d.keepsRow(n.Entry) {
			leave(n)
		}
	}
	return left
}

// Local is a declaration as a dev session serves it on this machine: of the local variant of its kind. Nil where there is
// none, or it is to be in the cloud. What guards an object in the cloud is no concern of it: nobody's data is in there,
// and nothing could be taken over.
func (d DevRules) Local(catalog *reconcile.Catalog, r *graph.Resource) *graph.Resource {
	if d.Session == nil || Matches(d.Session.Remote, r.Address) {
		return nil
	}
	variant, ok := catalog.Local(r.Kind)
	if !ok {
		return nil
	}
	here := *r
	here.Kind = variant.Spec().Type
	here.Options.Adopt, here.Options.Protect, here.Options.Retain = "", false, false
	return &here
}

// RefusesKept returns why dev must not replace an object: it is not dev's to delete.
func (g *Guarding) RefusesKept(n *Node) error {
	if n.Decl == nil || n.Plan.Action != Replace || !g.Keeps(n.Entry.Live()) {
		return nil
	}
	return reconcile.WithHint(fmt.Errorf("dev did not make it, and it would be replaced, which deletes it: %s", replacing(n.Plan.Reasons)), "%s", keptHint(n))
}

func keptHint(n *Node) string {
	if n.Spec.Stands != "" && n.Entry.Live().Kind == n.Spec.Stands {
		return "--remote " + n.Address + " goes on with the one that is there; without --stage dev has a stage of its own"
	}
	return "athanor deploy replaces it; change it back, or give dev a stage of its own"
}

// KeptWarnings say what was left.
func KeptWarnings(left []*Node) []string {
	var texts []string
	for _, n := range left {
		texts = append(texts, n.Address+" is not declared any more; dev did not make it and leaves it: athanor deploy deletes it")
	}
	slices.Sort(texts)
	return texts
}
