package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/seal"
)

func (a *app) stageCommand() *cli.Command {
	return &cli.Command{
		Name: "stage", Usage: "list stages, set what a service demands of one, and delete those that are over",
		Description: "A stage is one instance of a stack, with a state of its own. The state store knows a stage once it has state or a run\nof it.",
		Subcommands: []*cli.Command{a.stageReapCommand(), a.stageSetCommand(), {
			Name: "list", Usage: "list all stacks and stages of the state store", ArgsUsage: "[DIRECTORY]",
			Description: `One line for each stage: stack, stage, status, resources in state, last run. The status is that of the state, nothing
is read from the cloud: what changed outside athanor is found by drift. DIRECTORY is that of the project, whose
state store is read; no program is evaluated and no key is needed.

Status: deployed, running, interrupted, failed, unfinished (an object is half created), empty (a destroyed stage).`,
			UsageText: `stage list                      of the project in this directory
stage list --stack shop         of one stack
stage list --json               one object per line`,
			Flags: project.StageFlags(&cli.StringFlag{Name: "stack", Usage: "list the stages of stack `NAME` only"}), Before: untrusted.Reads, Action: a.stageList,
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

func (a *app) stageList(c *cli.Context) error {
	p, err := a.openStore(c)
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
	if a.AsJSON {
		for _, l := range lines {
			a.JSON(l)
		}
		return nil
	}
	if stack := c.String("stack"); len(lines) == 0 && stack != "" {
		fmt.Fprintf(a.Err, "no stages of stack %s in %s\nnext:  athanor stage list\n", stack, p.Name)
		return nil
	}
	if len(lines) == 0 {
		fmt.Fprintf(a.Err, "no stages yet in %s\nnext:  athanor deploy\n", p.Name)
		return nil
	}
	var shown []render.Stage
	for i := range lines {
		shown = append(shown, lines[i].shown())
	}
	a.Style(a.Out).Stages(a.Out, shown, time.Now())
	return nil
}

// openStore opens the state store of the directory that the command names, without a program.
func (o *opener) openStore(c *cli.Context) (*project.Project, error) {
	if c.NArg() > 1 {
		return nil, cli.Hint(fmt.Errorf("unexpected argument %q", c.Args().Get(1)), "one DIRECTORY at most")
	}
	dir := files.Folder(c.Args().First())
	if o.Program != nil && c.NArg() == 0 {
		dir = o.Program.Dir
	}
	store := project.AbsoluteStore(c.String("store"))
	if err := o.Confine(c, &loader.Source{Dir: dir}, store); err != nil {
		return nil, err
	}
	if err := o.Permit(c.Context, grants.Document{}); err != nil {
		return nil, err
	}
	p, err := project.Open(dir, store)
	if err == nil {
		o.store = p.Store
	}
	return p, err
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
	if err != nil || snap.Meta[expiresFact] == nil {
		return err
	}
	place := project.KeyPlace(ctx, stage, p.Root)
	place.Stored = snap.Meta[keeper.RingFact]
	if key, err := seal.Load(place, snap.KeyID); err == nil {
		l.Expires, err = expires(snap, key)
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

// otherStages lists the stages that the store has of the session's stack, and whether the session's own is among them.
func (s *session) otherStages(ctx context.Context) (others []string, known bool, err error) {
	stages, err := s.project.Store.Stages(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, stage := range stages {
		switch {
		case stage == s.stage:
			known = true
		case stage.Stack == s.stage.Stack:
			others = append(others, stage.Name)
		}
	}
	slices.Sort(others)
	return others, known, nil
}

// existing makes sure that a command which only reads works on a stage that there is. A stage that was named and is unknown
// beside others is an error; of the default one it says which other stages there are.
func (s *session) existing(c *cli.Context) error {
	others, known, err := s.otherStages(c.Context)
	if err != nil || known || len(others) == 0 {
		return err
	}
	if c.String("stage") == "" {
		if !s.app.AsJSON {
			fmt.Fprintf(s.app.Err, "note: stack %s has no stage %s yet; it has %s: --stage %s\n", s.stage.Stack, s.stage.Name, strings.Join(others, ", "),
				suggested(s.stage.Name, others))
		}
		return nil
	}
	err = fmt.Errorf("stack %s has no stage %s; it has %s", s.stage.Stack, s.stage.Name, strings.Join(others, ", "))
	if near, ok := props.Nearest(s.stage.Name, others); ok {
		err = cli.Hint(err, "did you mean --stage "+near+"?")
	}
	return cli.Hint(err, fmt.Sprintf("athanor deploy --stage %s --new-stage creates it", s.stage.Name))
}

// suggested is the stage that is meant most likely: the one of dev sessions, else the first.
func suggested(stage string, others []string) string {
	local := engine.LocalStage + strings.TrimPrefix(stage, "dev-")
	if slices.Contains(others, local) {
		return local
	}
	return others[0]
}

// newStageFlag permits a stage that the store does not know.
func newStageFlag() cli.Flag {
	return &cli.BoolFlag{Category: cli.Safety, Name: "new-stage", Usage: "allow creating a stage beside others without asking, as --yes alone does not"}
}

// newStage is why a stage is not created; nil where it is known, the first of its stack, the default one, or permitted. With
// count, it asks on a terminal for the name of the stage, and reports that it was typed.
func (s *session) newStage(c *cli.Context, count int) (typed bool, err error) {
	a := s.app
	if c.String("stage") == "" || c.Bool("new-stage") || s.savedFile != nil && s.savedFile.NewStage || s.reviewed != nil && s.reviewed.NewStage {
		return false, nil
	}
	others, known, err := s.otherStages(c.Context)
	if err != nil || known || len(others) == 0 {
		return false, err
	}
	near, found := props.Nearest(s.stage.Name, others)
	if c.Bool("yes") || a.AsJSON || !terminal.IsTerminal(a.In) {
		err := fmt.Errorf("%w: stage %s of %s is new, beside %s; --yes does not create it", engine.ErrNotApproved, s.stage.Name, s.stage.Stack, strings.Join(others, ", "))
		if found {
			err = cli.Hint(err, fmt.Sprintf("--stage %s if you meant %s", near, near))
		}
		return false, cli.Hint(err, "--new-stage creates "+s.stage.Name)
	}
	if count == 0 {
		return false, nil // it is asked when the plan is known
	}
	if !found {
		near = ""
	}
	a.Style(a.Err).NewStage(a.Err, s.stage.Stack, s.stage.Name, others, near, count)
	return true, a.Expect(c.Context, s.stage.Name)
}
