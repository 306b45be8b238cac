package plan

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// declaredAs is a node of a declaration with earlier addresses.
func declaredAs(addr string, from ...string) *Node {
	return &Node{Declaration: Declaration{Address: addr, Decl: &graph.Resource{Address: addr, Options: graph.Options{RenamedFrom: from}}}}
}

func entriesAt(addresses ...string) map[string]*state.Entry {
	entries := map[string]*state.Entry{}
	for _, a := range addresses {
		entries[a] = &state.Entry{Address: a, Birth: a, Generations: []*state.Generation{{Number: 1, State: statestore.Live}}}
	}
	return entries
}

// TestRenames: entries follow the declarations that name their addresses, all at once.
func TestRenames(t *testing.T) {
	t.Parallel()
	done := entriesAt("b")
	done["b"].Former = []string{"a"}
	for name, c := range map[string]struct {
		declared []*Node
		entries  map[string]*state.Entry
		moves    map[string]string
		problems int
	}{
		"one":                   {[]*Node{declaredAs("b", "a")}, entriesAt("a"), map[string]string{"a": "b"}, 0},
		"a chain":               {[]*Node{declaredAs("c", "b"), declaredAs("b", "a")}, entriesAt("a", "b"), map[string]string{"a": "b", "b": "c"}, 0},
		"a swap":                {[]*Node{declaredAs("a", "b"), declaredAs("b", "a")}, entriesAt("a", "b"), map[string]string{"a": "b", "b": "a"}, 0},
		"done before":           {[]*Node{declaredAs("b", "a")}, done, map[string]string{}, 0},
		"the address is taken":  {[]*Node{declaredAs("b", "a")}, entriesAt("a", "b"), map[string]string{}, 0},
		"two want the same":     {[]*Node{declaredAs("b", "a"), declaredAs("c", "a")}, entriesAt("a"), map[string]string{"a": "b"}, 1},
		"nothing was there":     {[]*Node{declaredAs("b", "a")}, nil, map[string]string{}, 0},
		"the second name is it": {[]*Node{declaredAs("c", "b", "a")}, entriesAt("a"), map[string]string{"a": "c"}, 0},
	} {
		moves, problems := Renames(c.declared, c.entries)
		if !maps.Equal(moves, c.moves) || len(problems) != c.problems {
			t.Errorf("%s: %v, %v", name, moves, problems)
		}
	}
}

// TestSelection: targets come with what they need, exclusions take along what needs them.
func TestSelection(t *testing.T) {
	t.Parallel()
	a, b, c := declaredAs("a"), declaredAs("b"), declaredAs("c")
	b.Needs, a.users = []string{"a"}, []*Node{b}
	c.Needs, b.users = []string{"b"}, []*Node{c}
	all, at := []*Node{a, b, c}, map[string]*Node{"a": a, "b": b, "c": c}
	for _, tt := range []struct{ targets, excludes, want []string }{
		{[]string{"b"}, nil, []string{"a", "b"}},
		{[]string{"*"}, []string{"b"}, []string{"a"}},
		{nil, []string{"c"}, []string{"a", "b"}},
		{[]string{"c"}, []string{"a"}, nil},
	} {
		selected := selection(all, at, tt.targets, tt.excludes)
		var have []string
		for n := range selected {
			have = append(have, n.Address)
		}
		slices.Sort(have)
		if !slices.Equal(have, tt.want) {
			t.Errorf("targets %v, excludes %v: %v, want %v", tt.targets, tt.excludes, have, tt.want)
		}
	}
}

// TestGuards: what is protected, or holds data that nobody permitted to delete, is neither deleted nor replaced.
func TestGuards(t *testing.T) {
	t.Parallel()
	deleted := func(o graph.Options) *Node {
		entry := &state.Entry{Address: "a"}
		entry.SetOptions(&o)
		return &Node{
			Declaration: Declaration{Address: "a"}, Tracked: Tracked{Entry: entry},
			Decision: Decision{Plan: &Planned{Action: Delete}},
		}
	}
	for _, tt := range []struct {
		why   string
		g     Guards
		n     *Node
		holds bool
		want  error
	}{
		{"nothing to guard", Guards{}, deleted(graph.Options{}), false, nil},
		{"protected", Guards{}, deleted(graph.Options{Protect: true}), false, ErrProtected},
		{"protected, although its data may go", Guards{AllowDelete: []string{"a"}}, deleted(graph.Options{Protect: true}), true, ErrProtected},
		{"data", Guards{}, deleted(graph.Options{}), true, reconcile.ErrHoldsData},
		{"data that the command lets go", Guards{AllowDelete: []string{"*"}}, deleted(graph.Options{}), true, nil},
		{"data that the program let go", Guards{}, deleted(graph.Options{AllowDelete: true}), true, nil},
	} {
		if err := tt.g.refuses(tt.n, tt.holds); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.why, err, tt.want)
		}
	}
}
