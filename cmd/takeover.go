package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
)

// offerTakeOver asks whether objects tagged by another store of the stage may be deleted, where that is all that a plan
// refuses and somebody is there to answer. --yes alone is no answer to that. It gives the plan that then holds.
func (s *session) offerTakeOver(c *cli.Context, p *engine.Plan, refused error,
	again func(context.Context) (*engine.Plan, error),
) (*engine.Plan, error) {
	a := s.app
	problems := render.Problems(refused)
	if p == nil || len(problems) == 0 || s.saved != nil || c.Bool("yes") || a.AsJSON || !terminal.IsTerminal(a.In) {
		return p, refused
	}
	for _, problem := range problems {
		if !errors.Is(problem.Err, engine.ErrOtherStore) {
			return p, refused
		}
	}
	fmt.Fprintf(a.Err, "These are tagged by another state store of %s:\n", s.stage)
	for _, problem := range problems {
		fmt.Fprintf(a.Err, "  %s: %s\n", problem.Address, a.Masked(problem.Err))
	}
	a.Style(a.Err).Question(a.Err, "If that store is still in use, they belong to it. Delete them? [y/N] ")
	switch yes, err := a.Answer(c.Context); {
	case err != nil:
		fmt.Fprintln(a.Err)
		return nil, err
	case !yes:
		fmt.Fprintln(a.Err, "Nothing was changed.")
		return nil, cli.Exit(cli.ExitNotApproved)
	}
	s.options.TakeOver = true
	return again(c.Context)
}
