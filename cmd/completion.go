package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/template"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

func completionCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "complete words in a shell: print the script, or install it", ArgsUsage: "SHELL | install [SHELL]",
		Description: `Completes commands, flags, addresses, stages, outputs, runs, config values, secrets and kinds. install writes the script
where the shell looks for it, and prints what is left to do; SHELL is bash, zsh or fish, by default that of $SHELL.
It runs no program, needs no key service, and asks nobody over the network but the state store.`,
		UsageText: `completion install              for the shell at hand
completion bash                 print the script: source <(athanor completion bash)`,
		Before: func(*cli.Context) error { return nil }, // it reads nothing of a stack
		Action: func(c *cli.Context) error { return writeCompletion(o, c) },
	}
}

func writeCompletion(o *session.Opener, c *cli.Context) error {
	shell, install := c.Args().First(), c.Args().First() == "install"
	if install {
		if shell = c.Args().Get(1); shell == "" {
			shell = filepath.Base(os.Getenv("SHELL"))
		}
	}
	if shell == "" {
		return cli.Hint(errors.New("completion: for which shell?"), "athanor completion bash, zsh or fish")
	}
	script := cli.CompletionScript(shell)
	if script == "" {
		return cli.Hint(fmt.Errorf("completion: no script for %q", shell), "bash, zsh or fish")
	}
	if !install {
		_, err := fmt.Fprint(o.Out, script)
		return err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	file, next := completionFile(shell, home)
	if err := replaceOwn(file, script); err != nil {
		return err
	}
	fmt.Fprintf(o.Err, "wrote %s\n%s\n", file, next)
	return nil
}

// completionFile is where a shell looks for the completion of a command, and what is left to do.
func completionFile(shell, home string) (file, next string) {
	in := func(variable, fallback string) string {
		if dir := os.Getenv(variable); dir != "" {
			return dir
		}
		return filepath.Join(home, fallback)
	}
	switch shell {
	case "fish":
		return filepath.Join(in("XDG_CONFIG_HOME", ".config"), "fish", "completions", "athanor.fish"), "next:  open a new shell"
	case "zsh":
		dir := filepath.Join(in("ZDOTDIR", ""), ".zfunc")
		return filepath.Join(dir, "_athanor"), "next:  have this in .zshrc, before compinit where that is called already:\n" +
			"       fpath+=" + render.ShellWord(dir) + "; autoload -Uz compinit; compinit"
	default:
		return filepath.Join(in("XDG_DATA_HOME", ".local/share"), "bash-completion", "completions", "athanor"),
			"next:  open a new shell; without the package bash-completion, have this in .bashrc: source <(athanor completion bash)"
	}
}

var errForeignFile = errors.New("the file is not athanor's; nothing was written")

// replaceOwn writes a script where there is none, or one that athanor wrote.
func replaceOwn(file, script string) error {
	old, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !strings.Contains(string(old), "# Completion of athanor"):
		return cli.Hint(fmt.Errorf("completion: %s: %w", file, errForeignFile), "athanor completion SHELL prints the script")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return files.Replace(file, []byte(script), 0o644)
}

// completionPatience is how long a shell waits for words.
const completionPatience = 2 * time.Second

// completedWords are the values that a word of a command line may have. What cannot be read has none: nobody sees errors.
func completedWords(o *session.Opener, w cli.Wanted) []string {
	ctx, stop := context.WithTimeout(context.Background(), completionPatience)
	defer stop()
	switch what := valueWanted(w); what {
	case "template":
		var names []string
		for _, t := range template.All() {
			names = append(names, t.Name)
		}
		return names
	case "shell":
		return []string{"bash", "fish", "install", "zsh"}
	case "kind":
		names, _ := o.Catalog.Match(w.Word + "*")
		return names
	case "":
		return nil
	default:
		return fromProject(ctx, o, w, what)
	}
}

// valueWanted is what a word of a command line is a name of.
func valueWanted(w cli.Wanted) string {
	switch w.Flag {
	case "stage", "stack", "kind", "template":
		return w.Flag
	case "target", "exclude", "replace", "allow-delete", "remote", "accept":
		return "address"
	case "config":
		return "assignment"
	case "":
	default:
		return ""
	}
	switch w.Argument {
	case "ADDRESS", "OLD", "NEW":
		return "address"
	case "RUN", "KIND", "SHELL":
		return strings.ToLower(w.Argument)
	case "NAME":
		return map[string]string{"output": "output", "config get": "config", "config set": "config", "secret set": "secret", "secret rm": "secret"}[w.Command]
	}
	return ""
}

// fromProject are the names that a stack or its state has. The target is an argument that is a file or a directory.
func fromProject(ctx context.Context, o *session.Opener, w cli.Wanted, what string) []string {
	dir, file := files.Absolute("."), ""
	for _, arg := range w.Args {
		if info, err := os.Stat(arg); err == nil {
			if dir = files.Absolute(arg); !info.IsDir() {
				dir, file = filepath.Dir(dir), dir
			}
		}
	}
	if o.Program != nil {
		dir = o.Program.Dir
	}
	for _, name := range []string{"athanor.yaml", "athanor.yml"} {
		if path := filepath.Join(dir, name); file == "" {
			if _, err := os.Stat(path); err == nil {
				file = path
			}
		}
	}
	declared := yamlstack.Names{}
	if ext := filepath.Ext(file); ext == ".yaml" || ext == ".yml" {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Size() <= loader.MaxInput {
			if data, err := os.ReadFile(file); err == nil {
				declared = yamlstack.NamesIn(data)
			}
		}
	}
	if o.Program != nil {
		declared.Stack = o.Program.Name
	}
	switch what {
	case "config":
		return declared.Config
	case "assignment":
		var words []string
		for _, name := range declared.Config {
			words = append(words, name+"=")
		}
		return words
	case "secret":
		return declared.Secrets
	}
	if name := w.Given["stack"]; name != "" {
		declared = yamlstack.Names{Stack: name}
	}
	names := fromStore(ctx, w, dir, declared.Stack, what)
	switch what {
	case "address":
		names = append(names, declared.Resources...)
	case "output":
		names = append(names, declared.Outputs...)
	}
	return names
}

// fromStore are the names that the state store of a directory has of a stack, or of all stacks where none is known.
func fromStore(ctx context.Context, w cli.Wanted, dir, stack, what string) []string {
	p, err := project.Open(dir, project.AbsoluteStore(storeOf(w)))
	if err != nil {
		return nil
	}
	defer func() { _ = p.Store.Close() }() // nothing was written
	stages, err := p.Store.Stages(ctx)
	if err != nil {
		return nil
	}
	var names []string
	for _, stage := range stages {
		switch {
		case what == "stack":
			names = append(names, stage.Stack)
		case stack != "" && stage.Stack != stack:
		case what == "stage":
			names = append(names, stage.Name)
		case stage.Name == stageOf(w):
			names = append(names, inState(ctx, p.Store, stage, dir, what)...)
		}
	}
	return names
}

// storeOf is the state store of a command line.
func storeOf(w cli.Wanted) string {
	if store := w.Given["store"]; store != "" {
		return store
	}
	return os.Getenv(cli.StoreVariable)
}

// stageOf is the stage of a command line.
func stageOf(w cli.Wanted) string {
	for _, name := range []string{w.Given["stage"], os.Getenv("ATHANOR_STAGE")} {
		if name != "" {
			return name
		}
	}
	return project.DefaultStage(w.Command)
}

// inState are the names that the state of a stage has. Outputs are sealed: they need a key that is on this machine.
func inState(ctx context.Context, store statestore.Store, stage statestore.Stage, dir, what string) []string {
	if what == "run" {
		runs, err := store.Runs(ctx, stage, 0)
		if err != nil {
			return nil
		}
		var ids []string
		for _, r := range runs {
			ids = append(ids, r.ID)
		}
		return ids
	}
	snap, err := store.Load(ctx, stage)
	if err != nil {
		return nil
	}
	if what == "address" {
		return slices.Collect(maps.Keys(snap.Rows))
	}
	key, err := seal.Load(project.KeyPlace(ctx, stage, dir), snap.KeyID)
	if err != nil {
		return nil
	}
	values, _, err := state.OpenOutputs(snap, key)
	if err != nil {
		return nil
	}
	return slices.Collect(maps.Keys(values))
}
