package workers

import (
	"context"
	"net/http"

	"github.com/athanor-dev/athanor/providers/cloudflare"
)

// deleteWorker removes what leads to the Worker, and then the Worker. One that has classes is deleted with all that their
// objects hold.
func deleteWorker(ctx context.Context, site workerSite) error {
	live, err := observeWorker(ctx, site)
	if err != nil {
		return err
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
