package workflows

import (
	"cmp"
	"context"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Local are the variants that dev takes. A Worker that is bound to the Workflow begins its instances, and they run in the Worker
// that has the class.
func Local() []reconcile.Any {
	return []reconcile.Any{here.Kept(kind.StateKind[WorkflowProps, Workflow]{
		LocalVariantOf: workflowType, Doc: "A Workflow on this machine, whose instances are kept. Schedules and the limit of steps have no effect.",
		Props: workflowTable, Default: workflowKind.WithDefaults, Check: here.Lax(workflowKind.CheckAll, tree.Path("script")), API: kind.API{Source: source},
		Delete: func(_ context.Context, s workflowSite) error {
			return here.RemoveInstances(s.Dev, s.Dir, s.Owner, string(s.Last.Name))
		},
	}, func(id, name string, want WorkflowProps) Workflow {
		return Workflow{ID: id, Name: Name(cmp.Or(want.Name, name)), Script: want.Script, Class: want.Class}
	}, func(w Workflow) (id, name string) { return w.ID, string(w.Name) }, "name")}
}
