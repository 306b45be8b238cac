package r2

import (
	"cmp"
	"context"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// Local are the variants that dev takes.
func Local() []reconcile.Any {
	return []reconcile.Any{here.Kept(kind.StateKind[BucketProps, Bucket]{
		LocalVariantOf: bucketType, Doc: "A bucket on this machine. Who may reach it from elsewhere, what becomes of objects in time, and who is told of them has no effect.",
		Props: bucketTable, Default: bucketKind.WithDefaults, Check: here.Lax(bucketKind.CheckAll, "notifications"), API: kind.API{Source: source},
		Delete: func(_ context.Context, s bucketSite) error {
			return here.R2().Remove(s.Dev, s.Dir, s.Owner, string(s.Last.Name))
		},
	}, func(_, name string, want BucketProps) Bucket {
		return Bucket{Name: Name(cmp.Or(want.Name, name)), Jurisdiction: *want.Jurisdiction}
	}, func(b Bucket) (id, name string) { return "", string(b.Name) }, "name", "jurisdiction")}
}
