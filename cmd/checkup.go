package cmd

import (
	"fmt"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/render"
)

func (a *app) stateCheckCommand() *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "check that state is complete and consistent", ArgsUsage: "[TARGET]",
		Description: `Checks the structure of every entry, that each object has one owner, that every sealed value opens, and what the
store can prove of its own file and indexes. It names an entry that cannot be read with the identity of its
object. It changes nothing and reads state alone; plan compares state with the cloud.

Exit codes: 0 state is complete and consistent; 1 something is wrong.`,
		UsageText: "state check\nstate check --stack shop --stage prod --json",
		Flags:     stageFlags(cli.StackFlag("read")), Before: reads, Action: a.stateCheck,
	}
}

func (a *app) stateCheck(c *cli.Context) error {
	s, err := a.openExisting(c, 0)
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
		line.Notes = append(line.Notes, fmt.Sprintf("the key %s is in %s, which only this machine has: keep a copy of it, nothing else opens the state; "+
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
