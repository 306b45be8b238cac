package cmd

import (
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/reconcile"
)

func (a *app) kindsCommand() *cli.Command {
	return &cli.Command{
		Name: "kinds", Usage: "list the kinds of resources, or document one", ArgsUsage: "[tf:SOURCE] [KIND]",
		Description: "Of one KIND: its props with defaults, units and what replaces, its attributes, the API calls it makes and the\npermissions they need. A KIND with * in it lists all that it fits. In the folder of a Go program\nthat brings kinds of its own they are among them. " + offeredHelp,
		UsageText:   "kinds\nkinds local.File\nkinds 'AWS::EC2::*'\nkinds AWS::EC2::VPC\nkinds tf.postgresql_role\nkinds tf:hashicorp/random --allow program=hashicorp/random",
		Flags:       kindFlags(),
		Before:      untrusted.Reads,
		Action:      a.kindsAction,
	}
}

func (a *app) kindsAction(c *cli.Context) error {
	if src, brings := a.bringsKinds(c); brings {
		return a.Delegate(c, src, c.NArg())
	}
	if c.NArg() == 0 {
		return a.listKinds()
	}
	kinds, err := a.offered(c, c.Args().Slice())
	switch {
	case err != nil:
		return err
	case len(kinds) > 1:
		return fmt.Errorf("unexpected argument %q", kinds[1])
	}
	return a.kindsLike(kinds[0])
}

// bringsKinds reports whether the program of this folder brings kinds of its own that may be meant: it lists all, and documents
// what this binary does not have. That of a stranger is not built.
func (a *app) bringsKinds(c *cli.Context) (*loader.Source, bool) {
	if a.Program != nil || untrusted.Is(c) {
		return nil, false
	}
	if c.NArg() > 0 {
		if _, err := a.Catalog.Find(c.Args().First()); err == nil || strings.HasPrefix(c.Args().First(), loader.ProviderPrefix) {
			return nil, false
		}
	}
	here := files.Absolute(".")
	src, err := loader.Directory(c.Context, here, ".")
	return src, err == nil && src.GoMain && loader.UsesKinds(here)
}

// matching are the names of the kinds that a pattern fits; a name that no kind has is an error.
func (a *app) matching(pattern string) ([]string, error) {
	if !strings.Contains(pattern, "*") {
		_, err := a.Catalog.Find(pattern)
		return []string{pattern}, err
	}
	names, err := a.Catalog.Match(pattern)
	if err == nil && len(names) == 0 {
		err = cli.Hint(fmt.Errorf("%w like %q", reconcile.ErrNoKind, pattern), "`athanor kinds` lists them")
	}
	return names, err
}

// kindsLike documents the kind of a name, or lists the kinds that a pattern fits.
func (a *app) kindsLike(pattern string) error {
	if !strings.Contains(pattern, "*") {
		return a.describeKind(pattern)
	}
	names, err := a.matching(pattern)
	if err != nil {
		return err
	}
	for _, name := range names {
		if a.AsJSON {
			a.JSON(map[string]any{"kind": name})
		} else {
			fmt.Fprintln(a.Out, name)
		}
	}
	return nil
}

func (a *app) schemaCommand() *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "print the JSON Schema of athanor.yaml, for editors", ArgsUsage: "[tf:SOURCE] [KIND]...",
		Description: "The schema covers the whole language and every kind. Of kinds that are too many to list, such as the types of AWS,\nit has the names, and the props of each KIND that is asked for; * in it stands for any text. " + offeredHelp + "\nEditors with the YAML language server take it from a first line of athanor.yaml:\n# yaml-language-server: $schema=athanor.schema.json",
		UsageText:   "schema > athanor.schema.json\nschema 'AWS::EC2::*' AWS::RDS::DBInstance > athanor.schema.json\nschema 'tf.*' > athanor.schema.json",
		Flags:       kindFlags(),
		Before:      untrusted.Reads,
		Action: func(c *cli.Context) error {
			kinds, err := a.offered(c, c.Args().Slice())
			if err != nil {
				return err
			}
			schema, err := yamlstack.Schema(a.Catalog, kinds...)
			if err != nil {
				return err
			}
			return a.Document(schema)
		},
	}
}

func (a *app) listKinds() error {
	names := a.Catalog.Types()
	var rows [][2]string
	for _, name := range names {
		k, _ := a.Catalog.Kind(name)
		doc := k.Spec().Doc
		if a.AsJSON {
			a.JSON(map[string]any{"kind": name, "doc": doc})
			continue
		}
		rows = append(rows, [2]string{name, render.FirstSentence(doc)})
	}
	for _, f := range a.Catalog.Families() {
		types, err := f.Types()
		if err != nil {
			return err
		}
		if a.AsJSON {
			a.JSON(map[string]any{"kind": f.Prefix + "*", "doc": f.Doc, "count": len(types)})
			continue
		}
		if len(types) == 0 { // they depend on the stack
			rows = append(rows, [2]string{f.Prefix + "*", render.FirstSentence(f.Doc)})
			continue
		}
		rows = append(rows, [2]string{f.Prefix + "*", fmt.Sprintf("%s: %d types, `athanor kinds '%s*'` lists them", render.FirstSentence(f.Doc), len(types), f.Prefix)})
	}
	a.Style(a.Out).Listing(a.Out, rows)
	return nil
}

func (a *app) describeKind(name string) error {
	k, err := a.Catalog.Find(name)
	if err != nil {
		return err
	}
	spec := k.Spec()
	fields, err := spec.Props()
	if err != nil {
		return err
	}
	attrs, err := spec.Attrs()
	if err != nil {
		return err
	}
	if a.AsJSON {
		a.JSON(map[string]any{
			"kind": name, "doc": spec.Doc, "props": fields, "attributes": attrs, "calls": spec.Calls, "permissions": spec.Permissions.All(),
			"logs": spec.Logs, "inDev": spec.InDev,
		})
		return nil
	}
	render.Kind(a.Out, name, spec, fields, attrs)
	return nil
}
