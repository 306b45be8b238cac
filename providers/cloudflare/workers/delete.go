package workers

import (
	"context"
	"fmt"
	"net/http"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

// deleteWorker takes away what leads to the Worker, and then the Worker. One that has classes is deleted with all that
// their objects hold, which needs leave where there are any.
func deleteWorker(ctx context.Context, site workerSite) error {
	live, err := observeWorker(ctx, site)
	if err != nil {
		return err
	}
	if live.objects && !site.MayDelete {
		return reconcile.WithHint(fmt.Errorf("worker %s: %w: Durable Objects", live.name, reconcile.ErrHoldsData),
			"set forceDestroy, or allow the deletion of its data")
	}
	for _, name := range sortedKeys(live.domains) {
		if err := deleteDomain(ctx, site.Cloud, live.account, live.domains[name].id); err != nil {
			return err
		}
	}
	for _, pattern := range sortedKeys(live.routes) {
		if err := deleteRoute(ctx, site.Cloud, live.routes[pattern]); err != nil {
			return err
		}
	}
	force := ""
	if len(live.classes) > 0 {
		force = "?force=true"
	}
	return cloudflare.Call(ctx, site.Cloud, live.request(http.MethodDelete, force, nil), nil)
}
