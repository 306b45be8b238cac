package engine_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/engine"
)

// hashed ends names that are made up, of hashes and of the order in which objects were made.
var hashed = regexp.MustCompile(`-([a-z0-9]{8}|\d+)\b`)

// needs are what a plan needs, by action: on what, sorted and each once, the hashes of names left out.
func needs(t *testing.T, p *engine.Plan) map[string]string {
	t.Helper()
	on := map[string]map[string]bool{}
	for _, need := range engine.Needs(t.Context(), p) {
		for _, action := range need.Actions {
			if on[action] == nil {
				on[action] = map[string]bool{}
			}
			if len(need.Resources) == 0 {
				on[action]["everything"] = true
			}
			for _, r := range need.Resources {
				on[action][hashed.ReplaceAllString(r, "-#")] = true
			}
		}
	}
	all := map[string]string{}
	for action, resources := range on {
		all[action] = strings.Join(slices.Sorted(maps.Keys(resources)), " ")
	}
	return all
}

func TestNeeds(t *testing.T) {
	b := newBench(t)
	expect := func(p *engine.Plan, want map[string]string) {
		t.Helper()
		if have := needs(t, p); !maps.Equal(have, want) {
			t.Errorf("%s\nneeds %v\nwant  %v", actions(p), have, want)
		}
	}
	g := graph(
		res("a", m{"color": "red"}), res("pot", m{"name": "pot", "peer": "⟦a.name⟧"}), kind("Assigned", res("c", m{})),
		kind("Child", res("d", m{"after": "⟦a.name⟧"})), kind("Child", res("e", m{"after": "⟦c.id⟧"})), kind("Global", res("f", m{})), kind("Note", res("n", m{"text": "x"})),
	)
	// Nothing is there: all is looked for and made. The name of what the cloud names is not known, nor what depends on it.
	expect(b.plan(g), map[string]string{
		"whoami": "everything", "discover": "everything", "list": "everything",
		"look": ":* :pot :shop-test-a-# capital:shop-test-f-#", "create": ":* :pot :shop-test-a-# capital:shop-test-f-#", "pass": "shop-test-a-#",
	})
	b.deploy(g)
	// All is there: it is read, by what is in state, and nothing else.
	expect(b.plan(g), map[string]string{
		"whoami": "everything", "look": ":pot :shop-test-a-# :thing:Assigned-# capital:shop-test-f-#",
	})
	// One is changed, one replaced, one no longer declared.
	g.Resources[0].Props["color"] = "blue"
	g.Resources[1].Props["shape"] = "round"
	g.Resources = slices.Delete(g.Resources, 5, 6)
	p := b.plan(g)
	expect(p, map[string]string{
		"whoami": "everything", "look": ":pot :shop-test-a-# :thing:Assigned-# capital:shop-test-f-#", "set": ":shop-test-a-#",
		"create": ":pot", "delete": ":pot capital:shop-test-f-#", "pass": "shop-test-a-#",
	})
	if names := fmt.Sprint(needs(t, b.plan(graph(res("a", m{"color": "blue", "shape": "x"}))))); !strings.Contains(names, "create::shop-test-a-#") {
		t.Errorf("replaced: %s", names)
	}
	if engine.Needs(t.Context(), &engine.Plan{}) != nil {
		t.Error("a plan that was read from a file knows what it needs")
	}
}
