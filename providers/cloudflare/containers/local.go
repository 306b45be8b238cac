package containers

import (
	"cmp"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Local are the variants that dev takes. No image runs on this machine: the Worker starts as ever, and its objects find no container.
func Local() []reconcile.Any {
	return []reconcile.Any{here.Kept(kind.StateKind[ContainerProps, Container]{
		LocalVariantOf: containerType,
		Doc: "A container that does not run on this machine. The Worker and its Durable Objects start without it, and ctx.container of an object is " +
			"undefined: deploy a stage to try the image, or run it by hand.",
		Props: containerTable, Default: containerKind.WithDefaults, Check: here.Lax(containerKind.CheckAll, tree.Path("script")),
		API: kind.API{Source: source},
	}, func(id, name string, want ContainerProps) Container {
		return Container{ID: id, Name: cmp.Or(want.Name, name), Image: want.Image}
	}, func(c Container) (id, name string) { return c.ID, c.Name }, "name", "script", "class")}
}
