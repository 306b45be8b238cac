package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func (a *app) kindsCommand() *cli.Command {
	return &cli.Command{
		Name: "kinds", Usage: "list the kinds of resources, or document one", ArgsUsage: "[KIND]",
		Description: "Of one KIND: its props with defaults, units and what replaces, its attributes, the API calls it makes and the\npermissions they need. A KIND with * in it lists all that it fits.",
		UsageText:   "kinds\nkinds local.File\nkinds 'AWS::EC2::*'\nkinds AWS::EC2::VPC",
		Flags:       []cli.Flag{cli.JSONFlag()},
		Action: func(c *cli.Context) error {
			switch c.NArg() {
			case 0:
				return a.listKinds()
			case 1:
				return a.kindsLike(c.Args().First())
			}
			return fmt.Errorf("unexpected argument %q", c.Args().Get(1))
		},
		BashComplete: func(c *cli.Context) {
			if names, err := a.catalog.Match(c.Args().First() + "*"); err == nil {
				fmt.Fprintln(c.App.Writer, strings.Join(names, "\n"))
			}
			cli.CompleteFlags(c)
		},
	}
}

// kindsLike documents the kind of a name, or lists the kinds that a pattern fits.
func (a *app) kindsLike(pattern string) error {
	if !strings.Contains(pattern, "*") {
		return a.describeKind(pattern)
	}
	names, err := a.catalog.Match(pattern)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return hint(fmt.Errorf("%w like %q", reconcile.ErrNoKind, pattern), "`athanor kinds` lists them")
	}
	for _, name := range names {
		if a.asJSON {
			a.json(map[string]any{"kind": name})
		} else {
			fmt.Fprintln(a.out, name)
		}
	}
	return nil
}

func (a *app) schemaCommand() *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "print the JSON Schema of athanor.yaml, for editors", ArgsUsage: "[KIND]...",
		Description: "The schema covers the whole language and every kind. Of kinds that are too many to list, such as the types of AWS,\nit has the names, and the props of each KIND that is asked for; * in it stands for any text. Editors with the YAML language server take it from a\nfirst line of athanor.yaml: # yaml-language-server: $schema=athanor.schema.json",
		UsageText:   "schema > athanor.schema.json\nschema 'AWS::EC2::*' AWS::RDS::DBInstance > athanor.schema.json",
		Flags:       []cli.Flag{cli.JSONFlag()},
		Action: func(c *cli.Context) error {
			schema, err := yamlstack.Schema(a.catalog, c.Args().Slice()...)
			if err != nil {
				return err
			}
			return a.document(schema)
		},
	}
}

func (a *app) listKinds() error {
	names := a.catalog.Types()
	width := 0
	for _, name := range names {
		width = max(width, len(name))
	}
	for _, name := range names {
		k, _ := a.catalog.Kind(name)
		doc := k.Spec().Doc
		if a.asJSON {
			a.json(map[string]any{"kind": name, "doc": doc})
			continue
		}
		fmt.Fprintf(a.out, "%-*s  %s\n", width, name, firstSentence(doc))
	}
	for _, f := range a.catalog.Families() {
		types, err := f.Types()
		if err != nil {
			return err
		}
		if a.asJSON {
			a.json(map[string]any{"kind": f.Prefix + "*", "doc": f.Doc, "count": len(types)})
			continue
		}
		fmt.Fprintf(a.out, "%-*s  %s: %d types, `athanor kinds '%s*'` lists them\n", width, f.Prefix+"*", firstSentence(f.Doc), len(types), f.Prefix)
	}
	return nil
}

// firstSentence is what a listing has room for.
func firstSentence(doc string) string {
	doc = strings.Join(strings.Fields(doc), " ")
	if i := strings.Index(doc, ". "); i >= 0 {
		return doc[:i]
	}
	return strings.TrimSuffix(doc, ".")
}

func (a *app) describeKind(name string) error {
	k, err := a.catalog.Find(name)
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
	if a.asJSON {
		a.json(map[string]any{
			"kind": name, "doc": spec.Doc, "props": fields, "attributes": attrs, "calls": spec.Calls, "permissions": spec.Permissions.All(),
			"logs": spec.Logs, "inDev": spec.InDev,
		})
		return nil
	}
	fmt.Fprintf(a.out, "%s\n\n%s\n\nProps:\n", name, spec.Doc)
	printFields(a.out, fields, "  ")
	fmt.Fprintln(a.out, "\nAttributes:")
	printFields(a.out, attrs, "  ")
	if spec.InDev {
		fmt.Fprintln(a.out, "\nRuns in dev: a plain deploy leaves it as it is.")
	}
	if spec.Logs {
		fmt.Fprintln(a.out, "\nLogs: athanor logs ADDRESS")
	}
	if len(spec.Calls) > 0 {
		fmt.Fprintf(a.out, "\nCalls: %s\n", strings.Join(spec.Calls, ", "))
	}
	if needs := spec.Permissions.All(); len(needs) > 0 {
		fmt.Fprintf(a.out, "Permissions: %s\n", strings.Join(needs, ", "))
	}
	return nil
}

func printFields(w io.Writer, fields []props.Field, indent string) {
	for _, f := range fields {
		var notes []string
		if f.Required {
			notes = append(notes, "required")
		}
		if f.Default != "" {
			notes = append(notes, "default "+f.Default)
		}
		if f.Replaces {
			notes = append(notes, "replaces")
		}
		if f.Secret {
			notes = append(notes, "secret")
		}
		if len(f.Enum) > 0 {
			notes = append(notes, strings.Join(f.Enum, " | "))
		}
		line := indent + lastPart(f.Path) + "  " + f.Type
		if len(notes) > 0 {
			line += "  (" + strings.Join(notes, ", ") + ")"
		}
		fmt.Fprintln(w, line)
		for doc := range strings.SplitSeq(strings.TrimSpace(f.Doc), "\n") {
			if doc != "" {
				fmt.Fprintln(w, indent+"    "+doc)
			}
		}
		printFields(w, f.Fields, indent+"  ")
	}
}

func lastPart(p tree.Path) string {
	steps := p.Steps()
	for _, step := range slices.Backward(steps) {
		if step.Key != "" {
			return step.Key
		}
	}
	return string(p)
}
