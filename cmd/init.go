package cmd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/cli"
)

func (a *app) initCommand() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "write a first stack", ArgsUsage: "[DIRECTORY]",
		Description: "Writes athanor.yaml with a small stack that needs no cloud account, or with --go a Go program. Overwrites\nnothing.",
		UsageText: `init                            in this directory
init shop --go                  a Go program in shop`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "go", Usage: "write a Go program instead of YAML"},
			&cli.StringFlag{Name: "name", Usage: "call the stack `NAME` (default: the directory's name)"},
		},
		Action: a.initialize,
	}
}

func (a *app) initialize(c *cli.Context) error {
	if c.NArg() > 1 {
		return fmt.Errorf("unexpected argument %q", c.Args().Get(1))
	}
	given := c.Args().First()
	dir := absolute(given)
	name := c.String("name")
	if name == "" {
		name = stagePart(filepath.Base(dir))
	}
	if err := athanor.CheckStack(name); err != nil {
		return hint(err, "--name my-stack")
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
		return fmt.Errorf("init: %s: %w", file, withoutPath(err))
	}
	if _, err := io.WriteString(f, text); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "wrote %s\n", filepath.Join(given, filepath.Base(file)))
	if c.Bool("go") {
		fmt.Fprintf(a.err, "next: go mod init %s && go get github.com/athanor-dev/athanor && go run . deploy\n", name)
		return nil
	}
	fmt.Fprintln(a.err, strings.TrimSpace("next: athanor deploy "+c.Args().First()))
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
		Content: "<h1>NAME " + id.Hex + "</h1>\n",
	})
	s.Output("page", page.Path)
	return nil
}
`
