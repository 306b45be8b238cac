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
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

func outputCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "output", Usage: "print the outputs of the last deploy", ArgsUsage: "[NAME] [TARGET]",
		Description: `With NAME it prints that one alone, for scripts. Control characters and what a CI system takes for a command are
printed as escapes (\x1b) unless --raw is given. Secret outputs need --reveal. One argument that looks like a
name is a name; a directory of the current one is written ./shop.`,
		UsageText: `output                          all of them
output url                      one alone
output banner --raw             byte for byte, whatever it does to a terminal
output --tfvars > net.auto.tfvars
output password --reveal ./shop`,
		Flags: project.StageFlags(cli.RevealFlag(),
			&cli.BoolFlag{Name: "raw", Usage: "print the output NAME without escaping control characters"},
			&cli.BoolFlag{Name: "tfvars", Usage: "print all outputs as a variable file of Terraform; secret ones only with --reveal"},
			cli.StackFlag("read")),
		Before: untrusted.Reads,
		Action: func(c *cli.Context) error { return printOutputs(o, c) },
	}
}

func printOutputs(o *session.Opener, c *cli.Context) error {
	name, names := c.Args().First(), 1
	if c.NArg() == 1 && athanor.CheckName(name) != nil || c.NArg() == 0 {
		name, names = "", 0
	}
	if c.Bool("raw") && name == "" {
		return cli.Hint(errors.New("output --raw: which output?"), "athanor output NAME --raw; `athanor output` lists them")
	}
	s, err := o.OpenExisting(c, names)
	if err != nil || s == nil {
		return err
	}
	values, secret, err := s.Engine.Outputs(c.Context, s.Stage)
	if err != nil {
		return err
	}
	if values == nil {
		values = map[string]any{}
	}
	if c.Bool("tfvars") {
		return printTFVars(o, values, secret, name, c.Bool("reveal"))
	}
	if !c.Bool("reveal") {
		if secret[name] {
			return cli.Hint(fmt.Errorf("output %s is secret", name), "--reveal prints it")
		}
		for n := range secret {
			values[n] = reconcile.Mask
		}
	}
	return printOutput(o, s.Stage, values, name, c.Bool("raw"))
}

// printTFVars prints outputs for Terraform. A secret one is left out, and not masked: its mask would be taken for its value.
func printTFVars(o *session.Opener, values map[string]any, secret map[string]bool, name string, reveal bool) error {
	if name != "" {
		return cli.Hint(fmt.Errorf("--tfvars prints all outputs, and not %s alone", name), "athanor output --tfvars")
	}
	for _, name := range slices.Sorted(maps.Keys(secret)) {
		if secret[name] && !reveal {
			delete(values, name)
			fmt.Fprintf(o.Err, "secret, and left out: %s; --reveal prints it\n", name)
		}
	}
	_, err := fmt.Fprint(o.Out, render.TFVars(values))
	return err
}

func printOutput(o *session.Opener, stage statestore.Stage, values map[string]any, name string, raw bool) error {
	v, ok := values[name]
	switch {
	case name == "" && o.AsJSON:
		o.JSON(values)
	case name == "":
		o.Style(o.Out).Outputs(o.Out, values)
		if len(values) == 0 {
			fmt.Fprintf(o.Err, "%s has no outputs in state\n", stage)
		}
	case !ok:
		return noOutput(stage, values, name)
	case o.AsJSON:
		o.JSON(v)
	case raw:
		fmt.Fprintln(terminal.Unguarded(o.Out), render.Plain(v))
	default:
		fmt.Fprintln(o.Out, render.Escaped(render.Plain(v)))
	}
	return nil
}

func noOutput(stage statestore.Stage, values map[string]any, name string) error {
	err := fmt.Errorf("%s has no output %q", stage, name)
	names := slices.Sorted(maps.Keys(values))
	otherwise := "deploy writes outputs to state"
	if len(names) > 0 {
		otherwise = "it has " + strings.Join(names, ", ")
	}
	return cli.HintNearest(err, name, names, otherwise)
}

func stateList(o *session.Opener, c *cli.Context) error {
	s, err := o.OpenExisting(c, 0)
	if err != nil || s == nil {
		return err
	}
	rows, err := s.Engine.Rows(c.Context, s.Stage, false)
	if err != nil {
		return err
	}
	if terminal.JSONLines(o.Terminal, rows) {
		return nil
	}
	if len(rows) == 0 {
		fmt.Fprintf(o.Err, "%s: state is empty\nnext:  %s\n", s.Stage, firstDeploy(c))
	}
	o.Style(o.Out).Rows(o.Out, rows, time.Now(), session.HoldsData(o.Catalog))
	return nil
}

func stateShow(o *session.Opener, c *cli.Context) error {
	address := c.Args().First()
	if address == "" {
		return cli.Hint(errors.New("state show: which address?"), "`athanor state list` lists them")
	}
	s, err := o.OpenExisting(c, 1)
	if err != nil || s == nil {
		return err
	}
	rows, err := s.Engine.Rows(c.Context, s.Stage, c.Bool("reveal"))
	if err != nil {
		return err
	}
	names := make([]string, len(rows))
	for i, r := range rows {
		if names[i] = r.Address; r.Address != address {
			continue
		}
		if o.AsJSON {
			o.JSON(r)
		} else {
			o.Style(o.Out).Row(o.Out, r)
		}
		return nil
	}
	err = fmt.Errorf("%s: state has no entry %q", s.Stage, address)
	return cli.HintNearest(err, address, names, "`athanor state list` lists what is")
}
