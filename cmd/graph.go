package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/token"
)

func (a *app) graphCommand() *cli.Command {
	return &cli.Command{
		Name: "graph", Usage: "print what the program declares, without reading anything", ArgsUsage: "[TARGET]",
		Description: "One line for each resource: address, kind, and after ← what it needs. With --json it is the whole graph\n" +
			"document, which deploy reads back.\n\n" + targetHelp,
		UsageText: `graph                           what is declared here
graph --dot | dot -Tsvg > graph.svg
graph --json > graph.json && athanor deploy graph.json`,
		Flags:  stageFlags(&cli.BoolFlag{Name: "dot", Usage: "write the Graphviz language"}),
		Action: a.graphs,
	}
}

func (a *app) graphs(c *cli.Context) error {
	s, src, err := a.begin(c, 0)
	if err != nil {
		return err
	}
	if src.goMain {
		return a.delegate(c, src, 0)
	}
	g, err := a.load(c.Context, src, s.stage.Name, s.config)
	if err != nil {
		return err
	}
	switch {
	case a.asJSON:
		return a.document(g)
	case c.Bool("dot"):
		return dot(a.out, g)
	default:
		return list(a.out, g)
	}
}

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

func dot(w io.Writer, g *engine.Graph) error {
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

func list(w io.Writer, g *engine.Graph) error {
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
