package local

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
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
	Env map[string]string `prop:"masklive"`
	// Triggers is any value; the command runs again whenever it changes. Default: null.
	Triggers any
	// Inputs are files and folders, relative to the stack's directory; the command runs again whenever something in them
	// changes. Folders named .git, .athanor and node_modules, and the outputs, are left out. Default: none.
	Inputs []string
	// Ignore are files and folders among the inputs, relative to the stack's directory, that do not count: caches, and what the
	// command writes now and then. Default: none.
	Ignore []string
	// Outputs are files and folders that the command writes, relative to the stack's directory; it runs again when one of them
	// is not there, as in a new checkout. What they hold is not compared. Default: none.
	Outputs []string
	// InDev runs the command in `athanor dev` too. false is for what a dev server makes unnecessary, such as a build: dev
	// then runs nothing, and a deploy of the same stage runs the command.
	InDev *bool `prop:"default=true"`
	// Undo is a command, as run, that runs in the same folder with the same variables when the resource is
	// deleted. A replacement runs the new command before the old one is undone. Default: none.
	Undo any
	// Timeout bounds each run; then the command and all that it started are killed.
	Timeout *time.Duration `prop:"min=1ms,max=24h,default=10m"`
}

// Command is what others may refer to.
type Command struct {
	// Stdout is what the command printed, without line ends at its end; of more than 64 KiB, the last 64 KiB.
	Stdout string `attr:"early,mutable"`
	// ExitCode is 0: any other is an error.
	ExitCode token.Int `attr:"early,mutable"`
	// Inputs is the digest of the inputs that it ran with, "" without any.
	Inputs string `attr:"mutable"`
	// Skipped is true where a dev session left it out, see inDev.
	Skipped token.Bool `attr:"mutable"`
}

// foundCommand is what Read finds of a command: the outputs that are there, and whether a dev session skips it.
type foundCommand struct {
	outputs []string
	skips   bool
}

// skips reports that a dev session leaves the command out.
func skips(s kind.Facts, want CommandProps) bool {
	return s.Dev != nil && want.InDev != nil && !*want.InDev
}

// longest bounds all operations of a command; its own bound is the timeout prop.
const longest = 24 * time.Hour

type (
	commandSite = kind.Site[CommandProps, Command]
	keptCommand = kind.Kept[CommandProps, Command]
)

var commandTable = kind.TableOf[CommandProps]()

var commandKind = &kind.StateKind[CommandProps, Command]{
	Type: "local.Command", Lifetime: kind.Rerun,
	Doc: "A command that runs on the machine that deploys, once, and again whenever its command, folder, variables, triggers or inputs change, or an output is not there. " +
		"What it does is not observed. Without state it runs again. Its start is in state before it acts: when it fails or is cut, it runs again, " +
		"and its undo runs when it is deleted instead. When the deploying process dies, the command and all that it started end with it.",
	Create: func(ctx context.Context, s commandSite) (Command, error) { return runCommand(ctx, s.Facts, s.Want) },
	Read: func(_ context.Context, s commandSite, live *keptCommand) error {
		live.Read = foundCommand{outputs: present(s.Dir, live.Props.Outputs), skips: skips(s.Facts, s.Want)}
		return nil
	},
	Compare: compareCommand,
	Delete:  undoCommand,
	// A command that was only begun has done something too.
	CleansUp:    true,
	Props:       commandTable,
	Check:       checkCommand,
	Prepare:     prepareCommand,
	Files:       []tree.Path{"inputs"},
	WritesFiles: true,
	Timeouts:    kind.Timeouts{Create: longest, Update: longest, Delete: longest},
	API:         kind.API{Source: source, Calls: []string{"local.Run"}},
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

func compareCommand(d *kind.Diff[keptCommand], want CommandProps, live keptCommand) {
	run := kind.Set("Run", func(ctx context.Context, u kind.Update[keptCommand]) error {
		out, err := runCommand(ctx, u.Facts, want)
		if err == nil {
			u.Store(out)
		}
		return err
	})
	keep := kind.Set("Remember", func(context.Context, kind.Update[keptCommand]) error { return nil })
	keep.StateOnly = true
	reconcile.Value(d, "inDev", want.InDev, live.Props.InDev, keep)
	found, _ := live.Read.(foundCommand)
	if found.skips {
		reconcile.Value(d, "skipped", token.True, live.Attributes.Skipped, run) // what ran before counts no longer
		return
	}
	if live.Attributes.Skipped == token.True {
		reconcile.Value(d, "skipped", token.False, live.Attributes.Skipped, run)
	}
	compareExecution(d, execution{run: want.Run, dir: want.Dir, env: want.Env}, execution{run: live.Props.Run, dir: live.Props.Dir, env: live.Props.Env}, run)
	reconcile.Value(d, "triggers", want.Triggers, live.Props.Triggers, run)
	compareInputs(d, want.Inputs, live.Props.Inputs, live.Attributes.Inputs, run)
	reconcile.Value(d, "outputs", want.Outputs, found.outputs, run)
	reconcile.Value(d, "ignore", want.Ignore, live.Props.Ignore, keep)
	reconcile.Value(d, "undo", want.Undo, live.Props.Undo, keep)
	reconcile.Value(d, "timeout", want.Timeout, live.Props.Timeout, keep)
}

// present are those of some paths at which there is something.
func present(dir string, paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, err := os.Lstat(within(dir, path))
		return errors.Is(err, fs.ErrNotExist)
	})
}

