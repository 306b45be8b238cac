package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

// TestIdlePatterns: a pattern that chooses and matches nothing is refused, all of them at once, and one that permits is warned of.
func TestIdlePatterns(t *testing.T) {
	t.Parallel()
	declared, left := []*Node{declaredAs("net/vpc"), declaredAs("a")}, []*Node{declaredAs("old/queue")}
	x := &Index{Nodes: map[string]*Node{}, Sorted: declared}
	for _, n := range declared {
		x.Nodes[n.Address] = n
	}
	for _, c := range []struct {
		options PlanOptions
		wrong   []string
	}{
		{PlanOptions{Target: []string{"net/*", "a", "old/**"}, Exclude: []string{"*/vpc"}, Replace: []string{"a"}}, nil},
		{PlanOptions{Target: []string{"**"}, Exclude: []string{"*", "**"}}, nil},
		{PlanOptions{Target: []string{"nat/*", "net/vpc"}}, []string{`--target "nat/*" matches nothing that is declared or in state`, "did you mean net/*?"}},
		{PlanOptions{Exclude: []string{"b", "*/vpn"}}, []string{`--exclude "b" is neither declared nor in state`, "did you mean a?", `--exclude "*/vpn" matches nothing`}},
		{PlanOptions{Exclude: []string{"old/*queue", "old/quee"}}, []string{`--exclude "old/quee" is neither`, "did you mean old/queue?"}},
		{PlanOptions{Replace: []string{"what"}}, []string{`--replace "what" is neither declared nor in state`, "`athanor graph` lists what is declared, `athanor state list` what is in state"}},
		{PlanOptions{AllowDelete: []string{"b"}, Dev: &Dev{Remote: []string{"b"}}}, nil},
	} {
		_, err := x.Choose(c.options, left)
		if (err != nil) != (c.wrong != nil) {
			t.Errorf("%+v: %v", c.options, err)
		}
		for _, text := range c.wrong {
			if said := fmt.Sprint(err, reconcile.Hints(err)); err != nil && !strings.Contains(said, text) {
				t.Errorf("%+v: %s does not say %s", c.options, said, text)
			}
		}
	}
	have := IdleWarnings(PlanOptions{
		AllowDelete: []string{"old/*", "new/*", "**"}, Dev: &Dev{Remote: []string{"a", "b"}},
	}, declared, left)
	want := []string{"--allow-delete new/* matches nothing that is declared or in state", "--remote b matches nothing that is declared or in state"}
	if !slices.Equal(have, want) {
		t.Errorf("warnings %q, want %q", have, want)
	}
	if none := IdleWarnings(PlanOptions{Target: []string{"b"}}, declared, left); none != nil {
		t.Errorf("warnings %q of nothing that permits", none)
	}
}
