package cmd

import (
	"errors"
	"fmt"
	"maps"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
)

func stateHistoryCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "history", Usage: "list the versions of state that can be restored", ArgsUsage: "[TARGET]",
		Description: fmt.Sprintf(`Newest first, and the first one is the state as it is. A version is the state as a run left it. The %d before the newest are kept,
or fewer of a stage whose runs change much; `+"`secret rotate`"+` gives them up, since an older key sealed them.`, statestore.KeptVersions),
		UsageText: `state history --stage prod
state restore --serial 17 --stage prod        make one the newest`,
		Flags:  project.StageFlags(cli.StackFlag("read")),
		Before: untrusted.Reads, Action: func(c *cli.Context) error { return stateHistory(o, c) },
	}
}

func stateRestoreCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "restore", Usage: "make an earlier version of state the newest", ArgsUsage: "[TARGET]",
		Description: `Replaces state by the version with serial N, in one commit, or not at all. ` + "`state history`" + ` lists the versions. No object in the
cloud is changed: what was created or deleted since is found by reading, and the next deploy goes on from there.

Exit codes: 0 restored, or nothing to do; 1 refused; 3 another run holds the stage; 5 not approved.`,
		UsageText: `state restore --serial 17
state restore --serial 17 --stage prod --yes`,
		Flags:  project.StageFlags(cli.ApplyFlags(cli.StackFlag("restore"), &cli.GenericFlag{Name: "serial", Value: new(cli.Count), Usage: "restore the version with serial `N`; required"})...),
		Action: func(c *cli.Context) error { return stateRestore(o, c) },
	}
}

func stateHistory(o *session.Opener, c *cli.Context) error {
	s, err := o.OpenRuns(c, 0)
	if err != nil || s == nil {
		return err
	}
	store, err := s.Project.Versions()
	if err != nil {
		return err
	}
	versions, err := store.Versions(c.Context, s.Stage)
	if err != nil {
		return err
	}
	if len(versions) == 0 && !o.AsJSON {
		fmt.Fprintf(o.Err, "%s: there is no state\nnext:  %s\n", s.Stage, firstDeploy(c))
	}
	lines := make([]render.Version, len(versions))
	for i, v := range versions {
		user, identity := project.IdentityOf(v.User)
		lines[i] = render.Version{
			Type: "version", Stack: s.Stage.Stack, Stage: s.Stage.Name, Serial: v.Serial, Newest: i == 0, Run: v.Run, Command: v.Command,
			User: user, Identity: identity, Written: v.Written,
		}
	}
	if !terminal.JSONLines(o.Terminal, lines) {
		o.Style(o.Out).Versions(o.Out, lines)
	}
	return nil
}

func stateRestore(o *session.Opener, c *cli.Context) error {
	if !c.IsSet("serial") {
		return cli.Hint(errors.New("state restore: which version?"), "--serial N; `athanor state history` lists them")
	}
	s, err := o.OpenState(c, 0, "Replace the state by an earlier version in")
	if err != nil || s == nil {
		return err
	}
	store, err := s.Project.Versions()
	if err != nil {
		return err
	}
	versions, err := store.Versions(c.Context, s.Stage)
	if err != nil {
		return err
	}
	serial := c.Uint64("serial")
	snap, err := store.LoadVersion(c.Context, s.Stage, serial)
	if errors.Is(err, statestore.ErrNoVersion) {
		return cli.Hint(err, "`athanor state history` lists the versions that are kept")
	}
	if err != nil {
		return err
	}
	whole := keeper.NewWhole(s.Project.Store, s.Stage, s.Engine.Key)
	whole.Accept = c.Bool("accept-older-state")
	if err := whole.Prove(snap); err != nil {
		return fmt.Errorf("the version with serial %d: %w", serial, err)
	}
	maps.DeleteFunc(snap.Meta, func(name string, _ []byte) bool { return keeper.Own(name) })
	was := &engine.Engine{Store: project.OneVersion(s.Engine.Store, snap), Key: s.Engine.Key}
	doc, err := was.Export(c.Context, s.Stage, false)
	if err != nil {
		return fmt.Errorf("the version with serial %d: %w", serial, err)
	}
	p, err := s.Engine.PlanImport(c.Context, s.Stage, doc, new(versions[0].Serial))
	return s.Proceed(c, p, err)
}
