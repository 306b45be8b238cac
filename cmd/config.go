package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
)

func configCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "config", Usage: "read and set the config values of a stage",
		Description: `A config is a value that the program asks for. It comes from, in this order: --config NAME=VALUE; the variable
$ATHANOR_CONFIG_NAME (dbSize: $ATHANOR_CONFIG_DB_SIZE); the stage's file STACK.STAGE.config.yaml beside the program,
which set writes and which belongs into version control; the program's value for the stage; its default. The file
holds no secrets and allows nothing: see secret set and allow.`,
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the config values of a stage, and where each comes from", ArgsUsage: "[TARGET]",
				UsageText: "config list\nconfig list --stage prod --json",
				Flags:     project.StageFlags(), Before: untrusted.Reads, Action: func(c *cli.Context) error { return configList(o, c) },
			},
			{
				Name: "get", Usage: "print one config value", ArgsUsage: "NAME [TARGET]",
				UsageText: "config get dbSize --stage prod",
				Flags:     project.StageFlags(), Before: untrusted.Reads, Action: func(c *cli.Context) error { return configGet(o, c) },
			},
			{
				Name: "set", Usage: "write a config value into the file of a stage", ArgsUsage: "NAME VALUE [TARGET]",
				Description: "Evaluates the program with the value first: a config that it does not have, or a value of another type, is refused.\nThe next plan shows what the value changes.",
				UsageText:   "config set dbSize 20 --stage prod\nconfig set zones a,b            a list",
				Flags:       project.StageFlags(), Action: func(c *cli.Context) error { return configSet(o, c) },
			},
		},
	}
}

// configValue is what `config list --json` and `config get --json` print.
type configValue struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
	// Source is "--config", a variable, a file, or "program".
	Source string `json:"source"`
}

// openConfig evaluates the program of a command on config values. It gives nil when another program did the whole command.
func openConfig(o *session.Opener, c *cli.Context, names int) (*session.Session, *loader.Source, error) {
	s, src, err := o.Begin(c, names)
	if err == nil && (src.Graph || src.Plan != nil) {
		err = cli.Hint(fmt.Errorf("%s: it was evaluated already", src.Name()), "config values belong to a program")
	}
	if err == nil {
		err = s.FillConfig(c.Context, src)
	}
	if err != nil {
		return nil, nil, err
	}
	s.Graph, err = o.Load(c.Context, src, s.Stage.Name, s.Config)
	if _, must := errors.AsType[*loader.CommandError](err); must {
		return nil, nil, o.OrDelegate(c, src, names, err)
	}
	return s, src, err
}

func configList(o *session.Opener, c *cli.Context) error {
	s, _, err := openConfig(o, c, 0)
	if err != nil || s == nil {
		return err
	}
	names := slices.Sorted(maps.Keys(s.Graph.Config))
	width := 0
	for _, name := range names {
		width = max(width, len(name))
	}
	for _, name := range names {
		v := configValue{name, s.Graph.Config[name], s.SourceOf(name)}
		if o.WroteJSON(v) {
			continue
		}
		fmt.Fprintf(o.Out, "%-*s = %s  (%s)\n", width, name, render.Escaped(render.Plain(v.Value)), v.Source)
	}
	if len(names) == 0 && !o.AsJSON {
		fmt.Fprintf(o.Err, "stack %s has no config\n", s.Graph.Stack)
	}
	return nil
}

func configGet(o *session.Opener, c *cli.Context) error {
	name := c.Args().First()
	if name == "" {
		return cli.Hint(errors.New("config get: which one?"), "`athanor config list` lists them")
	}
	s, _, err := openConfig(o, c, 1)
	if err != nil || s == nil {
		return err
	}
	v, ok := s.Graph.Config[name]
	if !ok {
		return noConfig(s.Graph, name)
	}
	if o.WroteJSON(configValue{name, v, s.SourceOf(name)}) {
		return nil
	}
	fmt.Fprintln(o.Out, render.Escaped(render.Plain(v)))
	return nil
}

// noConfig is the error about a config that a program does not have.
func noConfig(g *engine.Graph, name string) error {
	err := fmt.Errorf("stack %s has no config %s", g.Stack, name)
	if _, secret := g.Secrets[name]; secret {
		return cli.Hint(err, fmt.Sprintf("%s is a secret: athanor secret set %s", name, name))
	}
	names := slices.Sorted(maps.Keys(g.Config))
	return cli.HintNearest(err, name, names, "`athanor config list` lists those that it has")
}

func configSet(o *session.Opener, c *cli.Context) error {
	if c.NArg() < 2 {
		return cli.Hint(errors.New("config set: which value?"), "athanor config set NAME VALUE")
	}
	name, value := c.Args().Get(0), c.Args().Get(1)
	if err := athanor.CheckName(name); err != nil {
		return fmt.Errorf("config %q: %w", name, err)
	}
	s, src, before := openConfig(o, c, 2)
	if s == nil {
		return before
	}
	if src.Stdin {
		return cli.Hint(errors.New("target -: the file of a stage stands beside its program"), "name the program's directory or file")
	}
	if before == nil {
		if _, ok := s.Graph.Config[name]; !ok {
			return noConfig(s.Graph, name)
		}
	}
	s.Config[name] = value
	g, err := o.Load(c.Context, src, s.Stage.Name, s.Config)
	if err != nil && addsProblem(before, err) {
		return err
	}
	file, err := fileToSet(c.Context, o, s, src, g)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := files.Replace(file, withValue(text, name, value), 0o644); err != nil {
		return err
	}
	if o.WroteJSON(map[string]string{"type": "config", "name": name, "value": value, "stage": s.Stage.Name, "file": file}) {
		return nil
	}
	fmt.Fprintf(o.Err, "wrote %s\nnext:  athanor plan --stage %s\n", o.Place(file), s.Stage.Name)
	return nil
}

// fileToSet is the file that a value is written to.
func fileToSet(ctx context.Context, o *session.Opener, s *session.Session, src *loader.Source, g *engine.Graph) (string, error) {
	if g != nil {
		return filepath.Join(src.Dir, loader.ConfigFile(g.Stack, s.Stage.Name)), nil
	}
	if src.GoMain {
		stack, err := o.StackName(ctx, src)
		return filepath.Join(src.Dir, loader.ConfigFile(stack, s.Stage.Name)), err
	}
	_, file, err := o.ConfigInFile(ctx, src, s.Stage.Name)
	return file, err
}

// addsProblem reports whether an error has a problem that another one has not.
func addsProblem(before, after error) bool {
	had := map[string]bool{}
	for _, p := range render.Problems(before) {
		had[p.String()] = true
	}
	problems := render.Problems(after)
	return len(problems) == 0 || slices.ContainsFunc(problems, func(p engine.Problem) bool { return !had[p.String()] })
}

// plainValue matches values that YAML reads back as they are.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)

// withValue sets a value in the text of a file of config values; everything else of it stays.
func withValue(text []byte, name, value string) []byte {
	if !plainValue.MatchString(value) {
		if quoted, err := json.Marshal(value); err == nil {
			value = string(quoted)
		}
	}
	line := name + ": " + value
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `[ \t]*:[^\n]*(\n[ \t]+[^\n]*|\n-[^\n]*)*`)
	if at := found.FindIndex(text); at != nil {
		return slices.Concat(text[:at[0]], []byte(line), text[at[1]:])
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	return append(text, line+"\n"...)
}
