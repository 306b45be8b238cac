package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/seal"
)

func stageCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "stage", Usage: "list stages, set what a service demands of one, and delete those that are over",
		Description: "A stage is one instance of a stack, with a state of its own. The state store knows a stage once it has state or a run\nof it.",
		Subcommands: []*cli.Command{stageReapCommand(o), stageSetCommand(o), {
			Name: "list", Usage: "list all stacks and stages of the state store", ArgsUsage: "[DIRECTORY]",
			Description: `One line for each stage: stack, stage, status, resources in state, last run. The status is that of the state, nothing
is read from the cloud: what changed outside athanor is found by drift. DIRECTORY is that of the project, whose
state store is read; no program is evaluated and no key is needed.

Status: deployed, running, interrupted, failed, unfinished (an object is half created), empty (a destroyed stage).`,
			UsageText: `stage list                      of the project in this directory
stage list --stack shop         of one stack
stage list --json               one object per line`,
			Flags: project.StageFlags(&cli.StringFlag{Name: "stack", Usage: "list the stages of stack `NAME` only"}), Before: untrusted.Reads, Action: func(c *cli.Context) error { return stageList(o, c) },
		}},
	}
}

// stageLine is what `stage list --json` prints of a stage.
type stageLine struct {
	Stack     string             `json:"stack"`
	Stage     string             `json:"stage"`
	Status    string             `json:"status"`
	Resources int                `json:"resources"`
	Holder    *statestore.Holder `json:"holder,omitempty"`
	LastRun   *stageRun          `json:"lastRun,omitempty"`
	// Expires is when `stage reap` may delete it; zero for never, and where the stage's key is not on this machine.
	Expires time.Time `json:"expires,omitzero"`
	// Progress is how far the run is that holds the stage; nil where none does, or it does not say it.
	Progress *render.Progression `json:"progress,omitempty"`
}

// stageRun is the newest run of a stage.
type stageRun struct {
	Run     string              `json:"run"`
	Command string              `json:"command"`
	State   statestore.RunState `json:"state"`
	User    string              `json:"user,omitempty"`
	Started time.Time           `json:"started"`
	Ended   time.Time           `json:"ended,omitzero"`
}

func stageList(o *session.Opener, c *cli.Context) error {
	p, err := o.OpenStore(c)
	if err != nil {
		return err
	}
	lines, err := stageLines(c.Context, p.Store, c.String("stack"))
	if err != nil {
		return err
	}
	for i := range lines {
		if err := lines[i].readExpiry(c.Context, p); err != nil {
			return err
		}
	}
	if terminal.JSONLines(o.Terminal, lines) {
		return nil
	}
	if stack := c.String("stack"); len(lines) == 0 && stack != "" {
		fmt.Fprintf(o.Err, "no stages of stack %s in %s\nnext:  athanor stage list\n", stack, p.Name)
		return nil
	}
	if len(lines) == 0 {
		fmt.Fprintf(o.Err, "no stages yet in %s\nnext:  athanor deploy\n", p.Name)
		return nil
	}
	var shown []render.Stage
	for i := range lines {
		shown = append(shown, lines[i].shown())
	}
	o.Style(o.Out).Stages(o.Out, shown, time.Now())
	return nil
}

// stageLines reads what the store has of every stage, or of those of one stack.
func stageLines(ctx context.Context, store statestore.Store, stack string) ([]stageLine, error) {
	stages, err := store.Stages(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(stages, func(a, b statestore.Stage) int {
		return cmp.Or(strings.Compare(a.Stack, b.Stack), strings.Compare(a.Name, b.Name))
	})
	var lines []stageLine
	for _, stage := range stages {
		if stack != "" && stage.Stack != stack {
			continue
		}
		snap, err := store.Load(ctx, stage)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stage, err)
		}
		runs, err := store.Runs(ctx, stage, 1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stage, err)
		}
		l := stageLine{
			Stack: stage.Stack, Stage: stage.Name, Status: statestore.Status(snap, runs),
			Resources: len(snap.Rows) + len(snap.Damaged), Holder: snap.Holder,
		}
		if len(runs) > 0 {
			user, _ := project.IdentityOf(runs[0].User)
			l.LastRun = &stageRun{runs[0].ID, runs[0].Command, runs[0].State, user, runs[0].Started, runs[0].Ended}
			if l.Holder != nil && l.Holder.Run == runs[0].ID {
				if l.Progress, err = progression(ctx, store, stage, runs[0].ID); err != nil {
					return nil, err
				}
			}
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// readExpiry reads when a stage expires, where a key on this machine opens that.
func (l *stageLine) readExpiry(ctx context.Context, p *project.Project) error {
	stage := statestore.Stage{Stack: l.Stack, Name: l.Stage}
	snap, err := p.Store.Load(ctx, stage)
	if err != nil || snap.Meta[session.ExpiresFact] == nil {
		return err
	}
	place := project.KeyPlace(ctx, stage, p.Root)
	place.Stored = snap.Meta[keeper.RingFact]
	if key, err := seal.Load(place, snap.KeyID); err == nil {
		l.Expires, err = session.Expires(snap, key)
		return err
	}
	return nil
}

// shown is the line for people.
func (l *stageLine) shown() render.Stage {
	st := render.Stage{Stack: l.Stack, Stage: l.Stage, Status: l.Status, Resources: l.Resources, Expires: l.Expires}
	if r := l.LastRun; r != nil {
		st.Command, st.User, st.Started = r.Command, r.User, r.Started
	}
	if l.Progress != nil {
		st.Progress = *l.Progress
	}
	return st
}
