package cmd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/statestore"
)

func (a *app) outputCommand() *cli.Command {
	return &cli.Command{
		Name: "output", Usage: "print the outputs of the last deploy", ArgsUsage: "[NAME] [TARGET]",
		Description: `With NAME it prints that one alone, as it is, for scripts. Secret outputs need --reveal. One argument that
looks like a name is a name; a directory of the current one is written ./shop.`,
		UsageText: `output                          all of them
output url                      one, as it is
output password --reveal ./shop`,
		Flags:  stageFlags(cli.RevealFlag(), cli.StackFlag("read")),
		Action: a.output,
	}
}

func (a *app) output(c *cli.Context) error {
	name, names := c.Args().First(), 1
	if c.NArg() == 1 && athanor.CheckName(name) != nil || c.NArg() == 0 {
		name, names = "", 0
	}
	s, err := a.openRecord(c, names)
	if err != nil || s == nil {
		return err
	}
	values, secret, err := s.engine.Outputs(c.Context, s.stage)
	if err != nil {
		return err
	}
	if values == nil {
		values = map[string]any{}
	}
	if !c.Bool("reveal") {
		if secret[name] {
			return hint(fmt.Errorf("output %s is secret", name), "--reveal prints it")
		}
		for n := range secret {
			values[n] = reconcile.Mask
		}
	}
	return a.printOutput(s.stage, values, name)
}

func (a *app) printOutput(stage statestore.Stage, values map[string]any, name string) error {
	v, ok := values[name]
	switch {
	case name == "" && a.asJSON:
		a.json(values)
	case name == "":
		a.printOutputs(values)
		if len(values) == 0 {
			fmt.Fprintf(a.err, "%s has no outputs on record\n", stage)
		}
	case !ok:
		return noOutput(stage, values, name)
	case a.asJSON:
		a.json(v)
	default:
		fmt.Fprintln(a.out, plain(v))
	}
	return nil
}

func noOutput(stage statestore.Stage, values map[string]any, name string) error {
	err := fmt.Errorf("%s has no output %q", stage, name)
	names := slices.Sorted(maps.Keys(values))
	near, found := props.Nearest(name, names)
	switch {
	case found:
		return hint(err, "did you mean "+near+"?")
	case len(names) > 0:
		return hint(err, "it has "+strings.Join(names, ", "))
	}
	return hint(err, "deploy records outputs")
}

func (a *app) stateList(c *cli.Context) error {
	s, err := a.openRecord(c, 0)
	if err != nil || s == nil {
		return err
	}
	rows, err := s.engine.Rows(c.Context, s.stage, false)
	if err != nil {
		return err
	}
	if a.asJSON {
		for _, r := range rows {
			a.json(r)
		}
		return nil
	}
	if len(rows) == 0 {
		fmt.Fprintf(a.err, "%s: nothing is on record\n", s.stage)
	}
	addresses, kinds := 0, 0
	for _, r := range rows {
		addresses = max(addresses, len(r.Address))
		for _, g := range r.Generations {
			kinds = max(kinds, len(g.Kind))
		}
	}
	for _, r := range rows {
		a.listRow(r, addresses, kinds)
	}
	return nil
}

func (a *app) listRow(r engine.RowView, addresses, kinds int) {
	for _, g := range r.Generations {
		line := fmt.Sprintf("%-*s  %-*s  %s", addresses, r.Address, kinds, g.Kind, g.Identity)
		if g.State != statestore.Live && g.State != "" {
			line += "  (" + string(g.State) + ")"
		}
		fmt.Fprintln(a.out, strings.TrimRight(line, " "))
	}
	if r.Problem != "" {
		fmt.Fprintf(a.out, "%-*s  cannot be read: %s\n", addresses, r.Address, r.Problem)
	}
}

func (a *app) stateShow(c *cli.Context) error {
	address := c.Args().First()
	if address == "" {
		return hint(errors.New("state show: which address?"), "`athanor state list` lists them")
	}
	s, err := a.openRecord(c, 1)
	if err != nil || s == nil {
		return err
	}
	rows, err := s.engine.Rows(c.Context, s.stage, c.Bool("reveal"))
	if err != nil {
		return err
	}
	names := make([]string, len(rows))
	for i, r := range rows {
		if names[i] = r.Address; r.Address != address {
			continue
		}
		if a.asJSON {
			a.json(r)
		} else {
			a.printRow(r)
		}
		return nil
	}
	err = fmt.Errorf("%s: nothing is on record as %q", s.stage, address)
	if near, ok := props.Nearest(address, names); ok {
		return hint(err, "did you mean "+near+"?")
	}
	return hint(err, "`athanor state list` lists what is")
}

func (a *app) printRow(r engine.RowView) {
	fmt.Fprintln(a.out, r.Address)
	if r.Problem != "" {
		fmt.Fprintln(a.out, "  cannot be read:", r.Problem)
	}
	for _, g := range r.Generations {
		head := fmt.Sprintf("  generation %d, %s: %s %s", g.Number, g.State, g.Kind, g.Identity)
		if g.Intent {
			head += " (its creation was begun)"
		}
		fmt.Fprintln(a.out, head)
		fmt.Fprintf(a.out, "    place    %s\n", g.Place)
		if !g.Written.IsZero() {
			fmt.Fprintf(a.out, "    written  %s\n", g.Written.Local().Format(time.RFC3339))
		}
		a.printValues("    attributes", g.Attrs)
	}
	a.printValues("  props as last settled", r.Props)
	if len(r.Needs) > 0 {
		fmt.Fprintln(a.out, "  needs", strings.Join(r.Needs, ", "))
	}
}

// printValues prints a title and the values below it, aligned.
func (a *app) printValues(title string, values map[string]any) {
	if len(values) == 0 {
		return
	}
	fmt.Fprintln(a.out, title)
	names := slices.Sorted(maps.Keys(values))
	width, indent := 0, strings.Repeat(" ", len(title)-len(strings.TrimLeft(title, " "))+2)
	for _, n := range names {
		width = max(width, len(n))
	}
	style := a.style(a.out)
	style.Detailed = true
	for _, n := range names {
		fmt.Fprintf(a.out, "%s%-*s  %s\n", indent, width, n, style.Value(values[n]))
	}
}
