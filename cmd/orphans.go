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

func (a *app) orphansCommand() *cli.Command {
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
		Action: a.orphans,
	}
}

func (a *app) orphans(c *cli.Context) error {
	s, err := a.OpenStage(c)
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
		return a.listOrphans(s, found)
	}
	if err == nil && !p.Pending() {
		return a.listOrphans(s, found)
	}
	p, err = session.OfferTakeOver(s, c, p, err, plan)
	return s.Proceed(c, p, err)
}

// listOrphans says what was found, and where it was looked. Nowhere is an error: that is no clean world.
func (a *app) listOrphans(s *session.Session, found *engine.Orphans) error {
	if a.AsJSON {
		a.JSON(found)
	} else {
		a.Style(a.Out).Things(a.Out, found.Things)
	}
	for _, why := range found.Unreached {
		fmt.Fprintln(a.Err, "not looked at:", why)
	}
	if len(found.Places) == 0 {
		return cli.Hint(fmt.Errorf("%s: %w", s.Stage, errNowhere), "run it in the directory of the program, which names the locations")
	}
	if a.AsJSON {
		return nil
	}
	for _, place := range found.Places {
		fmt.Fprintln(a.Err, "looked in", place)
	}
	if len(found.Things) == 0 {
		fmt.Fprintf(a.Err, "%s: no object has the owner tag and is not in state\n", s.Stage)
	}
	return nil
}

var errNowhere = errors.New("no location to search is known")
