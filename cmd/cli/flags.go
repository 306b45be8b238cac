package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
)

// StoreVariable names the store, as --store does.
const StoreVariable = "ATHANOR_STORE"

// StageFlags are the flags of every command that works on a stage, after its own. The stage is the default of --stage.
func StageFlags(stage string, own ...Flag) []Flag {
	return append(own,
		&StringFlag{
			Category: sharedCategory, Name: "stage", EnvVars: []string{"ATHANOR_STAGE"},
			Usage: "work on stage `NAME`; default " + stage,
		},
		&StringFlag{
			Category: sharedCategory, Name: "store", EnvVars: []string{StoreVariable},
			Usage: "keep state in `STORE`, bolt:PATH, postgres://…, s3://… or https://…; default .athanor/state.db of the project",
		},
		&StringSliceFlag{
			Category: sharedCategory, Name: "config", Aliases: []string{"c"},
			Usage: "set a config value of the stack, `NAME=VALUE`; may be repeated",
		},
		&StringFlag{
			Category: sharedCategory, Name: "profile", EnvVars: []string{"ATHANOR_PROFILE"},
			Usage: "use credentials profile `NAME` where the program names none",
		},
		&StringSliceFlag{
			Category: sharedCategory, Name: "allow",
			Usage: "let the stack reach `KIND=VALUE[@PLACE]` (endpoint, store, path, env, identity, program; may be repeated)",
		},
		&GenericFlag{Category: sharedCategory, Name: "attempt-timeout", Value: &Duration{Least: time.Millisecond}, EnvVars: []string{"ATHANOR_ATTEMPT_TIMEOUT"}, Usage: "count a call as lost when nothing moves for `DURATION`; default 60s"},
		&BoolFlag{
			Category: sharedCategory, Name: "accept-older-state",
			Usage: "go on from a state that was put back to something older, such as a backup, or changed without its key",
		},
		&BoolFlag{Category: sharedCategory, Name: "json", Usage: "write JSON to standard output"},
		&BoolFlag{Category: sharedCategory, Name: "no-color", Usage: "write plain lines without colours (also $NO_COLOR)"},
	)
}

// PlanFlags say what is planned.
func PlanFlags(own ...Flag) []Flag {
	return DeleteFlags(append(append(append(own,
		DryRunFlag("only plan"),
		OutFlag("save the plan to `FILE`, for deploy FILE")),
		SelectFlags()...),
		&StringSliceFlag{Name: "replace", Usage: "replace `ADDRESS` although no change requires it; its data may be deleted"},
		&BoolFlag{Name: "force", Usage: "run commands again although nothing of them changed"},
		AdoptFlag(),
		&BoolFlag{Name: "no-observe", Usage: "compare with state only; read nothing from the provider"},
	)...)
}

// DeleteFlags are the flags of every command that may delete, after its own.
func DeleteFlags(own ...Flag) []Flag {
	return append(append(own,
		&StringSliceFlag{Category: Safety, Name: "allow-delete", Usage: "allow deleting resources that match `ADDRESS` even if they hold data (globs; may be repeated)"},
		&BoolFlag{Category: Safety, Name: "take-over", Usage: "also delete objects tagged by another state store of this stage"},
	), ShowFlags()...)
}

// ApplyFlags returns the flags of every command that asks and then changes the cloud, before its own.
func ApplyFlags(own ...Flag) []Flag {
	return append([]Flag{
		YesFlag(),
		&GenericFlag{
			Name: "wait", Value: new(Duration),
			Usage: "wait up to `DURATION` (5m) while another run holds the stage; default not at all",
		},
	}, own...)
}

// SelectFlags choose resources.
func SelectFlags() []Flag {
	return []Flag{
		&StringSliceFlag{
			Name: "target", Aliases: []string{"t"}, Usage: "only `ADDRESS` (globs; may be repeated) and what it needs",
		},
		&StringSliceFlag{Name: "exclude", Usage: "all but `ADDRESS` (globs; may be repeated) and what needs it"},
	}
}

// ShowFlags say how many calls are made and how a plan is shown.
func ShowFlags() []Flag {
	return []Flag{
		&GenericFlag{Name: "parallel", Value: &Count{Least: 1}, Usage: "make at most `N` provider calls at once; default 16. Raise it when calls take long; the rate of each service is kept anyway"},
		&BoolFlag{Name: "detailed", Usage: "show long values in full, and unchanged resources"},
	}
}

// StackFlag lets a command work without a program.
func StackFlag(what string) Flag {
	return &StringFlag{Name: "stack", Usage: what + " stack `NAME` from its state alone, without a program"}
}

// AdoptFlag adopts what exists.
func AdoptFlag() Flag {
	return &BoolFlag{Name: "adopt", Usage: "adopt existing objects that have no owner tag"}
}

// DryRunFlag makes a command show and change nothing.
func DryRunFlag(usage string) Flag { return &BoolFlag{Name: "dry-run", Usage: usage} }

// OutFlag names the file that a command writes.
func OutFlag(usage string) Flag {
	return &StringFlag{Name: "out", Aliases: []string{"o"}, Usage: usage}
}

// YesFlag answers the question of a command.
func YesFlag() Flag {
	return &BoolFlag{Category: Safety, Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"}
}

// FollowFlag makes a command go on.
func FollowFlag(usage string) Flag {
	return &BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: usage}
}

// RevealFlag shows secrets.
func RevealFlag() Flag { return &BoolFlag{Name: "reveal", Usage: "show secrets"} }

// JSONFlag is for commands that work on no stage.
func JSONFlag() Flag { return &BoolFlag{Name: "json", Usage: "write JSON to standard output"} }

// PlanOptions reads the flags of planning.
func PlanOptions(c *Context) engine.PlanOptions {
	return engine.PlanOptions{
		Adopt: c.Bool("adopt"), TakeOver: c.Bool("take-over"), NoObserve: c.Bool("no-observe"), Force: c.Bool("force"),
		Target: c.StringSlice("target"), Exclude: c.StringSlice("exclude"), Replace: c.StringSlice("replace"),
		AllowDelete: c.StringSlice("allow-delete"),
	}
}

// ConfigValues reads --config NAME=VALUE.
func ConfigValues(c *Context) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range c.StringSlice("config") {
		name, value, ok := strings.Cut(pair, "=")
		if ok && name == "" {
			return nil, reconcile.WithHint(fmt.Errorf("--config %q: it has no name", pair), "--config NAME=VALUE")
		}
		if !ok {
			return nil, reconcile.WithHint(fmt.Errorf("--config %q: it has no value", pair), "--config NAME=VALUE")
		}
		if other, twice := values[name]; twice && other != value {
			return nil, fmt.Errorf("--config %s: given twice, as %q and as %q", name, other, value)
		}
		values[name] = value
	}
	return values, nil
}
