package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// Dev says that plans are those of a dev session: what it makes is on record as made by dev, and nothing else is ever
// deleted by it, whatever the program says.
type Dev struct {
	// Here is leave to work on a stage that something else than dev made. Without it such a stage is refused.
	Here bool
	// Narrow looks at what the record and the program disagree about and takes the rest as it is on record, see narrow.go. A
	// stage without rows is looked for as a whole all the same.
	Narrow bool
	// Look are addresses that a narrow plan looks at as well.
	Look []string
	// Remote are globs of addresses that are made in the cloud although their kinds have local variants.
	Remote []string
}

// LocalStage begins the names of stages that are dev's own. It decides one thing: whose is what is found of such a
// stage when its record is lost.
const LocalStage = "local-"

// ErrDeployed is matched when a dev session is refused a stage that something else made.
var ErrDeployed = errors.New("it was deployed, and not made by dev")

// errKept ends the deletion of what a dev session must leave.
var errKept = errors.New("dev did not make it and does not delete it")

// devRules say what a dev session may delete. Outside of one everything may be.
type devRules struct {
	session *Dev   // nil outside of one
	name    string // of the stage
}

// keeps reports that a dev session must leave a thing: it did not make it.
func (d devRules) keeps(g *state.Generation) bool { return d.session != nil && g != nil && !g.Dev }

// keepsRow is the same for anything of a row.
func (d devRules) keepsRow(rec *state.Entry) bool {
	return rec != nil && slices.ContainsFunc(rec.Generations, d.keeps)
}

// collectable are the condemned generations that this plan may delete.
func (d devRules) collectable(rec *state.Entry) []*state.Generation {
	return slices.DeleteFunc(rec.Condemned(), d.keeps)
}

// findsOwn reports that what is found without a record is taken for made by dev.
func (d devRules) findsOwn() bool { return d.session != nil && strings.HasPrefix(d.name, LocalStage) }

// checkDev refuses a dev session a stage that it did not make.
func (w *work) checkDev() error {
	if w.o.Dev == nil || w.o.Dev.Here {
		return nil
	}
	var others []string
	for _, addr := range slices.Sorted(maps.Keys(w.records)) {
		if w.keepsRow(w.records[addr]) {
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
	return reconcile.WithHint(fmt.Errorf("%s: %w: %s", w.stage, ErrDeployed, what),
		"--here works on it all the same and deletes nothing that dev did not make; without --stage dev has a stage of its own")
}

// leaveKept takes off the plan what is no longer declared and not dev's to delete, with what the record says that it
// needs.
func (w *work) leaveKept(leftover []*node) {
	if w.o.Dev == nil {
		return
	}
	at := make(map[string]*node, len(leftover))
	for _, n := range leftover {
		at[n.addr] = n
	}
	var keep func(n *node)
	keep = func(n *node) {
		if n == nil || !w.isSelected(n) || slices.Contains(w.graph.Forget, n.addr) {
			return
		}
		w.deselect(n)
		w.kept = append(w.kept, n.addr)
		for _, a := range n.rec.Needs {
			keep(at[a])
		}
	}
	for _, n := range leftover {
		if w.keepsRow(n.rec) {
			keep(n)
		}
	}
}

// deselect takes one node off what the plan is about.
func (w *work) deselect(n *node) {
	if w.selected == nil {
		w.selected = map[*node]bool{}
		for _, all := range [][]*node{w.sorted, w.leftover} {
			for _, other := range all {
				w.selected[other] = true
			}
		}
	}
	delete(w.selected, n)
}

// local is a declaration as a dev session serves it on this machine: of the local variant of its kind. Nil where there is
// none, or it is to be in the cloud. What guards a thing of the cloud is no concern of it: nobody's data is in there, and
// nothing could be taken over.
func (w *work) local(r *graph.Resource) *graph.Resource {
	if w.o.Dev == nil || matches(w.o.Dev.Remote, r.Address) {
		return nil
	}
	variant, ok := w.e.Catalog.Local(r.Kind)
	if !ok {
		return nil
	}
	here := *r
	here.Kind = variant.Spec().Type
	here.Options.Adopt, here.Options.Protect, here.Options.Retain = "", false, false
	return &here
}

// guardKept refuses a replacement whose old thing is not dev's to delete.
func (w *work) guardKept(n *node) bool {
	if n.plan.Action != Replace || !w.keeps(n.rec.Live()) {
		return false
	}
	w.refuse(n, reconcile.WithHint(fmt.Errorf("dev did not make it, and it would be replaced, which deletes it: %s", replacing(n.plan.Reasons)),
		"%s", w.keptHint(n)))
	return true
}

func (w *work) keptHint(n *node) string {
	if n.spec.Stands != "" && n.rec.Live().Kind == n.spec.Stands {
		return "--remote " + n.addr + " goes on with the one that is there; without --stage dev has a stage of its own"
	}
	return "athanor deploy replaces it; change it back, or give dev a stage of its own"
}

// keptWarnings say what was left.
func (w *work) keptWarnings() []string {
	var texts []string
	slices.Sort(w.kept)
	for _, addr := range w.kept {
		texts = append(texts, addr+" is not declared any more; dev did not make it and leaves it: athanor deploy deletes it")
	}
	return texts
}
