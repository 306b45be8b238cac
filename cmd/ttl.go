package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/state"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// expiresFact is the name of the stage-wide fact that says when a stage may be reaped.
const expiresFact = "expires"

// ttlFlag lets a stage expire.
func ttlFlag() cli.Flag {
	return &cli.GenericFlag{Name: "ttl", Value: cli.NewDuration(0), Usage: "allow stage reap to delete the stage when no deploy with --ttl has been made for `DURATION`, such as 3d; 0: never"}
}

// expires reads when a stage may be reaped, zero for never.
func expires(snap *statestore.Snapshot, key *seal.Key) (time.Time, error) {
	sealed := snap.Meta[expiresFact]
	if sealed == nil {
		return time.Time{}, nil
	}
	plain, err := key.Open(sealed, state.Binding(snap.Stage, "\x00"+expiresFact))
	if err != nil {
		return time.Time{}, fmt.Errorf("the fact %s: %w", expiresFact, err)
	}
	v, err := tree.Decode(plain)
	if err != nil {
		return time.Time{}, fmt.Errorf("the fact %s: %w", expiresFact, err)
	}
	text, _ := v.(string)
	return time.Parse(time.RFC3339, text)
}

// storeTime is the store's clock when it gave a lease.
func storeTime(lease statestore.Lease) time.Time { return lease.Expires.Add(-lease.TTL) }

// renew writes when the stage expires, by the store's clock, as a run of its own. A duration of 0 lets it never expire.
func (s *session) renew(ctx context.Context, ttl time.Duration) error {
	e := s.engine
	lease, err := e.Store.Acquire(ctx, s.stage, statestore.Claim{Run: project.NewRun(), Command: "ttl", User: e.User})
	if err != nil {
		return err
	}
	var sealed []byte
	if ttl > 0 {
		until := storeTime(lease).Add(ttl).UTC().Format(time.RFC3339)
		sealed = e.Key.Seal(tree.Canonical(until), state.Binding(s.stage, "\x00"+expiresFact))
	}
	_, err = e.Store.Commit(context.WithoutCancel(ctx), lease, statestore.Batch{
		Seq: 1, Meta: map[string][]byte{expiresFact: sealed}, KeyID: e.Key.ID(), Finish: statestore.Succeeded,
	})
	return err
}

// expiring deploys with --ttl: a new stage expires from before its first object on, so that one whose deploy is cut is found
// too; of any other the time is renewed when the deploy is complete.
func (s *session) expiring(c *cli.Context, deploy func() error) error {
	if !c.IsSet("ttl") {
		return deploy()
	}
	runs, err := s.project.Store.Runs(c.Context, s.stage, 1)
	if err != nil {
		return err
	}
	isNew := len(runs) == 0
	if isNew && c.Duration("ttl") > 0 {
		if err := s.renew(c.Context, c.Duration("ttl")); err != nil {
			return err
		}
	}
	if err := deploy(); err != nil || isNew {
		return err
	}
	return s.renew(c.Context, c.Duration("ttl"))
}

