package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
)

// taker returns the one node that is to take something over. Nothing else is touched.
func (x *Index) taker(addr string) (*Node, error) {
	n := x.Nodes[addr]
	switch {
	case n == nil || n.Decl == nil:
		return nil, WithNearest(fmt.Errorf("nothing is declared as %q", addr), addr, slices.Sorted(maps.Keys(x.Nodes)),
			"declare it first; `athanor adopt --scan --write ID` prints how")
	case n.Spec.Recorded:
		return nil, fmt.Errorf("%s: a %s has no object that could be taken over", addr, n.Spec.Type)
	}
	return n, nil
}

// Takes refuses what cannot be taken over by its identity.
func (c *Classifier) Takes(n *Node) error {
	t := c.Options.Take
	if t == nil || t.Address != n.Address {
		return nil
	}
	if g := n.Entry.Live(); g != nil && g.Identity != t.Identity && g.Name != t.Identity {
		return reconcile.WithHint(fmt.Errorf("%s is already in state as %s", n.Address, g.Identity), "`athanor state rm %s` forgets that one", n.Address)
	}
	if n.Job == nil || len(n.Job.Unknown) == 0 {
		return nil
	}
	var missing []string
	for _, up := range n.Ups {
		if up.Unknown {
			missing = append(missing, up.Address)
		}
	}
	return reconcile.WithHint(fmt.Errorf("it needs %s, which is not there", strings.Join(missing, ", ")), "adopt that one first, or deploy it")
}

// Feeds reports whether an address needs this one, by whatever way.
func (n *Declaration) Feeds(addr string) bool {
	return slices.ContainsFunc(n.users, func(user *Node) bool { return user.Address == addr || user.Feeds(addr) })
}

// Named is the identity that a node's object was named by, "" when none was: what is named may be anybody's.
func (t *Take) Named(n *Node) string {
	if t != nil && t.Address == n.Address {
		return t.Identity
	}
	if n.Decl == nil || n.Decl.Options.Adopt == "*" || n.MovedKind() != "" {
		return ""
	}
	return n.Decl.Options.Adopt
}

// movedKind begins an identity that is none: the author names the kind that state has for the object of the address.
const movedKind = "kind:"

// MovedKind is the kind in state of which the author says that the declared kind takes its object over, "" for none. That is said each time, since a kind may
// take over what it should not: of a Terraform provider some types take any object.
func (n *Declaration) MovedKind() string {
	if n.Decl == nil {
		return ""
	}
	kind, ok := strings.CutPrefix(n.Decl.Options.Adopt, movedKind)
	if !ok {
		return ""
	}
	return kind
}
