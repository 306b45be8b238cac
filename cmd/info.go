package cmd

import (
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func stackFlag() cli.Flag {
	return &cli.StringFlag{Name: "stack", Usage: "go by the record of stack `NAME` alone; no program is needed", DefaultText: " "}
}

func (a *app) outputCommand() *cli.Command {
	return &cli.Command{
		Name: "output", Usage: "print the outputs of the last deploy", ArgsUsage: "[NAME] [TARGET]",
		Description: "With NAME, prints that one alone, as it is: for scripts. Secret outputs need --reveal.",
		Flags:       shared(stackFlag(), &cli.BoolFlag{Name: "reveal", Usage: "show secrets"}),
		Action:      a.output,
	}
}

func (a *app) output(c *cli.Context) error {
	// One argument may be a name or a target: what is no target is a name.
	name, names := "", 0
	if c.NArg() > 0 {
		if _, err := a.source(c.Args().First()); err != nil || a.program != nil {
			name, names = c.Args().First(), 1
		}
	}
	s, err := a.readOnly(c, names)
	if err != nil || s == nil {
		return err
	}
	values, secret, err := s.engine.Outputs(c.Context, s.stage)
	if err != nil {
		return err
	}
	if !c.Bool("reveal") {
		for n := range secret {
			if n == name {
				return hint(fmt.Errorf("output %s is secret", n), "--reveal prints it")
			}
			values[n] = reconcile.Mask
		}
	}
	switch v, ok := values[name]; {
	case name == "" && c.Bool("json"):
		if values == nil {
			values = map[string]any{}
		}
		a.json(values)
	case name == "":
		a.printOutputs(values)
	case !ok:
		err := fmt.Errorf("%s has no output %q", s.stage, name)
		if len(values) > 0 {
			return hint(err, "it has "+strings.Join(slices.Sorted(maps.Keys(values)), ", "))
		}
		return hint(err, "`athanor deploy` records outputs")
	case c.Bool("json"):
		a.json(v)
	default:
		fmt.Fprintln(a.out, plain(v))
	}
	return nil
}

func (a *app) stateCommand() *cli.Command {
	reveal := &cli.BoolFlag{Name: "reveal", Usage: "show secrets"}
	return &cli.Command{
		Name: "state", Usage: "look at the record",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list what is on record", ArgsUsage: "[TARGET]", Flags: shared(stackFlag()),
				Action: func(c *cli.Context) error { return a.stateList(c) },
			},
			{
				Name: "show", Usage: "show the record of one address", ArgsUsage: "ADDRESS [TARGET]", Flags: shared(stackFlag(), reveal),
				Action: func(c *cli.Context) error { return a.stateShow(c) },
			},
		},
	}
}

func (a *app) stateList(c *cli.Context) error {
	s, err := a.readOnly(c, 0)
	if err != nil || s == nil {
		return err
	}
	rows, err := s.engine.Rows(c.Context, s.stage, false)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		for _, r := range rows {
			a.json(r)
		}
		return nil
	}
	width := 0
	for _, r := range rows {
		width = max(width, len(r.Address))
	}
	for _, r := range rows {
		for _, g := range r.Generations {
			state := ""
			if g.State != "live" {
				state = "  (" + string(g.State) + ")"
			}
			fmt.Fprintf(a.out, "%-*s  %s  %s%s\n", width, r.Address, g.Kind, g.Identity, state)
		}
		if r.Problem != "" {
			fmt.Fprintf(a.out, "%-*s  cannot be read: %s\n", width, r.Address, r.Problem)
		}
	}
	return nil
}

func (a *app) stateShow(c *cli.Context) error {
	if c.NArg() == 0 {
		return hint(fmt.Errorf("state show: which address?"), "`athanor state list` lists them")
	}
	s, err := a.readOnly(c, 1)
	if err != nil || s == nil {
		return err
	}
	rows, err := s.engine.Rows(c.Context, s.stage, c.Bool("reveal"))
	if err != nil {
		return err
	}
	addr := c.Args().First()
	i := slices.IndexFunc(rows, func(r engine.RowView) bool { return r.Address == addr })
	if i < 0 {
		names := make([]string, len(rows))
		for i, r := range rows {
			names[i] = r.Address
		}
		err := fmt.Errorf("%s: nothing is on record as %q", s.stage, addr)
		if near, ok := props.Nearest(addr, names); ok {
			return hint(err, "did you mean "+near+"?")
		}
		return hint(err, "`athanor state list` lists what is")
	}
	if c.Bool("json") {
		a.json(rows[i])
		return nil
	}
	a.printRow(rows[i])
	return nil
}

