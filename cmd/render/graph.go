package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// needs are the addresses that a resource refers to or depends on.
func needs(r engine.Resource) ([]string, error) {
	uses, err := token.Refs(r.Props)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Address, err)
	}
	addrs := slices.Clone(r.Options.DependsOn)
	for _, u := range uses {
		if u.Ref.Address != "" {
			addrs = append(addrs, u.Ref.Address)
		}
	}
	slices.Sort(addrs)
	return slices.Compact(addrs), nil
}

// GraphDOT writes a graph in the language of Graphviz.
func GraphDOT(w io.Writer, g *engine.Graph) error {
	g = cleaned(g)
	fmt.Fprintln(w, "digraph athanor {\n  rankdir=LR;\n  node [shape=box];")
	for _, r := range g.Resources {
		fmt.Fprintf(w, "  %q [label=\"%s\\n%s\"];\n", r.Address, r.Address, r.Kind)
		addrs, err := needs(r)
		if err != nil {
			return err
		}
		for _, n := range addrs {
			fmt.Fprintf(w, "  %q -> %q;\n", r.Address, n)
		}
	}
	fmt.Fprintln(w, "}")
	return nil
}

// GraphList writes a line for each resource of a graph.
func GraphList(w io.Writer, g *engine.Graph) error {
	g = cleaned(g)
	addresses, kinds := 0, 0
	for _, r := range g.Resources {
		addresses, kinds = max(addresses, len(r.Address)), max(kinds, len(r.Kind))
	}
	for _, r := range g.Reads {
		addresses, kinds = max(addresses, len(r.Address)), max(kinds, len(r.Kind))
	}
	for _, r := range g.Resources {
		addrs, err := needs(r)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%-*s  %s", addresses, r.Address, r.Kind)
		if len(addrs) > 0 {
			line = fmt.Sprintf("%-*s  %-*s  ← %s", addresses, r.Address, kinds, r.Kind, strings.Join(addrs, ", "))
		}
		fmt.Fprintln(w, line)
	}
	for _, r := range g.Reads {
		fmt.Fprintf(w, "%-*s  %-*s  (read only)\n", addresses, r.Address, kinds, r.Kind)
	}
	return nil
}