// compareInputs states the digest of inputs, or their paths where these changed.
func compareInputs[L any](d *kind.Diff[L], want, had []string, digest string, op *kind.Operation[L]) {
	if asset, hashed := d.Asset(inputs); hashed && slices.Equal(want, had) {
		reconcile.Value(d, "inputs", asset.Digest, digest, op)
	} else {
		reconcile.Value(d, "inputs", want, had, op)
	}
}

// compareExecution states what is run, where, and with which variables. A forced run is shown as the first.
func compareExecution[L any](d *kind.Diff[L], want, have execution, run *kind.Operation[L]) {
	if d.Force() {
		have.run = nil
	}
	reconcile.Value(d, "run", want.run, have.run, run)
	reconcile.Value(d, "dir", want.dir, have.dir, run)
	for _, name := range names(want.env, have.env) {
		reconcile.Value(d, tree.Path("env").Key(name), optional(want.env, name), optional(have.env, name), run)
	}
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
			if value != "" && at.Overlaps(p) {
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
func runCommand(ctx context.Context, s kind.Facts, want CommandProps) (Command, error) {
	if skips(s, want) {
		return Command{ExitCode: token.Num(0), Skipped: token.True}, nil
	}
	out, err := execute(ctx, s, execution{
		run: want.Run, dir: want.Dir, env: want.Env, timeout: *want.Timeout, secrets: secretValues(want.Env, s.Secret),
	})
	out.Inputs = s.Assets[inputs].Digest
	return out, err
}

func execute(ctx context.Context, s kind.Facts, e execution) (out Command, err error) {
	e.argv, e.dir, e.nonce = argv(e.run), within(s.Dir, e.dir), s.Nonce
	return out, through(ctx, s.Location, "Run", true, func() (err error) {
		out, err = run(ctx, e)
		return err
	})
}

// undoCommand runs the undo of the props as they were last run.
func undoCommand(ctx context.Context, s commandSite) error {
	if s.Had == nil || s.Had.Undo == nil || s.Last != nil && s.Last.Skipped == token.True {
		return nil
	}
	had := *s.Had
	commandTable.Default(&had)
	values := make([]string, 0, len(had.Env)) // state does not say which were secret
	for _, v := range had.Env {
		if v != "" {
			values = append(values, v)
		}
	}
	_, err := execute(ctx, s.Facts, execution{run: had.Undo, dir: had.Dir, env: had.Env, timeout: *had.Timeout, secrets: byLength(values)})
	if failed, ok := errors.AsType[*CommandError](err); ok {
		failed.Undo = true
	}
	return err
}
