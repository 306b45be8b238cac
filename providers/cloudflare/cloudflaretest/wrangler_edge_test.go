package cloudflaretest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/hyperdrive"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// wranglerHyperdrive: a configuration that Cloudflare's own client has made is what one declares, but for the password that
// nobody can read; and it lists, changes and deletes what it finds here.
func wranglerHyperdrive(t *testing.T) {
	t.Parallel()
	s := Start(t)
	wrangler(t, s, "hyperdrive", "create", "shop-test-orders", "--connection-string", "postgres://app:hunter2@db.example:5433/shop", "--max-age", "120")
	if have := s.Password("shop-test-orders"); have != "hunter2" {
		t.Errorf("the password is %q", have)
	}
	kind := hyperdrive.Service().Kinds[0]
	declared := object{
		"origin":  object{"scheme": "postgres", "host": "db.example", "port": int64(5433), "database": "shop", "user": "app", "password": "hunter2"},
		"caching": object{"maxAge": "2m"},
	}
	look, err := kind.Look(t.Context(), s.Job(t, kind, declared, nil))
	if err != nil || look.Absent || slices.ContainsFunc(look.Steps, func(step reconcile.Step) bool { return step.Path != tree.Path("origin.password") }) {
		t.Errorf("%+v, %v", look, err)
	}
	if listed := wrangler(t, s, "hyperdrive", "list"); !strings.Contains(listed, "shop-test-orders") || !strings.Contains(listed, "db.example") {
		t.Errorf("wrangler lists\n%s", listed)
	}
	id := look.Identity
	wrangler(t, s, "hyperdrive", "update", id, "--origin-user", "reader", "--origin-password", "hunter3")
	shown := s.Do(t, http.MethodGet, "/accounts/ACCOUNT/hyperdrive/configs/"+id, nil).(object)
	if origin := shown["origin"].(object); origin["user"] != "reader" || origin["host"] != "db.example" || s.Password("shop-test-orders") != "hunter3" {
		t.Errorf("wrangler makes it %v", shown)
	}
	wrangler(t, s, "hyperdrive", "delete", id)
	if len(s.world.drives) != 0 {
		t.Errorf("%d configurations are left", len(s.world.drives))
	}
}

// wranglerWorkflows: Cloudflare's own client reads Workflows here, and deletes them.
func wranglerWorkflows(t *testing.T) {
	t.Parallel()
	s := Start(t)
	s.AddScript("shop")
	s.Do(t, http.MethodPut, "/accounts/ACCOUNT/workflows/checkout", object{"script_name": "shop", "class_name": "Checkout"})
	if listed := wrangler(t, s, "workflows", "list"); !strings.Contains(listed, "checkout") || !strings.Contains(listed, "Checkout") {
		t.Errorf("wrangler lists\n%s", listed)
	}
	wrangler(t, s, "workflows", "delete", "checkout")
	if len(s.world.flows) != 0 {
		t.Errorf("%d Workflows are left", len(s.world.flows))
	}
}
