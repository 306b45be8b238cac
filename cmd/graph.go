package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/token"
)

func (a *app) graphCommand() *cli.Command {
	return &cli.Command{
		Name: "graph", Usage: "print what the program declares, without looking at anything", ArgsUsage: "[TARGET]",
		Description: "With --json the whole graph document, which deploy reads back (`athanor graph --json | athanor deploy -`); " +
			"with --dot for Graphviz.",
		Flags:  shared(&cli.BoolFlag{Name: "dot", Usage: "write the Graphviz language"}),
		Action: a.graphs,
	}
}

func (a *app) graphs(c *cli.Context) error {
	s, src, err := a.begin(c)
	if err != nil {
		return err
	}
	if src.goMain {
		return a.delegate(c, src)
	}
	g, err := a.load(c.Context, src, s.stage.Name, s.config)
	if err != nil {
		return err
	}
	switch {
	case c.Bool("json"):
		enc := json.NewEncoder(a.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		return enc.Encode(g)
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
		addrs = append(addrs, u.Ref.Address)
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
	width := 0
	for _, r := range g.Resources {
		width = max(width, len(r.Address))
	}
	for _, r := range g.Resources {
		addrs, err := needs(r)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%-*s  %s", width, r.Address, r.Kind)
		if len(addrs) > 0 {
			line += "  ← " + strings.Join(addrs, ", ")
		}
		fmt.Fprintln(w, line)
	}
	return nil
}

func (a *app) initCommand() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "write a first stack", ArgsUsage: "[DIRECTORY]",
		Description: "Writes athanor.yaml with a small stack that needs no cloud account, or with --go a Go program. Overwrites nothing.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "go", Usage: "write a Go program instead of YAML"},
			&cli.StringFlag{Name: "name", Usage: "call the stack `NAME` (default: the directory's name)", DefaultText: " "},
		},
		Action: a.initialize,
	}
}

func (a *app) initialize(c *cli.Context) error {
	dir := c.Args().First()
	if dir == "" {
		dir = "."
	}
	dir = absolute(dir)
	name := c.String("name")
	if name == "" {
		name = stagePart(filepath.Base(dir))
	}
	if name == "" || name != stagePart(name) {
		return hint(fmt.Errorf("stack name %q: use a-z, 0-9 and -", name), "--name my-stack")
	}
	file, text := filepath.Join(dir, "athanor.yaml"), strings.ReplaceAll(firstYAML, "NAME", name)
	if c.Bool("go") {
		file, text = filepath.Join(dir, "main.go"), strings.ReplaceAll(firstGo, "NAME", name)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	if _, err := io.WriteString(f, text); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "wrote %s\n", file)
	if c.Bool("go") {
		fmt.Fprintf(a.err, "next: go mod init %s && go get github.com/athanor-dev/athanor && go run . deploy\n", name)
		return nil
	}
	fmt.Fprintf(a.err, "next: athanor deploy %s\n", c.Args().First())
	return nil
}

const firstYAML = `# A stack: what is declared here is what there will be. ` + "`athanor kinds`" + ` lists what can be declared.
stack: NAME

resources:
  id:
    kind: random.ID
    props: {bytes: 4}

  page:
    kind: local.File
    props:
      path: public/index.html
      content: "<h1>NAME ${id.hex}</h1>\n"

outputs:
  page: ${page.path}
`

const firstGo = `// Command NAME is a stack: what it declares is what there will be.
package main

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/providers/random"
)

func main() { cmd.Main(stack, cmd.Stack("NAME")) }

func stack(s *athanor.Stack) error {
	id := random.NewID(s, "id", random.IDProps{Bytes: new(4)})
	page := local.NewFile(s, "page", local.FileProps{
		Path:    "public/index.html",
		Content: new("<h1>NAME " + id.Hex + "</h1>\n"),
	})
	s.Output("page", page.Path)
	return nil
}
`
