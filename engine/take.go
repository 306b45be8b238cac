package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// taker returns the one node that is to take something over. Nothing else is touched.
func (x *index) taker(addr string) (*node, error) {
	n := x.nodes[addr]
	switch {
	case n == nil || n.decl == nil:
		err := fmt.Errorf("nothing is declared as %q", addr)
		if near, ok := props.Nearest(addr, slices.Sorted(maps.Keys(x.nodes))); ok {
			return nil, reconcile.WithHint(err, "did you mean %s?", near)
		}
		return nil, reconcile.WithHint(err, "declare it first; `athanor adopt --scan --write ID` prints how")
	case n.spec.Recorded:
		return nil, fmt.Errorf("%s: a %s has no object that could be taken over", addr, n.spec.Type)
	}
	return n, nil
}

// takes refuses what cannot be taken over by its identity.
func (c *classifier) takes(n *node) error {
	t := c.o.Take
	if t == nil || t.Address != n.addr {
		return nil
	}
	if g := n.rec.Live(); g != nil && g.Identity != t.Identity && g.Name != t.Identity {
		return reconcile.WithHint(fmt.Errorf("%s is already in state as %s", n.addr, g.Identity), "`athanor state rm %s` forgets that one", n.addr)
	}
	if n.job == nil || len(n.job.Unknown) == 0 {
		return nil
	}
	var missing []string
	for _, up := range n.ups {
		if up.unknown {
			missing = append(missing, up.addr)
		}
	}
	return reconcile.WithHint(fmt.Errorf("it needs %s, which is not there", strings.Join(missing, ", ")), "adopt that one first, or deploy it")
}

// feeds reports whether an address needs this one, by whatever way.
func (n *declaration) feeds(addr string) bool {
	return slices.ContainsFunc(n.users, func(user *node) bool { return user.addr == addr || user.feeds(addr) })
}
