package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/gomodule"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/template"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/cmd/render"
)

func initCommand(o *session.Opener) *cli.Command {
	var about strings.Builder
	for _, t := range template.All() {
		fmt.Fprintf(&about, "\n  %-16s  %s", t.Name, t.About)
	}
	return &cli.Command{
		Name: "init", Usage: "write a first stack", ArgsUsage: "[DIRECTORY]",
		Description: `Writes a stack that can be deployed as it is: athanor.yaml with the schema that editors complete and check it by, or
with --go a Go program with its go.mod; and a .gitignore. Prints what to run next. A file that exists is never
overwritten: then nothing is written. Nothing is written outside DIRECTORY, through a link neither.

Templates:` + about.String() + `

The Go program uses the version of athanor that this command is of. A command that is no release takes the checkout
that it was built from, or the one that --module names; go.mod then has a line that replaces the module.`,
		UsageText: `init                            in this directory
init shop --go                  a Go program in shop
init shop --template aws-api    an HTTP API on AWS`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "template", Value: template.All()[0].Name, Usage: "write the template `NAME`; default local"},
			&cli.BoolFlag{Name: "go", Usage: "write a Go program instead of YAML"},
			&cli.StringFlag{Name: "name", Usage: "call the stack `NAME` (default: the directory's name)"},
			&cli.StringFlag{Name: "module", Usage: "with --go: use the checkout of athanor in `DIR`"},
		},
		Action: func(c *cli.Context) error { return initialize(o, c) },
	}
}

func initialize(o *session.Opener, c *cli.Context) error {
	if c.NArg() > 1 {
		return cli.Hint(fmt.Errorf("unexpected argument %q", c.Args().Get(1)), "one DIRECTORY at most; --template NAME chooses what is written")
	}
	given := c.Args().First()
	dir := files.Absolute(given)
	name := c.String("name")
	if name == "" {
		name = project.StagePart(filepath.Base(dir))
	}
	if err := athanor.CheckStack(name); err != nil {
		return cli.Hint(err, "--name my-stack")
	}
	chosen, err := templateOf(c.String("template"))
	if err != nil {
		return err
	}
	files, err := template.Files(chosen.Name, name, c.Bool("go"))
	if err != nil {
		return err
	}
	files[ignoreFile] = project.OwnFolder + "/\n" + files[ignoreFile]
	var module *gomodule.Module
	if c.Bool("go") {
		if module, err = gomodule.For(dir, name, c.String("module"), o.Release.Text()); err == nil {
			maps.Copy(files, module.Files)
		}
	} else {
		files[schemaFile], err = schemaText(o)
	}
	if err != nil {
		return err
	}
	written, err := writeTemplate(dir, files)
	if err != nil {
		return err
	}
	for _, file := range written {
		fmt.Fprintf(o.Err, "wrote %s\n", filepath.Join(given, filepath.FromSlash(file)))
	}
	nextAfterInit(o, chosen, given, module)
	return nil
}

// The files that belong to every stack of a language.
const (
	ignoreFile = ".gitignore"
	schemaFile = "athanor.schema.json"
)

// nextAfterInit prints the commands that deploy what was written, as they can be typed in the directory at hand.
func nextAfterInit(o *session.Opener, t template.Template, given string, module *gomodule.Module) {
	target := ""
	if given != "" && filepath.Clean(given) != "." {
		if strings.HasPrefix(given, "-") {
			given = "./" + given
		}
		target = " " + render.ShellWord(given)
	}
	if module != nil {
		for _, note := range module.Notes {
			fmt.Fprintln(o.Err, note)
		}
		for _, command := range module.Commands {
			if target != "" {
				command = "(cd" + target + " && " + command + ")"
			}
			fmt.Fprintln(o.Err, "next: ", command)
		}
	}
	if t.Provider != "" {
		fmt.Fprintf(o.Err, "it needs credentials of %s; to see what is missing: athanor doctor%s\n", t.Provider, target)
	}
	if t.Packages != "" {
		folder := filepath.Join(given, t.Packages)
		if strings.HasPrefix(folder, "-") {
			folder = "./" + folder
		}
		fmt.Fprintln(o.Err, "next: ", "npm install --prefix "+render.ShellWord(folder))
	}
	fmt.Fprintln(o.Err, "next: ", "athanor deploy"+target)
}

// templateOf finds a template.
func templateOf(name string) (template.Template, error) {
	var names []string
	for _, t := range template.All() {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	err := fmt.Errorf("there is no template %q", name)
	return template.Template{}, cli.HintNearest(err, name, names, "there is "+strings.Join(names, ", "))
}

// schemaText is the file that the first line of athanor.yaml names.
func schemaText(o *session.Opener) (string, error) {
	schema, err := yamlstack.Schema(o.Catalog)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(schema); err != nil {
		return "", err
	}
	return string(render.SafeJSON(text.Bytes())), nil // as the schema command prints it
}

// writeTemplate writes files below a directory, which it creates. It writes all of them or none: a file that exists is an error,
// and so is a link that leads out of the directory. A .gitignore that exists stays as it is.
func writeTemplate(dir string, texts map[string]string) (written []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("init: %s: %w", dir, files.WithoutPath(err))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("init: %s: %w", dir, files.WithoutPath(err))
	}
	defer root.Close()
	names := slices.Sorted(maps.Keys(texts))
	var exist []string
	for _, name := range names {
		_, err := root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("init: %s: %w; nothing was written", filepath.Join(dir, name), files.WithoutPath(err))
		case name == ignoreFile:
			delete(texts, name)
		default:
			exist = append(exist, filepath.Join(dir, name))
		}
	}
	if len(exist) > 0 {
		return nil, cli.Hint(fmt.Errorf("init: %s: %w; nothing was written", strings.Join(exist, ", "), fs.ErrExist),
			"athanor init DIRECTORY writes into another directory")
	}
	for _, name := range names {
		text, ok := texts[name]
		if !ok {
			continue
		}
		if err := writeIn(root, name, text); err != nil {
			for _, file := range written {
				err = errors.Join(err, root.Remove(file))
			}
			return nil, fmt.Errorf("init: %s: %w; nothing was written", filepath.Join(dir, name), files.WithoutPath(err))
		}
		written = append(written, name)
	}
	return written, nil
}

// writeIn writes a file that does not exist, with its folders.
func writeIn(root *os.Root, name, text string) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}
