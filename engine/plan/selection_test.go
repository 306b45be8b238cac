package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

// TestContradictingPatterns refuses a pattern that chooses resources all of which other patterns leave out. A plan that ignored it would
// look as if nothing had to be done.
func TestContradictingPatterns(t *testing.T) {
	t.Parallel()
	declared, left := []*Node{declaredAs("net/vpc"), declaredAs("net/dns"), declaredAs("page")}, []*Node{declaredAs("old/queue")}
	x := &Index{Nodes: map[string]*Node{}, Sorted: declared}
	for _, n := range declared {
		x.Nodes[n.Address] = n
	}
	x.Nodes["page"].Needs, x.Nodes["net/dns"].users = []string{"net/dns"}, []*Node{x.Nodes["page"]}
	for _, c := range []struct {
		options PlanOptions
		wrong   string
	}{
		{PlanOptions{Replace: []string{"page"}, Exclude: []string{"page"}}, `--replace "page" and --exclude "page" contradict each other`},
		{PlanOptions{Replace: []string{"net/*"}, Exclude: []string{"net/dns"}}, ""},
		{PlanOptions{Replace: []string{"net/*"}, Exclude: []string{"net/dns", "net/vpc"}}, `--replace "net/*" and --exclude "net/dns", "net/vpc" contradict`},
		{PlanOptions{Replace: []string{"page"}, Exclude: []string{"*/dns"}}, `--replace "page" and --exclude "*/dns" contradict`},
		{PlanOptions{Replace: []string{"page"}, Target: []string{"net/*"}}, `--replace "page" and --target "net/*" contradict`},
		{PlanOptions{Replace: []string{"net/dns"}, Target: []string{"page"}}, ""},
		{PlanOptions{Replace: []string{"page"}, Target: []string{"net/*", "page"}, Exclude: []string{"old/*"}}, ""},
		{PlanOptions{Target: []string{"page"}, Exclude: []string{"page"}}, `--target "page" and --exclude "page" contradict`},
		{PlanOptions{Target: []string{"old/*", "net/vpc"}, Exclude: []string{"old/queue"}}, `--target "old/*" and --exclude "old/queue" contradict`},
		{PlanOptions{Target: []string{"page", "net/vpc"}, Exclude: []string{"net/dns"}}, `--target "page" and --exclude "net/dns" contradict`},
		{PlanOptions{Target: []string{"net/**"}, Exclude: []string{"page", "net/dns"}}, ""},
	} {
		_, err := x.Choose(c.options, left)
		if (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%+v: %v, want %s", c.options, err, c.wrong)
		}
		if err != nil && len(reconcile.Hints(err)) != 2 {
			t.Errorf("%+v: the hints %q do not say what both do", c.options, reconcile.Hints(err))
		}
	}
	none := &Index{Nodes: map[string]*Node{}}
	if _, err := none.Choose(PlanOptions{Target: []string{"**"}, Exclude: []string{"**"}}, nil); err != nil {
		t.Errorf("of no resource: %v", err)
	}
}

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
		{PlanOptions{Target: []string{"*/*", "a", "old/**"}, Exclude: []string{"*/vpc"}, Replace: []string{"a"}}, nil},
		{PlanOptions{Target: []string{"**"}, Exclude: []string{"*"}}, nil},
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
