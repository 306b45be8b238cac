package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/s3"
)

func stateCheckCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "check that state is complete and consistent", ArgsUsage: "[TARGET]",
		Description: `Checks the structure of every entry, that each object has one owner, that every sealed value opens, and what the
store can prove of its own file and indexes. It names an entry that cannot be read with the identity of its
object. It changes nothing and reads state alone; plan compares state with the cloud.

With --rebuild-head, of a store in a bucket, it first makes the head of the stage again where that object is missing
or cannot be read, from the segments that lie beside it. It waits until a lease that the head may have held is over,
30 seconds; a run that held the stage has lost it. The newest runs are then not in the history. A head that can be
read is left alone. First stop those who hold a stage for longer: one that was moved to another store, tofu.

Exit codes: 0 state is complete and consistent; 1 something is wrong.`,
		UsageText: "state check\nstate check --stack shop --stage prod --json\nstate check --rebuild-head --stage prod",
		Flags: project.StageFlags(cli.StackFlag("read"),
			&cli.BoolFlag{Name: "rebuild-head", Usage: "make the lost or damaged head of the stage again, in a bucket"}),
		Before: untrusted.ReadsWithout("rebuild-head"), Action: func(c *cli.Context) error { return stateCheck(o, c) },
	}
}

// headRebuilder is a store that can make the head of a stage again.
type headRebuilder interface {
	RebuildHead(ctx context.Context, stage statestore.Stage, how s3.Rebuild) (s3.Rebuilt, error)
}

// rebuildHead makes the head of the stage again, and says of what.
func rebuildHead(o *session.Opener, c *cli.Context) (string, error) {
	s, dir, err := o.Locate(c, 0)
	if err != nil || s == nil {
		return "", err
	}
	p, err := project.Open(dir, s.Store)
	if err != nil {
		return "", err
	}
	store, ok := p.Store.(headRebuilder)
	if !ok {
		return "", cli.Hint(fmt.Errorf("--rebuild-head: %s has no heads", p.Name), "a store in a bucket has them: --store s3://BUCKET/PREFIX")
	}
	made, err := store.RebuildHead(c.Context, s.Stage, s3.Rebuild{
		Run: project.NewRun(), User: p.Who(), KeyOf: keeper.KeyOf,
		Waits: func(d time.Duration) {
			fmt.Fprintf(o.Err, "%s: waiting %s, for as long as somebody may hold it\n", s.Stage, d.Round(time.Second))
		},
	})
	switch {
	case err != nil:
		return "", err
	case !made.Done:
		return "the head can be read: it was left alone", nil
	}
	return fmt.Sprintf("the head was rebuilt from segment %s: serial %d, %s listed, %d left out; runs that the lost head alone named are not in the history",
		made.Newest, made.Serial, render.Plural(made.Segments, "segment", "segments"), made.Unlisted), nil
}

func stateCheck(o *session.Opener, c *cli.Context) error {
	var rebuilt string
	if c.Bool("rebuild-head") {
		var err error
		if rebuilt, err = rebuildHead(o, c); err != nil || rebuilt == "" {
			return err
		}
	}
	s, err := o.OpenExisting(c, 0)
	if err != nil || s == nil {
		return err
	}
	checkup, err := s.Engine.Check(c.Context, s.Stage)
	if err != nil {
		return err
	}
	line := render.Checkup{
		Stack: s.Stage.Stack, Stage: s.Stage.Name, Serial: checkup.Serial, Rows: checkup.Rows, Things: checkup.Things, Problems: []render.Finding{},
	}
	for _, f := range checkup.Findings {
		found := render.Finding{Address: f.Address, Error: o.Masked(f.Err), Identities: f.Identities}
		if f.Address != "" {
			found.Hints = []string{"`athanor state rm " + f.Address + "` removes it from state; the next deploy finds existing objects by reading"}
		}
		line.Problems = append(line.Problems, found)
	}
	if rebuilt != "" {
		line.Notes = append(line.Notes, rebuilt)
	}
	if origin := s.Engine.Key.Origin(); origin.Alone && checkup.Serial > 0 {
		line.Notes = append(line.Notes, fmt.Sprintf("the key %s is in %s, which only this machine has: keep a copy of it, nothing else opens the state; "+
			"athanor secret rewrap wraps it for others", s.Engine.Key.ID(), origin.Text))
	}
	if o.AsJSON {
		o.JSON(line)
	} else {
		line.Print(o.Out, o.Err, o.Style(o.Err))
	}
	if len(line.Problems) > 0 {
		return cli.Exit(cli.ExitError)
	}
	return nil
}
