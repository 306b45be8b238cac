package cmd

import (
	"fmt"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/render"
)

func (a *app) stateCheckCommand() *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "check that state is complete and consistent", ArgsUsage: "[TARGET]",
		Description: `Checks the structure of every row, that each physical thing has one owner, that all which is sealed opens, and
what the store can prove of its own file and indexes. A row that cannot be read is named with its physical
identity. It changes nothing, and looks at nothing but the record; plan compares that with the world.

Exit codes: 0 all is whole; 1 something is wrong.`,
		UsageText: "state check\nstate check --stack shop --stage prod --json",
		Flags:     stageFlags(cli.StackFlag("read")), Action: a.stateCheck,
	}
}

func (a *app) stateCheck(c *cli.Context) error {
	s, err := a.openRecord(c, 0)
	if err != nil || s == nil {
		return err
	}
	checkup, err := s.engine.Check(c.Context, s.stage)
	if err != nil {
		return err
	}
	line := render.Checkup{
		Stack: s.stage.Stack, Stage: s.stage.Name, Serial: checkup.Serial, Rows: checkup.Rows, Things: checkup.Things, Problems: []render.Finding{},
	}
	for _, f := range checkup.Findings {
		found := render.Finding{Address: f.Address, Error: a.masked(f.Err), Identities: f.Identities}
		if f.Address != "" {
			found.Hints = []string{"`athanor state rm " + f.Address + "` removes it from state; the next deploy finds existing objects by reading"}
		}
		line.Problems = append(line.Problems, found)
	}
	if origin := s.engine.Key.Origin(); origin.Alone && checkup.Serial > 0 {
		line.Notes = append(line.Notes, fmt.Sprintf("the key %s is in %s, which only this machine has: keep a copy of it, nothing else opens the record; "+
			"athanor secret rewrap wraps it for others", s.engine.Key.ID(), origin.Text))
	}
	if a.asJSON {
		a.json(line)
	} else {
		line.Print(a.out, a.err, a.style(a.err))
	}
	if len(line.Problems) > 0 {
		return cli.Exit(cli.ExitError)
	}
	return nil
}