func (a *app) printRow(r engine.RowView) {
	fmt.Fprintln(a.out, r.Address)
	if r.Problem != "" {
		fmt.Fprintln(a.out, "  cannot be read:", r.Problem)
	}
	for _, g := range r.Generations {
		fmt.Fprintf(a.out, "  generation %d, %s: %s %s\n", g.Number, g.State, g.Kind, g.Identity)
		fmt.Fprintf(a.out, "    place: %s\n", g.Place)
		for _, k := range slices.Sorted(maps.Keys(g.Attrs)) {
			fmt.Fprintf(a.out, "    %s: %s\n", k, tree.Canonical(g.Attrs[k]))
		}
	}
	if len(r.Props) > 0 {
		fmt.Fprintln(a.out, "  props as last settled:")
		for _, k := range slices.Sorted(maps.Keys(r.Props)) {
			fmt.Fprintf(a.out, "    %s: %s\n", k, tree.Canonical(r.Props[k]))
		}
	}
	if len(r.Needs) > 0 {
		fmt.Fprintln(a.out, "  needs:", strings.Join(r.Needs, ", "))
	}
}

func (a *app) kindsCommand() *cli.Command {
	return &cli.Command{
		Name: "kinds", Usage: "list the kinds of resources, or document one", ArgsUsage: "[KIND]",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "write JSON to standard output"}},
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return a.listKinds(c)
			}
			return a.describeKind(c, c.Args().First())
		},
	}
}

func (a *app) listKinds(c *cli.Context) error {
	for _, name := range a.catalog.Types() {
		k, _ := a.catalog.Kind(name)
		if c.Bool("json") {
			a.json(map[string]any{"kind": name, "doc": k.Spec().Doc})
			continue
		}
		doc, _, _ := strings.Cut(k.Spec().Doc, ".")
		fmt.Fprintf(a.out, "%-24s %s\n", name, strings.ReplaceAll(doc, "\n", " "))
	}
	return nil
}

func (a *app) describeKind(c *cli.Context, name string) error {
	k, ok := a.catalog.Kind(name)
	if !ok {
		err := fmt.Errorf("unknown kind %q", name)
		if near, found := props.Nearest(name, a.catalog.Types()); found {
			return hint(err, "did you mean "+near+"?")
		}
		return hint(err, "`athanor kinds` lists them")
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
	if c.Bool("json") {
		a.json(map[string]any{
			"kind": name, "doc": spec.Doc, "props": fields, "attributes": attrs, "calls": spec.Calls, "permissions": spec.Permissions,
		})
		return nil
	}
	fmt.Fprintf(a.out, "%s\n\n%s\n\nProps:\n", name, spec.Doc)
	printFields(a.out, fields, "  ")
	fmt.Fprintln(a.out, "\nAttributes:")
	printFields(a.out, attrs, "  ")
	if len(spec.Calls) > 0 {
		fmt.Fprintf(a.out, "\nCalls: %s\n", strings.Join(spec.Calls, ", "))
	}
	if len(spec.Permissions) > 0 {
		fmt.Fprintf(a.out, "Permissions: %s\n", strings.Join(spec.Permissions, ", "))
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
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Key != "" {
			return steps[i].Key
		}
	}
	return string(p)
}

func (a *app) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "write JSON to standard output"}},
		Action: func(c *cli.Context) error {
			v := a.versionText()
			if c.Bool("json") {
				a.json(map[string]any{"version": v, "kinds": len(a.catalog.Types())})
				return nil
			}
			fmt.Fprintf(a.out, "athanor %s\n", v)
			return nil
		},
	}
}

// Version is set when a release is built.
func (a *app) versionText() string {
	if a.version != "" {
		return a.version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "(development build)"
}
