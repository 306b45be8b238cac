package cmd

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
)

// shared flags are on every command that works on a stage.
func shared(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "stage", EnvVars: []string{"ATHANOR_STAGE"}, Usage: "work on stage `NAME` (default: dev-" + stagePart(login()) + ")", DefaultText: " "},
		&cli.StringFlag{Name: "store", EnvVars: []string{"ATHANOR_STORE"}, Usage: "keep the record in `STORE`, bolt:PATH (default: .athanor/state.db of the project)", DefaultText: " "},
		&cli.StringSliceFlag{Name: "config", Aliases: []string{"c"}, Usage: "set a config value of the stack: `NAME=VALUE`; may be repeated"},
		&cli.StringFlag{Name: "profile", EnvVars: []string{"ATHANOR_PROFILE"}, Usage: "use credentials profile `NAME` where the program names none", DefaultText: " "},
		&cli.BoolFlag{Name: "json", Usage: "write JSON to standard output, one object per line"},
		&cli.BoolFlag{Name: "no-color", Usage: "write no colours (also: $NO_COLOR)"},
	}, more...)
}

func planning(more ...cli.Flag) []cli.Flag {
	return append(shared(
		&cli.BoolFlag{Name: "adopt", Usage: "take over what exists and carries nobody's mark"},
		&cli.BoolFlag{Name: "no-observe", Usage: "compare with the record only; look at nothing"},
		&cli.BoolFlag{Name: "force", Usage: "settle even what is equal; run commands again"},
		&cli.StringSliceFlag{Name: "target", Aliases: []string{"t"}, Usage: "only `ADDRESS` (globs) and what it needs"},
		&cli.StringSliceFlag{Name: "exclude", Usage: "all but `ADDRESS` (globs) and what needs it"},
		&cli.StringSliceFlag{Name: "replace", Usage: "replace `ADDRESS` although nothing calls for it; its data may go"},
		&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "save the plan to `FILE`", DefaultText: " "},
		&cli.BoolFlag{Name: "detailed", Usage: "show long values whole and what is unchanged"},
	), append(deleting(), more...)...)
}

func deleting() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "take-over", Usage: "delete also what another store of this stage marked"},
		&cli.StringSliceFlag{Name: "allow-delete", Usage: "the data of `ADDRESS` (globs) may go"},
		&cli.IntFlag{Name: "parallel", Value: 16, Usage: "make at most `N` provider calls at once"},
	}
}

func applying() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"},
		&cli.DurationFlag{Name: "wait", Usage: "wait up to `DURATION` when another run holds the stage", DefaultText: "not at all"},
	}
}

// planOptions reads the flags of planning.
func planOptions(c *cli.Context) engine.PlanOptions {
	return engine.PlanOptions{
		Adopt: c.Bool("adopt"), TakeOver: c.Bool("take-over"), NoObserve: c.Bool("no-observe"), Force: c.Bool("force"),
		Target: c.StringSlice("target"), Exclude: c.StringSlice("exclude"), Replace: c.StringSlice("replace"),
		AllowDelete: c.StringSlice("allow-delete"),
	}
}

// configValues reads --config NAME=VALUE.
func configValues(c *cli.Context) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range c.StringSlice("config") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, reconcile.WithHint(fmt.Errorf("--config %q: it has no value", pair), "--config NAME=VALUE")
		}
		values[name] = value
	}
	return values, nil
}
