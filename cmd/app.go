package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/release"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/cmd/stackprogram"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
)

// app is one call of the command.
type app struct {
	catalog *reconcile.Catalog
	// program is the stack program that this binary is; nil for the ready-made binary.
	program *program
	in      io.Reader
	out     io.Writer
	err     io.Writer
	release release.Release

	// asJSON and noColor are known before the flags are parsed, so that errors in the flags obey them.
	asJSON, noColor, detailed bool
	// inDev: a dev session is at work.
	inDev bool
	// args is the command line as it was typed.
	args       []string
	interrupts *interrupts
	// first is what the terminal shows until something is written; nil for nothing.
	first *firstLine
	// dir is the directory of the stack at hand, "" before it is known. showsLines: it is a program whose places are of its own
	// files, and no document, which may name any.
	dir        string
	showsLines bool
	// redacted masks the secrets that the engine has met; nil before there is an engine.
	redacted func(error) string

	// granted is what the user has allowed the stack at hand; nil for a program, and before the stack is known.
	granted *granting

	// asking is held while the user answers a question: nothing is drawn over it.
	asking sync.Mutex

	// store is closed at the end; nil before there is one.
	store io.Closer

	mu     sync.Mutex // one JSON line at a time, and what follows
	broken bool       // standard output went away
	line   []byte     // of the last event, to be used again
	// children are stack programs whose functions are called.
	children []*stackprogram.Child
}

// run runs the command and gives its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	a.args = args
	ctx, a.interrupts = catch(ctx, a.err)
	defer a.interrupts.end()
	line := cli.App{
		Name: a.name(), Usage: "make the cloud match a program", Description: overview, Examples: overviewExamples,
		Reader: a.in, Writer: a.out, Commands: a.commands(), Guard: untrusted.OnlyRead, Meant: a.meant(), Complete: a.completed,
		Help: func(w io.Writer, text string) { a.style(w).Help(w, text) },
	}
	notice := a.release.LookForNewer(ctx, args, a.program == nil && !a.asJSON && isTerminal(a.out) && isTerminal(a.err))
	err := line.Run(ctx, args)
	if ending := a.endChildren(); err == nil {
		err = ending
	}
	if a.store != nil {
		if closing := a.store.Close(); err == nil {
			err = closing
		}
	}
	if _, said := errors.AsType[cli.ExitCode](err); err != nil && !said && (ctx.Err() != nil || errors.Is(err, reconcile.ErrInterrupted)) {
		err = errInterrupted
	}
	code := a.exitCode(err)
	notice.End(a.err, time.Now())
	return code
}

// exitCode ends the command: what was not shown yet is.
func (a *app) exitCode(err error) int {
	if err == nil {
		return cli.ExitDone
	}
	if coded, ok := errors.AsType[cli.ExitCode](err); ok {
		return int(coded)
	}
	return a.report(err)
}

// name is how this command is called.
func (a *app) name() string {
	if a.program == nil {
		return "athanor"
	}
	return filepath.Base(os.Args[0])
}

// json writes one line of JSON. A reader that goes away ends no run.
func (a *app) json(v any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken {
		return
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	a.written(line.Bytes(), err)
}

// event writes the line of an event.
func (a *app) event(e engine.Event) {
	a.mu.Lock()
	line, plain := e.AppendJSON(a.line[:0])
	if a.line = line; plain && !a.broken {
		a.written(append(line, '\n'), nil)
	}
	a.mu.Unlock()
	if !plain {
		a.json(e)
	}
}

// written writes a line to standard output, or notes why there is none. The lock is held.
func (a *app) written(line []byte, err error) {
	if err == nil {
		_, err = a.out.Write(render.SafeJSON(line))
	}
	if err != nil {
		a.broken = true
		a.warn("standard output: %v", err)
	}
}

// warn says what went wrong and stops nothing.
func (a *app) warn(format string, args ...any) {
	a.style(a.err).Warning(a.err, fmt.Sprintf(format, args...))
}

// document writes JSON that is to be kept and read: over several lines.
func (a *app) document(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := a.out.Write(render.SafeJSON(text.Bytes()))
	return err
}

const (
	overview = `It reads what exists, shows what would change, and applies it. It may be interrupted anywhere: every object has an
owner tag or a deterministic name, so the next run completes an interrupted one.`

	overviewExamples = `init my-stack              write a first stack
deploy my-stack            plan, show, ask, apply
plan my-stack              only show what would change
destroy my-stack           delete everything of it`

	targetHelp = `TARGET is a directory with athanor.yaml or a Go main package, a YAML file, a graph as JSON, or - for
standard input. The default is the current directory.`
)

// commands are all commands in the order of the help, which shows them in groups.
func (a *app) commands() []*cli.Command {
	var all []*cli.Command
	for _, group := range []struct {
		name     string
		commands []*cli.Command
	}{
		{"Start", []*cli.Command{a.initCommand(), a.planCommand(), a.deployCommand(), a.devCommand(), a.destroyCommand()}},
		{"Inspect", []*cli.Command{
			a.stageCommand(), a.stateCommand(), a.historyCommand(), a.eventsCommand(), a.driftCommand(), a.outputCommand(), a.logsCommand(),
			a.graphCommand(), a.kindsCommand(), a.uiCommand(),
		}},
		{"Repair", []*cli.Command{a.adoptCommand(), a.orphansCommand(), a.cancelCommand(), a.unlockCommand(), a.doctorCommand()}},
		{"Teams", []*cli.Command{
			a.loginCommand(), a.logoutCommand(), a.tokenCommand(), a.approveCommand(), a.auditCommand(), a.secretCommand(), a.allowCommand(),
			a.configCommand(), a.serveCommand(),
		}},
		{"More", []*cli.Command{a.schemaCommand(), a.generateCommand(), a.completionCommand(), a.mcpCommand(), a.versionCommand()}},
	} {
		for _, command := range group.commands {
			command.Category = group.name
			all = append(all, command)
		}
	}
	return all
}

// meant says which command does what a command of that name does in other tools.
func (a *app) meant() map[string]string {
	all := map[string]string{}
	for command, names := range map[string]string{
		"deploy":     "up apply run sync update",
		"plan":       "preview diff validate",
		"destroy":    "down delete rm remove",
		"drift":      "refresh",
		"dev":        "watch",
		"logs":       "tail",
		"stage list": "stack stacks workspace env ls list status",
		"state show": "show get describe",
		"login":      "auth signin",
		"events":     "inspect",
		"output":     "outputs",
		"init":       "new create",
		"unlock":     "force-unlock",
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = fmt.Sprintf("`%s %s` does that", a.name(), command)
		}
	}
	all["import"] = fmt.Sprintf("`%[1]s adopt ADDRESS ID` takes over an existing object; `%[1]s state import FILE` reads an exported state", a.name())
	return all
}
