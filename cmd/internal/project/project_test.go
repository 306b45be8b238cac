package project_test

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/reconcile"
)

// TestNotAService: what only a service has is refused with the store that is none, without its password, and with the way to one.
func TestNotAService(t *testing.T) {
	for store, want := range map[string]string{
		"": "only a service has approvals", "bolt:x.db": "store bolt:x.db: only a service has approvals",
		"postgres://me:hunter22@db/x": "store postgres://me@db/x: only a service has approvals",
	} {
		_, err := project.Service(nil, store, "has approvals")
		if hints := reconcile.Hints(err); err.Error() != want || len(hints) != 1 || !strings.HasPrefix(hints[0], "athanor login https://HOST") {
			t.Errorf("%q: %v, hints %q", store, err, hints)
		}
	}
}
