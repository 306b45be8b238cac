package cmd

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/keeper"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
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

func stageSetCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "set", Usage: "set what a service demands of a stage, and what its page shows", ArgsUsage: "KEY=VALUE... [TARGET]",
		Description: `It needs a service as the store, and the role admin on the stage. All of it is in the audit log.

approval=on|off  the stage takes only runs of plans that somebody else has approved (athanor approve). Where another admin has a token,
                 off is done when two admins have asked for it within a day; the first one is answered with exit code 5.
private=on|off   the page shows addresses, kinds and statuses only: no identities, locations, paths, errors or texts of events.
retention=DURATION|off
                 the service keeps entries of the audit log of the stack for so long at least, 30d or more, where serve --audit-keep says less.
                 Off demands nothing.`,
		UsageText: `stage set approval=on --stage prod
stage set private=on approval=on ./shop --stage prod
stage set retention=730d --stage prod`,
		Flags: project.StageFlags(), Action: func(c *cli.Context) error { return stageSet(o, c) },
	}
}

func stageSet(o *session.Opener, c *cli.Context) error {
	var change wire.StageRuleChange
	settings := map[string]**bool{"approval": &change.Approval, "private": &change.Private}
	n := 0
	var err error
	for ; n < c.NArg(); n++ {
		name, value, ok := strings.Cut(c.Args().Get(n), "=")
		if !ok {
			break
		}
		if name == "retention" {
			if change.Retention, err = retention(value); err != nil {
				return err
			}
			continue
		}
		into := settings[name]
		if into == nil {
			err := fmt.Errorf("%s=%s: a stage has no such setting", name, value)
			if near, ok := props.Nearest(name, []string{"approval", "private", "retention"}); ok {
				err = cli.Hint(err, "did you mean "+near+"?")
			}
			return cli.Hint(err, "approval=on|off, private=on|off, retention=DURATION|off")
		}
		if value != "on" && value != "off" {
			return cli.Hint(fmt.Errorf("%s=%s: it is on or off", name, value), "athanor stage set "+name+"=on")
		}
		*into = new(value == "on")
	}
	if n == 0 && c.NArg() > 0 {
		return cli.Hint(fmt.Errorf("stage set: %s is no KEY=VALUE", c.Args().First()), "athanor stage set private=on")
	}
	if n == 0 {
		return cli.Hint(errors.New("stage set: there is nothing to set"), "athanor stage set private=on")
	}
	var s *session.Session
	s, err = o.OpenProgram(c, n)
	if err != nil || s == nil {
		return err
	}
	return setRule(c.Context, s, change)
}

// retention is a duration as the service takes it. Off is none.
func retention(value string) (string, error) {
	if value == "off" {
		return "0s", nil
	}
	kept, err := token.ParseDuration(value)
	if err == nil && kept < service.LeastAuditKept {
		err = fmt.Errorf("it is less than %s", token.FormatDuration(service.LeastAuditKept))
	}
	if err != nil {
		return "", cli.Hint(fmt.Errorf("retention=%s: %w", value, err), "athanor stage set retention=365d")
	}
	return kept.String(), nil
}

// setRule changes the rule of the stage at its service, and shows it.
func setRule(ctx context.Context, s *session.Session, change wire.StageRuleChange) error {
	store, err := project.Service(s.Project.Store, s.Store, "has rules of stages")
	if err != nil {
		return err
	}
	rule, err := store.SetRule(ctx, s.Stage, change)
	if err != nil {
		return err
	}
	a := s.Opener
	if a.WroteJSON(map[string]any{"type": "rule", "stack": s.Stage.Stack, "stage": s.Stage.Name, "approval": rule.Approval, "private": rule.Private, "retention": rule.Retention}) {
		return nil
	}
	word := map[bool]string{true: "on", false: "off"}
	if change.Approval != nil {
		fmt.Fprintf(a.Out, "%s: approval is %s\n", s.Stage, word[rule.Approval])
	}
	if change.Private != nil {
		fmt.Fprintf(a.Out, "%s: private is %s\n", s.Stage, word[rule.Private])
	}
	if change.Retention != "" {
		said := "off"
		if kept, err := token.ParseDuration(rule.Retention); err == nil {
			said = token.FormatDuration(kept)
		}
		fmt.Fprintf(a.Out, "%s: retention is %s\n", s.Stage, said)
	}
	return nil
}
