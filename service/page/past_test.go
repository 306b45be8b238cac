package page

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/statestore"
)

// asItIs shows the text of an error as it is.
func asItIs(text string) string { return text }

// eventsOf are the events of a run that updated resources.
func eventsOf(t testing.TB, addresses []string) []statestore.Event {
	t.Helper()
	var events []statestore.Event
	for _, address := range addresses {
		for _, e := range []map[string]any{
			{"type": "start", "address": address, "kind": "k", "action": "update", "status": "running"},
			{"type": "done", "address": address, "kind": "k", "action": "update", "status": "done", "paths": []string{"of " + address}},
		} {
			body, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, statestore.Event{Seq: uint64(len(events) + 1), Body: body})
		}
	}
	return events
}

// TestChangesOf finds the changes of one resource without the others, whatever it is called: they are those of the whole run.
func TestChangesOf(t *testing.T) {
	addresses := []string{
		"a", "a/a", "a.b", "b", "net/subnet-a", "net/subnet-ab", `"><script>`, "ü", "日本", "line\nbreak", "tab\t", `back\slash`, "u003c", "<", "&", "\u2028", "start", "k",
	}
	events := eventsOf(t, addresses)
	whole := outcomeOf(events, asItIs)
	for _, address := range append(addresses, "", "nobody", "net") {
		want := slices.DeleteFunc(slices.Clone(whole.changes), func(c *change) bool { return c.Address != address })
		got := changesOf(events, address, asItIs)
		if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%q has %d changes, and %d in the whole run", address, len(got), len(want))
		}
	}
}

// TestChangesOfDecodeNoOthers counts the work for one resource of a run of 10,000: what it allocates is that of its own events.
func TestChangesOfDecodeNoOthers(t *testing.T) {
	var addresses []string
	for i := range 10_000 {
		addresses = append(addresses, fmt.Sprintf("net%d/r%d", i%40, i))
	}
	events := eventsOf(t, addresses)
	if n := testing.AllocsPerRun(1, func() {
		if found := changesOf(events, "net39/r9999", asItIs); len(found) != 1 {
			t.Errorf("%d changes", len(found))
		}
	}); n > 1000 { // one event that is decoded takes more than 10
		t.Errorf("%.0f allocations", n)
	}
}
