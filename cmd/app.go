package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/account"
	"github.com/athanor-dev/athanor/cmd/internal/adoption"
	"github.com/athanor-dev/athanor/cmd/internal/agent"
	"github.com/athanor-dev/athanor/cmd/internal/devsession"
	"github.com/athanor-dev/athanor/cmd/internal/serving"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/reconcile"
)

// app is one call of the command.
type app struct {
	*session.Opener

	// args is the command line as it was typed.
	args []string
	// again: this program takes the place of an older one in a dev session.
	again bool
}

// run runs the command and gives its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	a.args = args
	ctx, a.Interrupts = terminal.Catch(ctx, a.Err)
	defer a.Interrupts.End()
	line := cli.App{
		Name: a.Name(), Usage: "make the cloud match a program", Description: overview, Examples: overviewExamples,
		Reader: a.In, Writer: a.Out, Commands: a.commands(), Guard: untrusted.OnlyRead, Rules: flagRules, LookupEnv: os.LookupEnv, Meant: a.meant(), Complete: func(w cli.Wanted) []string { return completedWords(a.Opener, w) },
		Help: func(w io.Writer, text string) { a.Style(w).Help(w, text) },
	}
	notice := a.Release.LookForNewer(ctx, args, a.Program == nil && !a.AsJSON && terminal.IsTerminal(a.Out) && terminal.IsTerminal(a.Err))
	err := line.Run(ctx, args)
	if ending := a.EndChildren(); err == nil {
		err = ending
	}
	if a.Store != nil {
		if closing := a.Store.Close(); err == nil {
			err = closing
		}
	}
	coded, said := errors.AsType[cli.ExitCode](err)
	// A plan is no answer to a user who stopped it while it was shown.
	if err != nil && (!said || coded == cli.ExitPending) && (ctx.Err() != nil || errors.Is(err, reconcile.ErrInterrupted)) {
		err = terminal.ErrInterrupted
	}
	code := a.ExitCode(err)
	notice.End(a.Err, time.Now())
	return code
}

const (
	overview = `It reads what exists, shows what would change, and applies it. It may be interrupted anywhere: every object has an
owner tag or a deterministic name, so the next run completes an interrupted one.`

	overviewExamples = `init my-stack              write a first stack
deploy my-stack            plan, show, ask, apply
plan my-stack              only show what would change
destroy my-stack           delete everything of it`
)

// commands are all commands in the order of the help, which shows them in groups.
func (a *app) commands() []*cli.Command {
	var all []*cli.Command
	for _, group := range []struct {
		name     string
		commands []*cli.Command
	}{
		{"Start", []*cli.Command{initCommand(a.Opener), planCommand(a.Opener), deployCommand(a.Opener), devsession.Command(a.Opener, a.again), destroyCommand(a.Opener)}},
		{"Inspect", []*cli.Command{
			stageCommand(a.Opener), stateCommand(a.Opener), historyCommand(a.Opener), eventsCommand(a.Opener), driftCommand(a.Opener), outputCommand(a.Opener), logsCommand(a.Opener),
			graphCommand(a.Opener), kindsCommand(a.Opener), serving.UI(a.Opener),
		}},
		{"Repair", []*cli.Command{adoption.Command(a.Opener), orphansCommand(a.Opener), cancelCommand(a.Opener), unlockCommand(a.Opener), doctorCommand(a.Opener)}},
		{"Teams", []*cli.Command{
			account.Login(a.Terminal), account.Logout(a.Terminal), account.Token(a.Terminal), approveCommand(a.Opener), account.Audit(a.Terminal), secretCommand(a.Opener), allowCommand(a.Opener, a.args),
			configCommand(a.Opener), serving.Serve(a.Terminal, a.Release.Text),
		}},
		{"More", []*cli.Command{schemaCommand(a.Opener), generateCommand(a.Opener), completionCommand(a.Opener), agent.MCP(a.Loader, a.Release.Text), versionCommand(a.Opener)}},
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
			all[name] = fmt.Sprintf("`%s %s` does that", a.Name(), command)
		}
	}
	all["import"] = fmt.Sprintf("`%[1]s adopt ADDRESS ID` takes over an existing object; `%[1]s state import FILE` reads an exported state", a.Name())
	return all
}
