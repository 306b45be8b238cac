package cmd

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/athanor-dev/athanor/engine"
)

// shared flags are on every command that works on a stage.
func shared(more ...cli.Flag) []cli.Flag { return sharedOn(defaultStage(""), more...) }

// sharedOn are the same with another stage by default.
func sharedOn(stage string, more ...cli.Flag) []cli.Flag {
	return append(more,
		&cli.StringFlag{Category: sharedCategory, Name: "stage", EnvVars: []string{"ATHANOR_STAGE"}, Usage: "work on stage `NAME`; default " + stage},
		&cli.StringFlag{Category: sharedCategory, Name: "store", EnvVars: []string{storeVariable}, Usage: "keep the record in `STORE`, bolt:PATH or postgres://…; default .athanor/state.db of the project"},
		&cli.StringSliceFlag{Category: sharedCategory, Name: "config", Aliases: []string{"c"}, Usage: "set a config value of the stack, `NAME=VALUE`; may be repeated"},
		&cli.StringFlag{Category: sharedCategory, Name: "profile", EnvVars: []string{"ATHANOR_PROFILE"}, Usage: "use credentials profile `NAME` where the program names none"},
		&cli.BoolFlag{Category: sharedCategory, Name: "json", Usage: "write JSON to standard output"},
		&cli.BoolFlag{Category: sharedCategory, Name: "no-color", Usage: "write plain lines without colours (also $NO_COLOR)"},
	)
}

// planning flags say what is planned.
func planning(more ...cli.Flag) []cli.Flag {
	flags := append(more,
		&cli.BoolFlag{Name: "dry-run", Usage: "only plan"},
		&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "save the plan to `FILE`, for deploy FILE"},
		&cli.StringSliceFlag{Name: "target", Aliases: []string{"t"}, Usage: "only `ADDRESS` (globs; may be repeated) and what it needs"},
		&cli.StringSliceFlag{Name: "exclude", Usage: "all but `ADDRESS` (globs; may be repeated) and what needs it"},
		&cli.StringSliceFlag{Name: "replace", Usage: "replace `ADDRESS` although nothing calls for it; its data may go"},
		&cli.BoolFlag{Name: "force", Usage: "settle even what is equal; run commands again"},
		&cli.BoolFlag{Name: "adopt", Usage: "take over what exists and carries nobody's mark"},
		&cli.BoolFlag{Name: "no-observe", Usage: "compare with the record only; look at nothing"},
	)
	return shared(deleting(flags...)...)
}

// deleting flags are on every command that may delete.
func deleting(more ...cli.Flag) []cli.Flag {
	return append(more,
		&cli.StringSliceFlag{Name: "allow-delete", Usage: "the data of `ADDRESS` (globs; may be repeated) may go"},
		&cli.BoolFlag{Name: "take-over", Usage: "delete also what another store of this stage marked"},
		&cli.IntFlag{Name: "parallel", Usage: "make at most `N` provider calls at once; default 16"},
		&cli.BoolFlag{Name: "detailed", Usage: "show long values whole, and what is unchanged"},
	)
}

// applying flags are on every command that asks and then changes the world.
func applying(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"},
		&cli.DurationFlag{Name: "wait", Usage: "wait up to `DURATION` (5m) while another run holds the stage; default not at all"},
	}, more...)
}

// byRecord lets a command work without a program.
func byRecord(what string) cli.Flag {
	return &cli.StringFlag{Name: "stack", Usage: what + " stack `NAME` by its record alone; no program is needed"}
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
			return nil, hint(fmt.Errorf("--config %q: it has no value", pair), "--config NAME=VALUE")
		}
		if other, twice := values[name]; twice && other != value {
			return nil, fmt.Errorf("--config %s: given twice, as %q and as %q", name, other, value)
		}
		values[name] = value
	}
	return values, nil
}

// useProfile hands a credentials profile to the clouds' own clients. One that the program names wins.
func useProfile(name string) error {
	if name == "" {
		return nil
	}
	return errors.Join(os.Setenv("AWS_PROFILE", name), os.Setenv("CLOUDFLARE_PROFILE", name))
}
