package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// OtherStages lists the stages that the store has of the session's stack, and whether the session's own is among them.
func (s *Session) OtherStages(ctx context.Context) (others []string, known bool, err error) {
	stages, err := s.Project.Store.Stages(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, stage := range stages {
		switch {
		case stage == s.Stage:
			known = true
		case stage.Stack == s.Stage.Stack:
			others = append(others, stage.Name)
		}
	}
	slices.Sort(others)
	return others, known, nil
}

// existing makes sure that a command which only reads works on a stage that there is. A stage that was named and is unknown
// beside others is an error; of the default one it says which other stages there are.
func (s *Session) existing(c *cli.Context) error {
	others, known, err := s.OtherStages(c.Context)
	if err != nil || known || len(others) == 0 {
		return err
	}
	if c.String("stage") == "" {
		if !s.Opener.AsJSON {
			fmt.Fprintf(s.Opener.Err, "note: stack %s has no stage %s yet; it has %s: --stage %s\n", s.Stage.Stack, s.Stage.Name, strings.Join(others, ", "),
				suggested(s.Stage.Name, others))
		}
		return nil
	}
	err = fmt.Errorf("stack %s has no stage %s; it has %s", s.Stage.Stack, s.Stage.Name, strings.Join(others, ", "))
	if near, ok := props.Nearest(s.Stage.Name, others); ok {
		err = cli.Hint(err, "did you mean --stage "+near+"?")
	}
	return cli.Hint(err, fmt.Sprintf("athanor deploy --stage %s --new-stage creates it", s.Stage.Name))
}

// suggested is the stage that is meant most likely: the one of dev sessions, else the first.
func suggested(stage string, others []string) string {
	local := engine.LocalStage + strings.TrimPrefix(stage, "dev-")
	if slices.Contains(others, local) {
		return local
	}
	return others[0]
}

// NewStage is why a stage is not created; nil where it is known, the first of its stack, the default one, or permitted. With
// count, it asks on a terminal for the name of the stage, and reports that it was typed.
func (s *Session) NewStage(c *cli.Context, count int) (typed bool, err error) {
	a := s.Opener
	if c.String("stage") == "" || c.Bool("new-stage") || s.savedFile != nil && s.savedFile.NewStage || s.reviewed != nil && s.reviewed.NewStage {
		return false, nil
	}
	others, known, err := s.OtherStages(c.Context)
	if err != nil || known || len(others) == 0 {
		return false, err
	}
	near, found := props.Nearest(s.Stage.Name, others)
	if c.Bool("yes") || a.AsJSON || !terminal.IsTerminal(a.In) {
		err := fmt.Errorf("%w: stage %s of %s is new, beside %s; --yes does not create it", engine.ErrNotApproved, s.Stage.Name, s.Stage.Stack, strings.Join(others, ", "))
		if found {
			err = cli.Hint(err, fmt.Sprintf("--stage %s if you meant %s", near, near))
		}
		return false, cli.Hint(err, "--new-stage creates "+s.Stage.Name)
	}
	if count == 0 {
		return false, nil // it is asked when the plan is known
	}
	if !found {
		near = ""
	}
	a.Style(a.Err).NewStage(a.Err, s.Stage.Stack, s.Stage.Name, others, near, count)
	return true, a.Expect(c.Context, s.Stage.Name)
}

// NewStageFlag permits a stage that the store does not know.
func NewStageFlag() cli.Flag {
	return &cli.BoolFlag{Category: cli.Safety, Name: "new-stage", Usage: "allow creating a stage beside others without asking, as --yes alone does not"}
}
