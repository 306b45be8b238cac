package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/savedplan"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// reviewedFlag holds a deploy to a plan that was reviewed.
func reviewedFlag() cli.Flag {
	return &cli.StringFlag{Category: cli.Safety, Name: "reviewed", Usage: "deploy only what the saved plan in `FILE` announces; else exit 5 with the difference"}
}

// readReview reads the reviewed plan of a deploy, nil when none is given.
func (s *session) readReview(c *cli.Context) error {
	if id := c.String("approved"); id != "" {
		if c.IsSet("reviewed") || s.saved != nil {
			return cli.Hint(errors.New("--approved: the plan is the approved one"), "leave out --reviewed, and name the program as TARGET")
		}
		return s.readApproved(c.Context, id)
	}
	file := c.String("reviewed")
	switch {
	case !c.IsSet("reviewed"):
		return nil
	case s.saved != nil:
		return cli.Hint(errors.New("--reviewed: a saved plan is applied as it was made"), "name the program as TARGET; it is planned anew and compared with FILE")
	}
	data, err := localfile.ReadAtMost(context.WithoutCancel(c.Context), files.Absolute(file), loader.MaxInput)
	if err != nil {
		return fmt.Errorf("--reviewed %s: %w", file, files.WithoutPath(err))
	}
	if s.reviewed, err = savedplan.ParseReview(s.engine.Key, s.stage, data); err != nil {
		return fmt.Errorf("--reviewed %s: %w", file, err)
	}
	return nil
}

// asReviewed is the error about all that a plan does and the reviewed one does not; nil when there is nothing of the kind.
func (s *session) asReviewed(p *engine.Plan) error {
	if s.reviewed == nil {
		return nil
	}
	differences := savedplan.Unreviewed(s.reviewed.Plan, p)
	if len(differences) == 0 {
		return nil
	}
	return cli.Hint(fmt.Errorf("%w: the plan does what was not reviewed; nothing was changed: %s", engine.ErrNotApproved, strings.Join(differences, "; ")),
		"athanor plan --out FILE makes a plan to review again")
}
