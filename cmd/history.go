package cmd

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

func (a *app) historyCommand() *cli.Command {
	return &cli.Command{
		Name: "history", Usage: "list the runs of a stage", ArgsUsage: "[TARGET]",
		Description: fmt.Sprintf(`Newest first: what ran, how it ended, who ran it where, and what it changed. A plan is no run, nor is a deploy
that had nothing to do. The newest %d runs of a stage are kept, with their events.

A run is running, succeeded, failed, cancelled, or lost: its process died, its lease ran out, or somebody
unlocked it. One that died is listed as running until the next run takes over; it is marked.`, statestore.KeptRuns),
		UsageText: `history                         of the stack in this directory
history --limit 1 --json        the newest run, for scripts
history --stack shop --stage prod`,
		Flags: stageFlags(
			&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Value: 20, Usage: "list at most `N` runs; 0: all that are kept"},
			cli.StackFlag("read")),
		Action: a.history,
	}
}

// runLine is a run as --json shows it.
type runLine struct {
	Run     string              `json:"run"`
	Stack   string              `json:"stack"`
	Stage   string              `json:"stage"`
	Command string              `json:"command"`
	State   statestore.RunState `json:"state"`
	// Dead says that it runs by the record alone: nobody holds its lease any more.
	Dead    bool      `json:"dead,omitempty"`
	User    string    `json:"user,omitempty"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	// Duration is in seconds.
	Duration float64 `json:"duration,omitempty"`
	Note     string  `json:"note,omitempty"`
	// Summary are the counts, as in the last line of a deploy.
	Summary *engine.Summary `json:"summary,omitempty"`
}

func (a *app) history(c *cli.Context) error {
	s, err := a.openRuns(c, 0)
	if err != nil || s == nil {
		return err
	}
	if c.Int("limit") < 0 {
		return fmt.Errorf("--limit %d: at least 0", c.Int("limit"))
	}
	lines, err := s.runs(c, c.Int("limit"))
	if err != nil {
		return err
	}
	if len(lines) == 0 && !a.asJSON {
		fmt.Fprintf(a.err, "%s: no run is on record\n", s.stage)
	}
	commands, states := 0, 0
	for _, l := range lines {
		commands, states = max(commands, len(l.Command)), max(states, len(l.State))
	}
	for _, l := range lines {
		if a.asJSON {
			a.json(l)
			continue
		}
		a.printRun(l, commands, states)
	}
	return nil
}

// runs lists the runs of the stage, newest first.
func (s *session) runs(c *cli.Context, limit int) ([]runLine, error) {
	runs, err := s.project.store.Runs(c.Context, s.stage, limit)
	if err != nil {
		return nil, err
	}
	dead, runs, err := s.dead(c, runs, limit)
	if err != nil {
		return nil, err
	}
	lines := make([]runLine, 0, len(runs))
	for _, r := range runs {
		l := runLine{
			Run: r.ID, Stack: s.stage.Stack, Stage: s.stage.Name, Command: r.Command, State: r.State, Dead: dead && r.State == statestore.Running,
			User: r.User, Host: r.Host, PID: r.PID, Started: r.Started, Ended: r.Ended, Note: r.Note,
		}
		if !r.Ended.IsZero() {
			l.Duration = r.Ended.Sub(r.Started).Seconds()
		}
		var summary engine.Summary
		if len(r.Summary) > 0 && json.Unmarshal(r.Summary, &summary) == nil {
			l.Summary = &summary
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// dead reports that the newest run is running by the record alone. The runs are read again after the lease, so that one
// which began or ended in between is not taken for dead.
func (s *session) dead(c *cli.Context, runs []statestore.Run, limit int) (bool, []statestore.Run, error) {
	if len(runs) == 0 || runs[0].State != statestore.Running {
		return false, runs, nil
	}
	snap, err := s.project.store.Load(c.Context, s.stage)
	if err != nil || snap.Holder != nil && snap.Holder.Run == runs[0].ID {
		return false, runs, err
	}
	again, err := s.project.store.Runs(c.Context, s.stage, limit)
	return err == nil && len(again) > 0 && again[0].ID == runs[0].ID && again[0].State == statestore.Running, again, err
}

func (a *app) printRun(l runLine, commands, states int) {
	who := l.Host
	if l.User != "" {
		who = l.User + "@" + l.Host
	}
	took := ""
	if l.Duration > 0 {
		took = render.Elapsed(time.Duration(l.Duration * float64(time.Second)))
	}
	style := a.style(a.out)
	line := fmt.Sprintf("%s  %-*s  %s  %s  %8s  %s, pid %d", l.Run, commands, l.Command,
		style.State(l.State, states), l.Started.Local().Format(time.DateTime), took, who, l.PID)
	fmt.Fprintln(a.out, line)
	var notes []string
	if l.Summary != nil {
		notes = append(notes, style.Counts("", *l.Summary, false))
	}
	if l.Note != "" {
		notes = append(notes, style.Clean(l.Note))
	}
	if l.Dead {
		notes = append(notes, "its process is gone or its lease ran out; the next run takes over")
	}
	for _, n := range notes {
		fmt.Fprintf(a.out, "    %s\n", strings.TrimSpace(n))
	}
}
