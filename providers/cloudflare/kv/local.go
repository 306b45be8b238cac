package kv

import (
	"cmp"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/reconcile"
)

// Local are the variants that dev takes.
func Local() []reconcile.Any {
	return []reconcile.Any{reconcile.Erase(here.Kept[NamespaceProps, Namespace]{
		Stands: namespaceType, Doc: "A namespace on this machine.", Moves: []string{"title"}, Check: namespaceKind.Check, Source: source,
		Make: func(id, name string, want NamespaceProps) Namespace {
			return Namespace{ID: ID(id), Title: cmp.Or(want.Title, name)}
		},
		Of: func(n Namespace) (id, name string) { return string(n.ID), n.Title },
		Forget: func(dev *reconcile.Dev, dir string, m reconcile.Mark, n Namespace) error {
			return here.KV().Remove(dev, dir, m, string(n.ID))
		},
	}.Kind())}
}
