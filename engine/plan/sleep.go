package plan

import (
	"fmt"

	"github.com/athanor-dev/athanor/reconcile"
)

// Sleeps reports a declared node of a kind that lives in a dev session alone, while there is none: it is neither looked
// at nor made, and of its record only what it needs is brought up to date.
func (b *Basis) Sleeps(n *Node) bool { return n.Decl != nil && n.Spec.InDev && b.Dev == nil }

// classifySleeping leaves a node as it is. Nobody knows anything of its attributes: those in state are of a session
// that has ended. Drift alone goes by them, since it goes by what was deployed.
func (c *Classifier) classifySleeping(n *Node) {
	n.Plan.Action, n.Plan.Notes = Unchanged, []string{"runs in dev"}
	n.SetLook(reconcile.Look{Absent: true})
	n.Attrs, n.Unknown = nil, true
	n.asRecorded()
}

// unsure reports that what is replaced by something of another kind lived in a dev session: a look from outside of that does
// not tell what is left of it, and only its deletion does away with that.
func (c *Classifier) unsure(n *Node) bool {
	return n.Entry.Live() != nil && n.ReplacedWhole() && n.PresentKind(c.Catalog).Spec().InDev
}

// sleeping reports a line of the plan about what a dev session alone would start.
func (p *Plan) sleeping(a *Planned) bool { return a.InDev && !p.Dev && a.Action == Unchanged }

// awake refuses to deploy what refers to an object that lives in a dev session alone: without one its values never
// come.
func (b *Basis) awake(n *Node) error {
	if n.Was != nil {
		return nil
	}
	for _, u := range n.Uses() {
		if up := b.Nodes[u.Ref.Address]; up != nil && b.Sleeps(up) {
			return reconcile.WithHint(fmt.Errorf("%s: %s runs in dev only, and has no %s in a deploy", u.At, up.Address, u.Ref.Path),
				"leave it out of stages that are deployed, or work on this one with `athanor dev`")
		}
	}
	return nil
}
