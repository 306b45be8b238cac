package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/engine"
)

func orphansCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "orphans", Usage: "list objects that have a stage's owner tag and are not in state", ArgsUsage: "[TARGET]",
		Description: `Searches the cloud for objects that have the owner tag of this stack and stage, and lists those that are not in
state: state was lost, or the program dropped them meanwhile. The next deploy adopts those that the program
declares. Retained objects are listed and never deleted.

It searches every location that the program or state names; with neither, that of the credentials. --delete
deletes the rest, after asking. Objects that hold data need --allow-delete, and objects tagged by another state
store of the stage need --take-over or an answer.

Exit codes: 0 done; 1 error; 3 another run holds the stage; 4 some could not be deleted; 5 not approved.`,
		UsageText: `orphans                         list them
orphans --delete                delete them, after asking
orphans --stack shop --stage dev-ada`,
		Flags: project.StageFlags(cli.DeleteFlags(cli.ApplyFlags(
			cli.StackFlag("search for"),
			&cli.BoolFlag{Name: "delete", Usage: "delete the objects that are neither declared nor retained"})...)...),
		Action: func(c *cli.Context) error { return findOrphans(o, c) },
	}
}

func findOrphans(o *session.Opener, c *cli.Context) error {
	s, err := o.OpenStage(c)
	if err != nil || s == nil {
		return err
	}
	var found *engine.Orphans
	plan := func(ctx context.Context) (*engine.Plan, error) {
		var err error
		if found, err = s.Engine.PlanOrphans(ctx, s.Stage, s.Graph, s.Options); found == nil {
			return nil, err
		}
		return found.Plan, err
	}
	p, err := plan(c.Context)
	if p == nil {
		return err
	}
	if !c.Bool("delete") {
		return listOrphans(o, s, found)
	}
	if err == nil && !p.Pending() {
		return listOrphans(o, s, found)
	}
	p, err = session.OfferTakeOver(s, c, p, err, plan)
	return s.Proceed(c, p, err)
}

// listOrphans says what was found, and where it was looked. Nowhere is an error: that is no clean world.
func listOrphans(o *session.Opener, s *session.Session, found *engine.Orphans) error {
	if o.AsJSON {
		o.JSON(found)
	} else {
		o.Style(o.Out).Things(o.Out, found.Things)
	}
	for _, why := range found.Unreached {
		fmt.Fprintln(o.Err, "not looked at:", why)
	}
	if len(found.Places) == 0 {
		return cli.Hint(fmt.Errorf("%s: %w", s.Stage, errNowhere), "run it in the directory of the program, which names the locations")
	}
	if o.AsJSON {
		return nil
	}
	for _, place := range found.Places {
		fmt.Fprintln(o.Err, "looked in", place)
	}
	if len(found.Things) == 0 {
		fmt.Fprintf(o.Err, "%s: no object has the owner tag and is not in state\n", s.Stage)
	}
	return nil
}

var errNowhere = errors.New("no location to search is known")
