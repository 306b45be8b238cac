package r2

import (
	"cmp"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/reconcile"
)

// Local are the variants that dev takes.
func Local() []reconcile.Any {
	return []reconcile.Any{reconcile.Erase(here.Kept[BucketProps, Bucket]{
		Stands: bucketType, Doc: "A bucket on this machine. Who may reach it from elsewhere, what becomes of objects in time, and who is told of them has no effect.",
		Fixed: []string{"name", "jurisdiction"}, Source: source, Check: here.Lax(bucketKind.Check, "notifications"), Defaults: bucketKind.Defaults,
		Make: func(_, name string, want BucketProps) Bucket {
			return Bucket{Name: Name(cmp.Or(want.Name, name)), Jurisdiction: *want.Jurisdiction}
		},
		Of: func(b Bucket) (id, name string) { return "", string(b.Name) },
		Forget: func(dev *reconcile.Dev, dir string, m reconcile.Mark, b Bucket) error {
			return here.R2().Remove(dev, dir, m, string(b.Name))
		},
	}.Kind())}
}