func (a *app) stageReapCommand() *cli.Command {
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
		Action: a.stageReap,
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

func (a *app) stageReap(c *cli.Context) error {
	p, err := a.openStore(c)
	if err != nil {
		return err
	}
	stages, err := p.Store.Stages(c.Context)
	if err != nil {
		return err
	}
	var over []*session
	failed := false
	for _, stage := range stages {
		if name := c.String("stack"); name != "" && stage.Stack != name {
			continue
		}
		s, err := a.overdue(c, p, stage)
		if err != nil {
			failed = true
			a.Report(fmt.Errorf("%s: %w", stage, err))
		} else if s != nil {
			over = append(over, s)
		}
	}
	switch {
	case len(over) == 0 && failed:
		return cli.Exit(cli.ExitError)
	case len(over) == 0:
		if !a.AsJSON {
			fmt.Fprintln(a.Err, "no stage is over")
		}
		return nil
	case c.Bool("dry-run"):
		for _, s := range over {
			a.reaped(s, "over", nil)
		}
		return cli.Exit(cli.ExitPending)
	}
	if err := a.approveReap(c, over); err != nil {
		return err
	}
	for _, s := range over {
		switch err := s.reap(c); {
		case errors.Is(err, errRenewed):
			a.reaped(s, "renewed", nil)
		case err != nil && c.Context.Err() != nil:
			return err
		case err != nil:
			failed = true
			a.reaped(s, "remains", err)
		default:
			a.reaped(s, "deleted", nil)
		}
	}
	if failed {
		return cli.Exit(cli.ExitPartly)
	}
	return nil
}

// approveReap asks whether the stages that are over are deleted.
func (a *app) approveReap(c *cli.Context, over []*session) error {
	if c.Bool("yes") {
		return nil
	}
	for _, s := range over {
		fmt.Fprintf(a.Err, "%s is over since %s\n", s.stage, s.expires.UTC().Format(time.DateTime))
	}
	return a.Ask(c.Context, fmt.Sprintf("Delete %s?", render.Plural(len(over), "stage", "stages")))
}

// reaped prints what became of a stage.
func (a *app) reaped(s *session, result string, err error) {
	line := reaped{Type: "reap", Stack: s.stage.Stack, Stage: s.stage.Name, Expires: s.expires.UTC(), Result: result}
	if _, shown := errors.AsType[cli.ExitCode](err); err != nil && !shown {
		line.Error = a.Masked(err)
	}
	if a.AsJSON {
		a.JSON(line)
		return
	}
	if line.Error != "" {
		a.Report(err)
	}
	fmt.Fprintf(a.Out, "%s  %s\n", s.stage, result)
}

// overdue opens a stage that has objects and is over by the clock of this machine; nil for any other.
func (a *app) overdue(c *cli.Context, p *project.Project, stage statestore.Stage) (*session, error) {
	snap, err := p.Store.Load(c.Context, stage)
	if err != nil {
		return nil, err
	}
	if snap.Meta[expiresFact] == nil || len(snap.Rows) == 0 {
		return nil, nil //nolint:nilnil // it is not for reaping, which is no error
	}
	s := &session{
		app: a.opener, stage: stage, store: project.AbsoluteStore(c.String("store")), began: time.Now(), command: "reap", options: cli.PlanOptions(c),
	}
	dir := files.Folder(c.Args().First())
	if a.Program != nil && c.NArg() == 0 {
		dir = a.Program.Dir
	}
	if err := s.open(c, dir); err != nil {
		return nil, err
	}
	if s.expires, err = expires(snap, s.engine.Key); err != nil || time.Now().Before(s.expires) {
		return nil, err
	}
	return s, nil
}

// reap deletes everything of a stage, from its state.
func (s *session) reap(c *cli.Context) error {
	s.graph = &engine.Graph{Format: engine.GraphFormat, Stack: s.stage.Stack, Stage: s.stage.Name, Dir: s.dir}
	if err := s.findDir(c); err != nil {
		return err
	}
	s.engine.Store = &unlessRenewed{s.engine.Store, s.engine.Key}
	p, err := s.engine.PlanDestroy(c.Context, s.stage, s.graph, s.options)
	if err != nil {
		return err
	}
	if err := p.Refusal(); err != nil {
		return err
	}
	if blocked := p.Blocked(); len(blocked) > 0 {
		return p.BlockedError(blocked)
	}
	if err := s.apply(c, p); err != nil {
		return err
	}
	s.forget(c.Context, p)
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
		until, err = expires(snap, u.key)
	}
	if err == nil && !until.IsZero() && !storeTime(lease).Before(until) {
		return lease, nil
	}
	if err == nil {
		err = errRenewed
	}
	_, end := u.Store.Commit(context.WithoutCancel(ctx), lease, statestore.Batch{Seq: 1, Finish: statestore.Cancelled})
	return statestore.Lease{}, errors.Join(err, end)
}
