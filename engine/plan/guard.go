package plan

import (
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// ErrProtected is matched by refusals to delete or replace what is protected.
var ErrProtected = errors.New("it is protected")

// Guarding refuses what would lose what must not be lost.
type Guarding struct {
	Guards
	DevRules
	*Chosen
	*Refusals
}

// Guard refuses what the guards refuse: its object holds data which nothing else deletes where holds is true.
func (g *Guarding) Guard(n *Node, holds bool) {
	if err := g.refuses(n, holds); err != nil {
		g.Refuse(n, err)
	}
}

// Deletes returns the objects of a node that the plan deletes, or may delete: each deletion asks once more what is held.
func (g *Guarding) Deletes(n *Node) []state.Object {
	replaced := n.Decl != nil && n.Plan != nil && n.Plan.Action == Replace && !n.Decl.Options.Retain
	var objects []state.Object
	switch {
	case !g.IsSelected(n):
	case replaced && IsFound(n):
		objects = append(objects, SeenObject(n))
	case n.Entry == nil:
	case replaced, n.Decl == nil && (n.Plan == nil || n.Plan.Action == Delete):
		for _, g := range n.Entry.Generations {
			objects = append(objects, g.Object())
		}
	default:
		for _, g := range g.Collectable(n.Entry) {
			objects = append(objects, g.Object())
		}
	}
	return objects
}

// Guards keep what must not be lost: what is protected, and users' data that nobody permitted to delete.
type Guards struct {
	Catalog *reconcile.Catalog
	// Replace and allowDelete are the globs of the command line.
	Replace, AllowDelete []string
}

// refuses returns why the object of a node must not be replaced or deleted as is planned, nil when it may. Holds says that it holds
// data which nothing else deletes.
func (g Guards) refuses(n *Node, holds bool) error {
	switch n.Plan.Action {
	case Replace:
		return g.refusesReplace(n, holds)
	case Delete:
		return g.refusesDelete(n, holds)
	default:
		return nil
	}
}

func (g Guards) refusesReplace(n *Node, holds bool) error {
	o := n.Decl.Options
	switch {
	case n.PresentKind(g.Catalog).Spec().Stands != "":
		return nil // the old one is on this machine: what is declared is to guard the one that comes
	case o.Protect:
		return reconcile.WithHint(fmt.Errorf("%w and would be replaced: %s", ErrProtected, replacing(n.Plan.Reasons)),
			"take `protect` off, or change it back")
	case o.Retain && n.Plan.DeleteFirst:
		return errors.New("it is retained, and can only be replaced by deleting it first")
	case holds && !o.AllowReplace && !o.AllowDelete && !n.Look().MayDelete && !Matches(g.Replace, n.Address) && !Matches(g.AllowDelete, n.Address):
		return reconcile.WithHint(fmt.Errorf("%w and would be replaced: %s", reconcile.ErrHoldsData, replacing(n.Plan.Reasons)),
			"--replace %s, or allowReplace in the program, if its data may go", n.Address)
	}
	return nil
}

func (g Guards) refusesDelete(n *Node, holds bool) error {
	switch {
	case n.Entry.Options().Protect:
		return reconcile.WithHint(fmt.Errorf("%w and would be deleted", ErrProtected),
			"declare it again with `protect: false` and deploy, then delete it")
	case holds && !g.MayDelete(n):
		return reconcile.WithHint(fmt.Errorf("%w and would be deleted", reconcile.ErrHoldsData), "--allow-delete %s if its data may go", n.Address)
	}
	return nil
}

// Names reports whether the command line names a node as one that may be replaced or deleted.
func (g Guards) Names(n *Node) bool {
	return Matches(g.Replace, n.Address) || Matches(g.AllowDelete, n.Address)
}

// MayDelete reports whether users' data may go with an object that is deleted.
func (g Guards) MayDelete(n *Node) bool {
	allowed := Matches(g.AllowDelete, n.Address) || n.Look().MayDelete
	if n.Entry != nil {
		allowed = allowed || n.Entry.Options().AllowDelete || n.Decl == nil && n.Entry.MayDeleteData
	}
	if n.Decl != nil {
		o := n.Decl.Options
		allowed = allowed || o.AllowDelete || o.AllowReplace || Matches(g.Replace, n.Address)
	}
	return allowed
}

func replacing(reasons []Reason) string {
	for _, r := range reasons {
		if r.Replaces && r.Path != "" {
			return string(r.Path)
		}
	}
	return "by request"
}
