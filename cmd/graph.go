package cmd

import (
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/render"
)

func graphCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "graph", Usage: "print what the program declares, without reading anything", ArgsUsage: "[TARGET]",
		Description: "One line for each resource: address, kind, and after ← what it needs. With --json it is the whole graph\n" +
			"document, which deploy reads back.\n\n" + loader.TargetHelp,
		UsageText: `graph                           what is declared here
graph --dot | dot -Tsvg > graph.svg
graph --json > graph.json && athanor deploy graph.json`,
		Flags:  project.StageFlags(&cli.BoolFlag{Name: "dot", Usage: "write the Graphviz language"}),
		Before: untrusted.Reads,
		Action: func(c *cli.Context) error { return printGraph(o, c) },
	}
}

func printGraph(o *session.Opener, c *cli.Context) error {
	s, src, err := o.Begin(c, 0)
	if err != nil {
		return err
	}
	g, err := s.Evaluate(c.Context, src)
	if err != nil {
		return o.OrDelegate(c, src, 0, err)
	}
	switch {
	case o.AsJSON:
		return o.Document(g)
	case c.Bool("dot"):
		return render.GraphDOT(o.Out, g)
	default:
		return render.GraphList(o.Out, g)
	}
}
