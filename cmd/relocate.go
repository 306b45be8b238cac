package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/random"
	"github.com/athanor-dev/athanor/statestore"
)

// destination reads STACK[/STAGE]:ADDRESS; without STAGE it is the stage of that name that the command works on.
func destination(s *session.Session, to string) (stage statestore.Stage, addr string, err error) {
	where, addr, _ := strings.Cut(to, ":")
	stack, name, _ := strings.Cut(where, "/")
	stage = statestore.Stage{Stack: stack, Name: cmp.Or(name, s.Stage.Name)}
	if stack == "" || addr == "" || stack != project.StagePart(stack) {
		return stage, "", cli.Hint(fmt.Errorf("%q is not STACK[/STAGE]:ADDRESS", to), "for example site/prod:motd, or site:motd for the same stage of another stack")
	}
	return stage, addr, project.CheckStage(stage.Name)
}

// destinations reads the renames of one command: all within the stage, or all to one other stage.
func destinations(s *session.Session, renames []engine.Rename) (statestore.Stage, error) {
	abroad := func(r engine.Rename) bool { return strings.Contains(r.To, ":") }
	if !slices.ContainsFunc(renames, abroad) {
		return s.Stage, nil
	}
	var all statestore.Stage
	for i := range renames {
		r := &renames[i]
		if !abroad(*r) {
			return all, cli.Hint(fmt.Errorf("state mv: %s stays in %s and others leave it", r.To, s.Stage), "move within the stage in a command of its own")
		}
		stage, addr, err := destination(s, r.To)
		switch {
		case err != nil:
			return all, fmt.Errorf("state mv: %w", err)
		case i > 0 && stage != all:
			return all, cli.Hint(fmt.Errorf("state mv: to %s and to %s", all, stage), "one command moves to one stage")
		}
		all, r.To = stage, addr
	}
	return all, nil
}

// relocate moves resources to another stage of the same store.
func relocate(s *session.Session, c *cli.Context, to statestore.Stage, renames []engine.Rename) error {
	target, err := elsewhere(s, c, to)
	if err != nil {
		return err
	}
	dir, err := target.Engine.StackDir(c.Context, to)
	if err != nil {
		return err
	}
	target.Graph.Dir = cmp.Or(dir, s.Graph.Dir)
	m, err := engine.PlanRelocation(c.Context, engine.StageEnd{Engine: s.Engine, Stage: s.Stage, Dir: s.Graph.Dir},
		engine.StageEnd{Engine: target.Engine, Stage: to, Dir: target.Graph.Dir}, renames, random.Derives)
	if err != nil {
		return err
	}
	if !s.Opener.AsJSON {
		s.ShowPlan(s.Opener.Err, m.Source, false)
		fmt.Fprintln(s.Opener.Err)
	}
	target.ApplyPlan = func(ctx context.Context, _ *engine.Plan, o engine.ApplyOptions) (*engine.Result, error) {
		return m.Apply(ctx, o)
	}
	return target.Proceed(c, m.Target, nil)
}

// elsewhere is a session on another stage of the same store, opened by its state alone. A stage that is new beside others of its
// stack needs --new-stage.
func elsewhere(s *session.Session, c *cli.Context, stage statestore.Stage) (*session.Session, error) {
	target := *s
	target.Stage = stage
	target.Graph = &engine.Graph{Format: engine.GraphFormat, Stack: stage.Stack, Stage: stage.Name, Dir: s.Dir}
	others, known, err := target.OtherStages(c.Context)
	if err != nil {
		return nil, err
	}
	if !known && len(others) > 0 && !c.Bool("new-stage") {
		err := fmt.Errorf("stack %s has no stage %s; it has %s", stage.Stack, stage.Name, strings.Join(others, ", "))
		return nil, cli.Hint(err, "--new-stage creates it")
	}
	if target.Engine, err = s.Project.Engine(c.Context, stage, s.Dir, s.Opener.Catalog, c.Bool("accept-older-state")); err != nil {
		return nil, err
	}
	target.Engine.Parallel = s.Engine.Parallel
	own, other := s.Engine, target.Engine
	s.Opener.Redacted = func(err error) string { return own.Redacted(errors.New(other.Redacted(err))) }
	return &target, nil
}
