package planner

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
)

// TestFamilyKinds: a generation in state says what its own object is. What no generation made may be of each kind of the family that the
// address has, in state or in the program, also under an earlier name.
func TestFamilyKinds(t *testing.T) {
	t.Parallel()
	family := &reconcile.Family{
		Prefix: "Any::", Types: func() ([]string, error) { return nil, nil },
		Kind: func(string) (reconcile.Any, error) { return nil, reconcile.ErrNoKind },
	}
	nothing := func(context.Context, reconcile.Scope) ([]reconcile.Found, error) { return nil, nil }
	nowhere := func(context.Context, any) (reconcile.Cloud, error) { return nil, errors.New("nothing is opened") }
	catalog, err := reconcile.NewCatalog(reconcile.Provider{Name: "cloud", Family: family, Discover: nothing, Open: nowhere})
	if err != nil {
		t.Fatal(err)
	}
	entry := func(address, birth string, former []string, kinds ...string) *state.Entry {
		e := &state.Entry{Address: address, Birth: birth, Former: former}
		for i, kind := range kinds {
			e.Generations = append(e.Generations, &state.Generation{Number: uint64(i + 1), Kind: kind})
		}
		return e
	}
	records := map[string]*state.Entry{
		"moved":  entry("moved", "born", []string{"once"}, "Any::Sort"),
		"became": entry("became", "became", nil, "Any::Sort", "cloud.Disk"),
		"plain":  entry("plain", "plain", nil, "cloud.Disk"),
		"turned": entry("turned", "turned", nil, "cloud.Disk"),
	}
	program := &Graph{Resources: []graph.Resource{
		{Address: "new", Kind: "Any::Other", Options: graph.Options{RenamedFrom: []string{"old"}}},
		{Address: "turned", Kind: "Any::Other"},
		{Address: "plain", Kind: "cloud.Disk"},
	}}
	kinds := familyKindsOf(catalog, records, program)
	for _, c := range []struct {
		address string
		number  uint64
		want    []string
	}{
		{"moved", 1, []string{"Any::Sort"}},
		{"born", 1, []string{"Any::Sort"}},
		{"once", 2, []string{"Any::Sort"}},
		{"became", 1, []string{"Any::Sort"}},
		{"became", 2, nil},
		{"became", 3, []string{"Any::Sort"}},
		{"plain", 1, nil},
		{"plain", 2, nil},
		{"turned", 1, nil},
		{"turned", 2, []string{"Any::Other"}},
		{"new", 1, []string{"Any::Other"}},
		{"old", 1, []string{"Any::Other"}},
		{"nobody", 1, nil},
	} {
		if have := kinds.of(reconcile.Mark{Address: c.address, Generation: c.number}); !slices.Equal(have, c.want) {
			t.Errorf("%s, generation %d: %v, want %v", c.address, c.number, have, c.want)
		}
	}
}
