package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/providers/terraform"
	"github.com/athanor-dev/athanor/reconcile"
)

func kindsCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "kinds", Usage: "list the kinds of resources, or document one", ArgsUsage: "[tf:SOURCE] [KIND]",
		Description: "Of one KIND: its props with defaults, units and what replaces, its attributes, the API calls it makes and the\npermissions they need. A KIND with * in it lists all that it fits. In the folder of a Go program\nthat brings kinds of its own they are among them. " + offeredHelp,
		UsageText:   "kinds\nkinds local.File\nkinds 'AWS::EC2::*'\nkinds AWS::EC2::VPC\nkinds tf.postgresql_role\nkinds tf:hashicorp/random --allow program=hashicorp/random",
		Flags:       kindFlags(),
		Before:      untrusted.Reads,
		Action:      func(c *cli.Context) error { return kindsAction(o, c) },
	}
}

func kindsAction(o *session.Opener, c *cli.Context) error {
	if src, brings := bringsKinds(o, c); brings {
		return o.Delegate(c, src, c.NArg())
	}
	if c.NArg() == 0 {
		return listKinds(o)
	}
	kinds, err := offeredKinds(o, c, c.Args().Slice())
	switch {
	case err != nil:
		return err
	case len(kinds) > 1:
		return fmt.Errorf("unexpected argument %q", kinds[1])
	}
	return kindsLike(o, kinds[0])
}

// bringsKinds reports whether the program of this folder brings kinds of its own that may be meant: it lists all, and documents
// what this binary does not have. That of a stranger is not built.
func bringsKinds(o *session.Opener, c *cli.Context) (*loader.Source, bool) {
	if o.Program != nil || untrusted.Is(c) {
		return nil, false
	}
	if c.NArg() > 0 {
		if _, err := o.Catalog.Find(c.Args().First()); err == nil || strings.HasPrefix(c.Args().First(), loader.ProviderPrefix) {
			return nil, false
		}
	}
	here := files.Absolute(".")
	src, err := loader.Directory(c.Context, here, ".")
	return src, err == nil && src.GoMain && loader.UsesKinds(here)
}

// kindsMatching are the names of the kinds that a pattern fits; a name that no kind has is an error.
func kindsMatching(o *session.Opener, pattern string) ([]string, error) {
	if !strings.Contains(pattern, "*") {
		_, err := o.Catalog.Find(pattern)
		return []string{pattern}, err
	}
	names, err := o.Catalog.Match(pattern)
	if err == nil && len(names) == 0 {
		err = cli.Hint(fmt.Errorf("%w like %q", reconcile.ErrNoKind, pattern), "`athanor kinds` lists them")
	}
	return names, err
}

// kindsLike documents the kind of a name, or lists the kinds that a pattern fits.
func kindsLike(o *session.Opener, pattern string) error {
	if !strings.Contains(pattern, "*") {
		return describeKind(o, pattern)
	}
	names, err := kindsMatching(o, pattern)
	if err != nil {
		return err
	}
	for _, name := range names {
		if o.AsJSON {
			o.JSON(map[string]any{"kind": name})
		} else {
			fmt.Fprintln(o.Out, name)
		}
	}
	return nil
}

func schemaCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "print the JSON Schema of athanor.yaml, for editors", ArgsUsage: "[tf:SOURCE] [KIND]...",
		Description: "The schema covers the whole language and every kind. Of kinds that are too many to list, such as the types of AWS,\nit has the names, and the props of each KIND that is asked for; * in it stands for any text. " + offeredHelp + "\nEditors with the YAML language server take it from a first line of athanor.yaml:\n# yaml-language-server: $schema=athanor.schema.json",
		UsageText:   "schema > athanor.schema.json\nschema 'AWS::EC2::*' AWS::RDS::DBInstance > athanor.schema.json\nschema 'tf.*' > athanor.schema.json",
		Flags:       kindFlags(),
		Before:      untrusted.Reads,
		Action: func(c *cli.Context) error {
			kinds, err := offeredKinds(o, c, c.Args().Slice())
			if err != nil {
				return err
			}
			schema, err := yamlstack.Schema(o.Catalog, kinds...)
			if err != nil {
				return err
			}
			return o.Document(schema)
		},
	}
}

