package local

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// CommandProps declare a command that runs when its inputs change.
type CommandProps struct {
	// Run is the command: a list of the program and its arguments, run as it is, or one text that sh -c runs.
	// It gets no input. When it ends with another code than 0 the deployment of the resource has failed,
	// and the next one runs it again.
	Run any `prop:"required"`
	// Dir is the folder it runs in, relative to the stack's directory. Default: "", the stack's directory.
	Dir string
	// Env are variables added to those of the deploying process. Values of secrets in it are masked in
	// stdout and in errors. Default: none.
	Env map[string]string
	// Triggers is any value; the command runs again whenever it changes. Default: null.
	Triggers any
	// Undo is a command, as run, that runs in the same folder with the same variables when the resource is
	// deleted. A replacement runs the new command before the old one is undone. Default: none.
	Undo any
	// Timeout bounds each run; then the command and all that it started are killed. Default: 10m.
	Timeout *time.Duration `prop:"min=1ms,max=24h"`
}

// Command is what others may refer to.
type Command struct {
	// Stdout is what the command printed, without line ends at its end; of more than 64 KiB, the last 64 KiB.
	Stdout string
	// ExitCode is 0: any other is an error.
	ExitCode token.Int
}

// liveCommand is a command as it was last run.
type liveCommand struct {
	props CommandProps
	attrs Command
}

// longest bounds all operations of a command; its own bound is the timeout prop.
const longest = 24 * time.Hour

var commandKind = &reconcile.Kind[CommandProps, liveCommand, Command]{
	Type: "local.Command",
	Doc: "A command that runs on the machine that deploys, once, and again whenever its command, folder, variables or triggers change. " +
		"What it does to the world is not looked at. Without state it runs again. Its start is in state before it acts: when it fails or is cut, it runs again, " +
		"and its undo runs when it is deleted instead. When the deploying process dies, the command and all that it started end with it.",
	Observe: func(_ context.Context, site reconcile.Site[CommandProps, Command]) (liveCommand, error) {
		if site.Last == nil {
			return liveCommand{}, reconcile.ErrAbsent
		}
		live := liveCommand{attrs: *site.Last}
		if site.Had != nil {
			live.props = defaultCommand(*site.Had)
		}
		return live, nil
	},
	Create: func(ctx context.Context, site reconcile.Site[CommandProps, Command]) (Command, error) {
		return runCommand(ctx, site.Place, site.Dir, site.Want, site.Nonce, secretValues(site.Want.Env, site.Secret))
	},
	Compare:     compareCommand,
	Attrs:       func(l liveCommand) Command { return l.attrs },
	Delete:      undoCommand,
	Identity:    func(Command) string { return "" },
	Defaults:    defaultCommand,
	Check:       checkCommand,
	Moves:       []string{"stdout", "exitCode"},
	AtBirth:     []string{"stdout", "exitCode"},
	MaskLive:    []tree.Path{"env"},
	Recorded:    true,
	Rerun:       true,
	Timeouts:    reconcile.Timeouts{Create: longest, Update: longest, Delete: longest},
	Source:      source,
	WritesFiles: true,
	Calls:       []string{"local.Run"},
}

func defaultCommand(p CommandProps) CommandProps {
	if p.Timeout == nil {
		p.Timeout = new(10 * time.Minute)
	}
	return p
}

// argv is a command as a list. A text is for the shell.
func argv(command any) []string {
	switch c := command.(type) {
	case string:
		if c != "" {
			return []string{"sh", "-c", c}
		}
	case []string:
		return c
	case []any:
		words := make([]string, 0, len(c))
		for _, w := range c {
			word, ok := w.(string)
			if !ok {
				return nil
			}
			words = append(words, word)
		}
		return words
	}
	return nil
}

func checkCommand(want CommandProps) error {
	var problems props.Errors
	if len(argv(want.Run)) == 0 {
		problems.Wrong("run", "want a list of words, or a text for the shell")
	}
	if want.Undo != nil && len(argv(want.Undo)) == 0 {
		problems.Wrong("undo", "want a list of words, or a text for the shell")
	}
	for name := range want.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			problems.Wrong(tree.Path("env").Key(name), "want the name of a variable")
		}
	}
	return problems.OrNil()
}

func compareCommand(d *reconcile.Diff[liveCommand], want CommandProps, live liveCommand) {
	run := &reconcile.Operation[liveCommand]{Name: "Run", Do: func(ctx context.Context, on reconcile.On[liveCommand]) error {
		out, err := runCommand(ctx, on.Place, on.Dir, want, on.Nonce, secretValues(want.Env, on.Secret))
		if err == nil {
			on.Remember(out)
		}
		return err
	}}
	had := live.props
	if d.Force() {
		had.Run = nil // shown as a command that has not run yet
	}
	reconcile.Value(d, "run", want.Run, had.Run, run)
	reconcile.Value(d, "dir", want.Dir, had.Dir, run)
	for _, name := range names(want.Env, had.Env) {
		reconcile.Value(d, tree.Path("env").Key(name), optional(want.Env, name), optional(had.Env, name), run)
	}
	reconcile.Value(d, "triggers", want.Triggers, had.Triggers, run)
	keep := &reconcile.Operation[liveCommand]{
		Name: "Remember", StateOnly: true, Do: func(context.Context, reconcile.On[liveCommand]) error { return nil },
	}
	reconcile.Value(d, "undo", want.Undo, had.Undo, keep)
	reconcile.Value(d, "timeout", want.Timeout, had.Timeout, keep)
}

// names are the keys of both maps, sorted.
func names(a, b map[string]string) []string {
	var all []string
	for _, m := range []map[string]string{a, b} {
		for name := range m {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// optional is the value of a key, nil without one.
func optional(m map[string]string, key string) *string {
	if v, ok := m[key]; ok {
		return &v
	}
	return nil
}

// secretValues are the values of variables that are secret.
func secretValues(env map[string]string, secret map[tree.Path]bool) []string {
	var values []string
	for name, value := range env {
		at := tree.Path("env").Key(name)
		for p := range secret {
			if value != "" && (at.Within(p) || p.Within(at)) {
				values = append(values, value)
				break
			}
		}
	}
	return byLength(values)
}

// byLength puts longer ones first: a longer one may hold a shorter one.
func byLength(values []string) []string {
	slices.SortFunc(values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return values
}

// runCommand runs what is declared, once.
func runCommand(ctx context.Context, place reconcile.Place, dir string, want CommandProps, nonce string, secrets []string) (Command, error) {
	var out Command
	err := through(ctx, place, "Run", true, func() (err error) {
		out, err = run(ctx, execution{
			argv: argv(want.Run), dir: within(dir, want.Dir), env: want.Env, timeout: *want.Timeout, secrets: secrets, nonce: nonce,
		})
		return err
	})
	return out, err
}

// undoCommand runs the undo of the props as they were last run.
func undoCommand(ctx context.Context, site reconcile.Site[CommandProps, Command]) error {
	if site.Had == nil || site.Had.Undo == nil {
		return nil
	}
	had := defaultCommand(*site.Had)
	values := make([]string, 0, len(had.Env)) // the record does not say which were secret
	for _, v := range had.Env {
		if v != "" {
			values = append(values, v)
		}
	}
	err := through(ctx, site.Place, "Run", true, func() error {
		_, err := run(ctx, execution{
			argv: argv(had.Undo), dir: within(site.Dir, had.Dir), env: had.Env, timeout: *had.Timeout, secrets: byLength(values), nonce: site.Nonce,
		})
		return err
	})
	if failed, ok := errors.AsType[*CommandError](err); ok {
		failed.Undo = true
	}
	return err
}
