package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// ttlFlag lets a stage expire.
func ttlFlag() cli.Flag {
	return &cli.GenericFlag{Name: "ttl", Value: new(cli.Duration), Usage: "allow stage reap to delete the stage when no deploy with --ttl has been made for `DURATION`, such as 3d; 0: never"}
}

func stageReapCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "reap", Usage: "delete the stages whose --ttl is over", ArgsUsage: "[DIRECTORY]",
		Description: `Deletes the stages of the state store that a deploy with --ttl created, and that no such deploy has renewed in time:
by the clock of the store, under the stage's lease. It works from state, without the program. A stage that holds
protected resources stays whole, and so does one that holds data without a permission.

Exit codes: 0 none is left, or none was over; 1 error; 2 with --dry-run: some are over; 4 some remain; 5 not
approved.`,
		UsageText: `stage reap                      asks before it deletes
stage reap --yes --allow-delete '**'`,
		Flags: project.StageFlags(cli.DeleteFlags(cli.YesFlag(),
			cli.DryRunFlag("only list the stages that are over"),
			&cli.StringFlag{Name: "stack", Usage: "delete stages of stack `NAME` only"})...),
		Action: func(c *cli.Context) error { return stageReap(o, c) },
	}
}

// reaped is what `stage reap --json` prints of a stage that is over, after the lines of its run.
type reaped struct {
	Type    string    `json:"type"` // "reap"
	Stack   string    `json:"stack"`
	Stage   string    `json:"stage"`
	Expires time.Time `json:"expires"`
	// Result is "over", "deleted", "renewed" or "remains".
	Result string `json:"result"`
	Error  string `json:"error,omitempty"`
}

func stageReap(o *session.Opener, c *cli.Context) error {
	p, err := o.OpenStore(c)
	if err != nil {
		return err
	}
	stages, err := p.Store.Stages(c.Context)
	if err != nil {
		return err
	}
	var over []*session.Session
	failed := false
	for _, stage := range stages {
		if name := c.String("stack"); name != "" && stage.Stack != name {
			continue
		}
		s, err := overdue(o, c, p, stage)
		if err != nil {
			failed = true
			o.Report(fmt.Errorf("%s: %w", stage, err))
		} else if s != nil {
			over = append(over, s)
		}
	}
	switch {
	case len(over) == 0 && failed:
		return cli.Exit(cli.ExitError)
	case len(over) == 0:
		if !o.AsJSON {
			fmt.Fprintln(o.Err, "no stage is over")
		}
		return nil
	case c.Bool("dry-run"):
		for _, s := range over {
			sayReaped(o, s, "over", nil)
		}
		return cli.Exit(cli.ExitPending)
	}
	if err := approveReap(o, c, over); err != nil {
		return err
	}
	for _, s := range over {
		switch err := reapStage(s, c); {
		case errors.Is(err, errRenewed):
			sayReaped(o, s, "renewed", nil)
		case err != nil && c.Context.Err() != nil:
			return err
		case err != nil:
			failed = true
			sayReaped(o, s, "remains", err)
		default:
			sayReaped(o, s, "deleted", nil)
		}
	}
	if failed {
		return cli.Exit(cli.ExitPartly)
	}
	return nil
}

// approveReap asks whether the stages that are over are deleted.
func approveReap(o *session.Opener, c *cli.Context, over []*session.Session) error {
	if c.Bool("yes") {
		return nil
	}
	for _, s := range over {
		fmt.Fprintf(o.Err, "%s is over since %s\n", s.Stage, s.Expires.UTC().Format(time.DateTime))
	}
	return o.Ask(c.Context, fmt.Sprintf("Delete %s?", render.Plural(len(over), "stage", "stages")))
}

// sayReaped prints what became of a stage.
func sayReaped(o *session.Opener, s *session.Session, result string, err error) {
	line := reaped{Type: "reap", Stack: s.Stage.Stack, Stage: s.Stage.Name, Expires: s.Expires.UTC(), Result: result}
	if _, shown := errors.AsType[cli.ExitCode](err); err != nil && !shown {
		line.Error = o.Masked(err)
	}
	if o.WroteJSON(line) {
		return
	}
	if line.Error != "" {
		o.Report(err)
	}
	fmt.Fprintf(o.Out, "%s  %s\n", s.Stage, result)
}

// overdue opens a stage that has objects and is over by the clock of this machine; nil for any other.
func overdue(o *session.Opener, c *cli.Context, p *project.Project, stage statestore.Stage) (*session.Session, error) {
	snap, err := p.Store.Load(c.Context, stage)
	if err != nil {
		return nil, err
	}
	if snap.Meta[session.ExpiresFact] == nil || len(snap.Rows) == 0 {
		return nil, nil //nolint:nilnil // it is not for reaping, which is no error
	}
	s := &session.Session{
		Opener: o, Stage: stage, Store: project.AbsoluteStore(c.String("store")), Began: time.Now(), Command: "reap", Options: cli.PlanOptions(c),
	}
	dir := files.Folder(c.Args().First())
	if o.Program != nil && c.NArg() == 0 {
		dir = o.Program.Dir
	}
	if err := s.Open(c, dir); err != nil {
		return nil, err
	}
	if s.Expires, err = session.Expires(snap, s.Engine.Key); err != nil || time.Now().Before(s.Expires) {
		return nil, err
	}
	return s, nil
}

// reapStage deletes everything of a stage, from its state.
func reapStage(s *session.Session, c *cli.Context) error {
	s.Graph = &engine.Graph{Format: engine.GraphFormat, Stack: s.Stage.Stack, Stage: s.Stage.Name, Dir: s.Dir}
	if err := s.FindDir(c); err != nil {
		return err
	}
	s.Engine.Store = &unlessRenewed{s.Engine.Store, s.Engine.Key}
	p, err := s.Engine.PlanDestroy(c.Context, s.Stage, s.Graph, s.Options)
	if err != nil {
		return err
	}
	if err := p.Refusal(); err != nil {
		return err
	}
	if blocked := p.Blocked(); len(blocked) > 0 {
		return p.BlockedError(blocked)
	}
	if err := s.Apply(c, p); err != nil {
		return err
	}
	s.Forget(c.Context, p)
	return nil
}

// errRenewed ends the reaping of a stage that is not over after all.
var errRenewed = errors.New("the stage was renewed, or is not over by the clock of the state store")

// unlessRenewed is a store that gives the lease of a stage only when the stage is over by the store's own clock. It looks under
// the lease, so that no deploy can renew the stage in between.
type unlessRenewed struct {
	statestore.Store
	key *seal.Key
}

// Acquire implements [statestore.Store].
func (u *unlessRenewed) Acquire(ctx context.Context, stage statestore.Stage, claim statestore.Claim) (statestore.Lease, error) {
	lease, err := u.Store.Acquire(ctx, stage, claim)
	if err != nil {
		return lease, err
	}
	snap, err := u.Store.Load(ctx, stage)
	var until time.Time
	if err == nil {
		until, err = session.Expires(snap, u.key)
	}
	if err == nil && !until.IsZero() && !session.StoreTime(lease).Before(until) {
		return lease, nil
	}
	if err == nil {
		err = errRenewed
	}
	_, end := u.Store.Commit(context.WithoutCancel(ctx), lease, statestore.Batch{Seq: 1, Finish: statestore.Cancelled})
	return statestore.Lease{}, errors.Join(err, end)
}