func listKinds(o *session.Opener) error {
	names := o.Catalog.Types()
	var rows [][2]string
	for _, name := range names {
		k, _ := o.Catalog.Kind(name)
		doc := k.Spec().Doc
		if o.WroteJSON(map[string]any{"kind": name, "doc": doc}) {
			continue
		}
		rows = append(rows, [2]string{name, render.FirstSentence(doc)})
	}
	for _, f := range o.Catalog.Families() {
		types, err := f.Types()
		if err != nil {
			return err
		}
		if o.WroteJSON(map[string]any{"kind": f.Prefix + "*", "doc": f.Doc, "count": len(types)}) {
			continue
		}
		if len(types) == 0 { // they depend on the stack
			rows = append(rows, [2]string{f.Prefix + "*", render.FirstSentence(f.Doc)})
			continue
		}
		rows = append(rows, [2]string{f.Prefix + "*", fmt.Sprintf("%s: %d types, `athanor kinds '%s*'` lists them", render.FirstSentence(f.Doc), len(types), f.Prefix)})
	}
	o.Style(o.Out).Listing(o.Out, rows)
	return nil
}

func describeKind(o *session.Opener, name string) error {
	k, err := o.Catalog.Find(name)
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
	if o.AsJSON {
		o.JSON(map[string]any{
			"kind": name, "doc": spec.Doc, "props": fields, "attributes": attrs, "calls": spec.Calls, "permissions": spec.Permissions.All(),
			"logs": spec.Logs, "inDev": spec.InDev,
		})
		return nil
	}
	var text strings.Builder
	render.Kind(&text, name, spec, fields, attrs)
	o.Style(o.Out).Help(o.Out, text.String())
	return nil
}

// offeredHelp says how the kinds of Terraform providers are meant.
const offeredHelp = "The types of Terraform\nproviders are those of the providers that the stack in this folder names, or of tf:SOURCE, such as tf:hashicorp/random or\ntf:./program, which is installed and started: --allow program=SOURCE permits it."

// kindFlags are the flags of the commands that look at kinds.
func kindFlags(own ...cli.Flag) []cli.Flag {
	return append(own, &cli.StringSliceFlag{Name: "allow", Usage: "let a provider be installed and run: `KIND=VALUE`, such as program=hashicorp/random; may be repeated"}, cli.JSONFlag())
}

// offeredKinds makes the kinds of Terraform providers known that arguments need, and gives the other arguments: those of the providers that arguments name,
// or where a kind of one is named alone, those of the stack in the current folder. Providers without a kind after them stand for all of their kinds.
func offeredKinds(o *session.Opener, c *cli.Context, args []string) ([]string, error) {
	var kinds, sources []string
	for _, arg := range args {
		if source, ok := strings.CutPrefix(arg, loader.ProviderPrefix); ok {
			sources = append(sources, source)
			continue
		}
		kinds = append(kinds, arg)
	}
	for _, source := range sources {
		if err := loader.Offer(o.Loader, c, source); err != nil {
			return nil, err
		}
	}
	isBridged := func(kind string) bool { return strings.HasPrefix(kind, terraform.Prefix) }
	switch {
	case len(sources) > 0 && !slices.ContainsFunc(kinds, isBridged):
		kinds = append(kinds, terraform.Prefix+"*")
	case len(sources) == 0 && slices.ContainsFunc(kinds, isBridged):
		if err := offerOfStack(o, c); err != nil {
			return nil, reconcile.WithHint(err, "without a stack that names its provider: athanor %s tf:NAMESPACE/NAME %s", c.Command.Name, strings.Join(kinds, " "))
		}
	}
	return kinds, nil
}

// offerOfStack starts the providers that the stack of the current folder names.
func offerOfStack(o *session.Opener, c *cli.Context) error {
	s, src, err := o.BeginAt(c, nil)
	if err == nil {
		err = o.ReadSource(c, src)
	}
	if err != nil {
		return err
	}
	_, err = o.Load(c.Context, src, s.Stage.Name, s.Config)
	return err
}
