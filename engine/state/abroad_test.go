package state_test

import (
	"testing"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// TestAbroad: an entry in another stage names what moved with it alone, and its digests are those that this stage would make of
// what was written.
func TestAbroad(t *testing.T) {
	key := func(stack string) *seal.Key {
		k, err := seal.LoadOrMake(t.TempDir(), stack, "test")
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	from, to := key("shop"), key("zoo")
	digest := func(k *seal.Key, addr, path string, v any) string {
		return k.Digest("written "+addr+" "+path, tree.Canonical(v))
	}
	e := &state.Entry{
		Address: "a", Birth: "old", Version: 7, Needs: []string{"b", "c"}, Former: []string{"old"}, MovingTo: "zoo/test:n",
		Cut:   map[string][]tree.Path{"b": {"x"}, "c": {"y"}},
		Props: map[string]any{"password": "p", "token": "t", "lost": "now"},
		Generations: []*state.Generation{{Number: 1, WriteDigests: map[tree.Path]string{
			"password": digest(from, "a", "password", "p"), "token": digest(from, "old", "token", "t"), "lost": digest(from, "a", "lost", "before"),
		}}},
	}
	e.SetOptions(&graph.Options{DependsOn: []string{"b", "c"}, DeletedWith: "c"})
	got := e.Abroad("n", map[string]string{"a": "n", "b": "m"}, from, to)
	if got.Address != "n" || got.Birth != "old" || got.Version != 0 || len(got.Former) > 0 || got.MovingTo != "" {
		t.Errorf("%+v", got)
	}
	if len(got.Needs) != 1 || got.Needs[0] != "m" || len(got.Options().DependsOn) != 1 || got.Options().DependsOn[0] != "m" || got.Options().DeletedWith != "" ||
		len(got.Cut) != 1 || got.Cut["m"] == nil {
		t.Errorf("names what stays: %+v", got)
	}
	written := got.Generations[0].WriteDigests
	if len(written) != 2 || written["password"] != digest(to, "n", "password", "p") || written["token"] != digest(to, "n", "token", "t") {
		t.Errorf("digests %v", written)
	}
	if e.Address != "a" || len(e.Needs) != 2 || len(e.Cut) != 2 || len(e.Generations[0].WriteDigests) != 3 {
		t.Errorf("the original changed: %+v", e)
	}
}
