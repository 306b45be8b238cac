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
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/random"
	"github.com/athanor-dev/athanor/statestore"
)

// destination reads STACK[/STAGE]:ADDRESS; without STAGE it is the stage of that name that the command works on.
func (s *session) destination(to string) (stage statestore.Stage, addr string, err error) {
	where, addr, _ := strings.Cut(to, ":")
	stack, name, _ := strings.Cut(where, "/")
	stage = statestore.Stage{Stack: stack, Name: cmp.Or(name, s.stage.Name)}
	if stack == "" || addr == "" || stack != project.StagePart(stack) {
		return stage, "", cli.Hint(fmt.Errorf("%q is not STACK[/STAGE]:ADDRESS", to), "for example site/prod:motd, or site:motd for the same stage of another stack")
	}
	return stage, addr, project.CheckStage(stage.Name)
}

// destinations reads the renames of one command: all within the stage, or all to one other stage.
func (s *session) destinations(renames []engine.Rename) (statestore.Stage, error) {
	abroad := func(r engine.Rename) bool { return strings.Contains(r.To, ":") }
	if !slices.ContainsFunc(renames, abroad) {
		return s.stage, nil
	}
	var all statestore.Stage
	for i := range renames {
		r := &renames[i]
		if !abroad(*r) {
			return all, cli.Hint(fmt.Errorf("state mv: %s stays in %s and others leave it", r.To, s.stage), "move within the stage in a command of its own")
		}
		stage, addr, err := s.destination(r.To)
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
func (s *session) relocate(c *cli.Context, to statestore.Stage, renames []engine.Rename) error {
	target, err := s.elsewhere(c, to)
	if err != nil {
		return err
	}
	dir, err := target.engine.StackDir(c.Context, to)
	if err != nil {
		return err
	}
	target.graph.Dir = cmp.Or(dir, s.graph.Dir)
	m, err := engine.PlanRelocation(c.Context, engine.StageEnd{Engine: s.engine, Stage: s.stage, Dir: s.graph.Dir},
		engine.StageEnd{Engine: target.engine, Stage: to, Dir: target.graph.Dir}, renames, random.Derives)
	if err != nil {
		return err
	}
	if !s.app.AsJSON {
		s.showPlan(s.app.Err, m.Source, false)
		fmt.Fprintln(s.app.Err)
	}
	target.applyPlan = func(ctx context.Context, _ *engine.Plan, o engine.ApplyOptions) (*engine.Result, error) {
		return m.Apply(ctx, o)
	}
	return target.proceed(c, m.Target, nil)
}

// elsewhere is a session on another stage of the same store, opened by its state alone. A stage that is new beside others of its
// stack needs --new-stage.
func (s *session) elsewhere(c *cli.Context, stage statestore.Stage) (*session, error) {
	target := *s
	target.stage = stage
	target.graph = &engine.Graph{Format: engine.GraphFormat, Stack: stage.Stack, Stage: stage.Name, Dir: s.dir}
	others, known, err := target.otherStages(c.Context)
	if err != nil {
		return nil, err
	}
	if !known && len(others) > 0 && !c.Bool("new-stage") {
		err := fmt.Errorf("stack %s has no stage %s; it has %s", stage.Stack, stage.Name, strings.Join(others, ", "))
		return nil, cli.Hint(err, "--new-stage creates it")
	}
	if target.engine, err = s.project.Engine(c.Context, stage, s.dir, s.app.Catalog, c.Bool("accept-older-state")); err != nil {
		return nil, err
	}
	target.engine.Parallel = s.engine.Parallel
	own, other := s.engine, target.engine
	s.app.Redacted = func(err error) string { return own.Redacted(errors.New(other.Redacted(err))) }
	return &target, nil
}
