package kv

import (
	"cmp"
	"context"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// Local are the variants that dev takes.
func Local() []reconcile.Any {
	return []reconcile.Any{here.Kept(kind.StateKind[NamespaceProps, Namespace]{
		LocalVariantOf: namespaceType, Doc: "A namespace on this machine.", Check: namespaceKind.CheckAll, API: kind.API{Source: source},
		Delete: func(_ context.Context, s namespaceSite) error {
			return here.KV().Remove(s.Dev, s.Dir, s.Owner, string(s.Last.ID))
		},
	}, func(id, name string, want NamespaceProps) Namespace {
		return Namespace{ID: ID(id), Title: cmp.Or(want.Title, name)}
	}, func(n Namespace) (id, name string) { return string(n.ID), n.Title })}
}
