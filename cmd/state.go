package cmd

import (
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/engine"
)

func stateCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "state", Usage: "read state and repair it",
		Description: `State is a cache of what was deployed. Reading it needs no lease. A command that changes it is a run of its own:
it takes the lease, shows what it will do and asks. It exits 3 while another run holds the stage.`,
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the resources in state", ArgsUsage: "[TARGET]",
				Description: "One line for each object: address, kind, identity, and its state where that is not \"live\". With --json one\nobject per line, as `state show --json` prints it.",
				UsageText:   "state list\nstate list --stack shop --stage prod",
				Flags:       project.StageFlags(cli.StackFlag("read")), Before: untrusted.Reads, Action: func(c *cli.Context) error { return stateList(o, c) },
			},
			{
				Name: "show", Usage: "show the state of one resource", ArgsUsage: "ADDRESS [TARGET]",
				Description: "Its generations with their attributes, the props as last applied, and the resources it needs. Secrets are masked.",
				UsageText:   "state show queue\nstate show password --reveal --json",
				Flags:       project.StageFlags(cli.RevealFlag(), cli.StackFlag("read")), Before: untrusted.Reads, Action: func(c *cli.Context) error { return stateShow(o, c) },
			},
			stateMoveCommand(o), stateRemoveCommand(o), stateExportCommand(o), stateImportCommand(o), stateHistoryCommand(o), stateRestoreCommand(o),
			stateMigrateCommand(o), stateCheckCommand(o),
		},
	}
}

func stateMoveCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "mv", Usage: "move resources in state to other addresses or stages", ArgsUsage: "OLD NEW [OLD NEW]... [TARGET]",
		Description: `Renames resources in one stage; renamedFrom in the program does the same in every stage. The object gets an owner
tag with its new address in the same run and keeps its name; nothing else of it changes. Afterwards the program
with the new addresses finds nothing to do.

All moves of one command happen at once, so that two addresses can change places. An OLD and NEW that end in /
are whole scopes; / alone is the scope of everything. An object whose owner tag cannot be rewritten is refused,
and when writing an owner tag fails, every move is undone. The same command, or the next deploy, completes an
interrupted move.

A NEW of the form STACK[/STAGE]:ADDRESS is in another stage of the same store; without STAGE in the stage of the
same name. Both stages are held by a run of their own, and the objects get the owner tags of the other one. What
stays behind must not need what moves. As long as an interrupted move leaves a resource in the state of both,
neither stage is planned or deployed: the same command completes the move.

Exit codes: 0 moved; 1 refused, everything is as it was; 3 another run holds the stage; 5 not approved;
130 interrupted: state has moved, some owner tags are still to be written.`,
		UsageText: `state mv queue jobs                 one address
state mv net/ core/                 a whole scope
state mv blue green green blue      two change places
state mv motd site:motd             to the same stage of stack site
state mv a site/prod:a b site/prod:b --new-stage`,
		Flags: project.StageFlags(cli.ApplyFlags(cli.StackFlag("read"), session.NewStageFlag())...), Action: func(c *cli.Context) error { return stateMove(o, c) },
	}
}

func stateRemoveCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "rm", Usage: "remove resources from state; the cloud is not touched", ArgsUsage: "ADDRESS...",
		Description: `Removes these addresses, or globs as with --target, from state and prints the identities of their objects. It
deletes nothing in the cloud: the objects keep their owner tags, and the next deploy of a program that declares
them adopts them again. To retain an object for good use forget in the program; to delete it, remove it from the
program and deploy. A resource that another one in state needs is refused, unless both are removed.

Exit codes: 0 removed; 1 refused; 3 another run holds the stage; 5 not approved.`,
		UsageText: `state rm queue
state rm 'net/**' --stack shop --stage prod
state rm broken                     also one that cannot be read`,
		Flags: project.StageFlags(cli.ApplyFlags(cli.StackFlag("read"))...), Action: func(c *cli.Context) error { return stateRemove(o, c) },
	}
}

func stateMove(o *session.Opener, c *cli.Context) error {
	names := c.NArg() / 2 * 2
	if names == 0 {
		return cli.Hint(errors.New("state mv: from which address to which?"), "athanor state mv OLD NEW, or OLD STACK[/STAGE]:NEW; `athanor state list` lists addresses")
	}
	s, err := o.OpenState(c, names, "Move these in")
	if err != nil || s == nil {
		return err
	}
	var renames []engine.Rename
	for i := 0; i < names; i += 2 {
		renames = append(renames, engine.Rename{From: c.Args().Get(i), To: c.Args().Get(i + 1)})
	}
	to, err := destinations(s, renames)
	if err != nil {
		return err
	}
	if to != s.Stage {
		return halfMoved(o, relocate(s, c, to, renames), "the same command finishes it")
	}
	p, err := s.Engine.PlanMove(c.Context, s.Stage, s.Graph.Dir, renames)
	return halfMoved(o, s.Proceed(c, p, err), "the same command finishes it, and so does the next deploy")
}

// halfMoved tells a move that was cut from one that was not begun, and says what finishes it.
func halfMoved(o *session.Opener, err error, next string) error {
	if _, half := errors.AsType[*engine.HalfMovedError](err); !half {
		return err
	}
	o.Report(cli.Hint(err, next))
	return cli.Exit(cli.ExitInterrupted)
}

func stateRemove(o *session.Opener, c *cli.Context) error {
	if c.NArg() == 0 {
		return cli.Hint(errors.New("state rm: which addresses?"), "`athanor state list` lists them")
	}
	s, err := o.OpenState(c, c.NArg(), "Remove these from the state of, and delete nothing in")
	if err != nil || s == nil {
		return err
	}
	p, err := s.Engine.PlanRemove(c.Context, s.Stage, c.Args().Slice())
	if err = s.Proceed(c, p, err); err == nil && !o.AsJSON {
		fmt.Fprintln(o.Err, "Removed from state. The cloud objects were not deleted.")
	}
	return err
}
