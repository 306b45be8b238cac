package page_test

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/service/page"
	"github.com/athanor-dev/athanor/statestore"
)

// TestChanges reads runs whose events are not simple pairs: an update that turned out to be none is one change, a dependent that
// ran ahead is on the critical path all the same, and so is what is at work.
func TestChanges(t *testing.T) {
	store := newStore(t)
	const run = "20261123-110000-AAAAAA"
	w := begin(t, store, prod, run, "grace")
	event := func(kind, address, action, status string) map[string]any {
		return map[string]any{"type": kind, "address": address, "kind": "k", "action": action, "status": status}
	}
	w.commit(statestore.Batch{Put: []statestore.Row{row("a", "k", "ia"), row("b", "k", "ib", "a"), row("c", "k", "ic", "b"), row("d", "k", "id")}},
		event("start", "a", "update", "running"), event("start", "b", "create", "running"), event("done", "b", "create", "done"),
		event("done", "a", "unchanged", "done"), event("start", "c", "create", "running"), event("start", "d", "create", "running"),
	)
	server := serve(t, page.Settings{Store: store})
	_, body := get(t, server, "/s/shop/prod/runs/"+run)
	for _, want := range []string{"2 done, 2 running", "critical path: a, b, c<", `id="c-a-unchanged"`} {
		if !strings.Contains(body, want) {
			t.Errorf("without %q", want)
		}
	}
	if strings.Contains(body, `id="c-a-update"`) {
		t.Error("the update that was none is still there")
	}
	w.commit(statestore.Batch{Finish: statestore.Cancelled}, event("done", "c", "create", "done"), event("done", "d", "create", "interrupted"))
	if _, body = get(t, server, "/s/shop/prod/resource?address=a"); strings.Contains(body, "update: running") || !strings.Contains(body, "unchanged") {
		t.Error("the history of the resource says that it is updated")
	}
	if _, body = get(t, server, "/s/shop/prod/runs/"+run); !strings.Contains(body, "cancelled") || !strings.Contains(body, "interrupted") {
		t.Error("the run did not end")
	}
}
