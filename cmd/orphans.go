package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/engine"
)

func (a *app) orphansCommand() *cli.Command {
	return &cli.Command{
		Name: "orphans", Usage: "list marked things of a stage that no row knows", ArgsUsage: "[TARGET]",
		Description: `Asks the cloud for everything that carries the mark of this stack and stage, and lists what the record does
not know: left over by a lost record, or by a program that dropped it meanwhile. What the program declares is
taken up by the next deploy. What was retained is listed and never deleted.

It looks in every place that the program or the record names; with neither, where the credentials lead.
--delete deletes the rest, after asking. What holds data needs --allow-delete, and what another store of the
stage marked needs --take-over or an answer.

Exit codes: 0 done; 1 error; 3 another run holds the stage; 4 some could not be deleted; 5 not approved.`,
		UsageText: `orphans                         list them
orphans --delete                delete them, after asking
orphans --stack shop --stage dev-ada`,
		Flags: stageFlags(cli.DeleteFlags(cli.ApplyFlags(
			cli.StackFlag("look for"),
			&cli.BoolFlag{Name: "delete", Usage: "delete those that are neither declared nor retained"})...)...),
		Action: a.orphans,
	}
}

func (a *app) orphans(c *cli.Context) error {
	s, err := a.openStage(c)
	if err != nil || s == nil {
		return err
	}
	var found *engine.Orphans
	plan := func(ctx context.Context) (*engine.Plan, error) {
		var err error
		if found, err = s.engine.PlanOrphans(ctx, s.stage, s.graph, s.options); found == nil {
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
	p, err = s.offerTakeOver(c, p, err, plan)
	return s.proceed(c, p, err)
}

// listOrphans says what was found, and where it was looked. Nowhere is an error: that is no clean world.
func (a *app) listOrphans(s *session, found *engine.Orphans) error {
	if a.asJSON {
		a.json(found)
	} else {
		a.style(a.out).Things(a.out, found.Things)
	}
	for _, why := range found.Unreached {
		fmt.Fprintln(a.err, "not looked at:", why)
	}
	if len(found.Places) == 0 {
		return hint(fmt.Errorf("%s: %w", s.stage, errNowhere), "run it beside the program, which says where to look")
	}
	if a.asJSON {
		return nil
	}
	for _, place := range found.Places {
		fmt.Fprintln(a.err, "looked in", place)
	}
	if len(found.Things) == 0 {
		fmt.Fprintf(a.err, "%s: nothing is marked that the record does not know\n", s.stage)
	}
	return nil
}

var errNowhere = errors.New("there is nowhere to look")
