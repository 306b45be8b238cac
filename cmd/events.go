package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/untrusted"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

// followEvery is how often a run that is followed is asked for news.
const followEvery = 250 * time.Millisecond

func eventsCommand(o *session.Opener) *cli.Command {
	return &cli.Command{
		Name: "events", Usage: "show what happened in a run", ArgsUsage: "[RUN] [TARGET]",
		Description: `Without RUN it shows the newest run. Events are kept as long as history lists their run. They hold no secrets.

With --follow it goes on until the run ends. Events arrive with the run's next write to state: at once while it
makes progress, at most ten seconds late while it waits.`,
		UsageText: `events                          of the newest run
events --follow                 and what comes, until it ends
events ABCDEF                   of a run that history lists
events 20260301-120000-ABCDEF --json
events --after 120 --json       only what came after event 120`,
		Flags: project.StageFlags(
			cli.FollowFlag("go on until the run ends"),
			&cli.GenericFlag{Name: "after", Value: new(cli.Count), Usage: "leave out the events up to number `SEQ`"},
			cli.StackFlag("read")),
		Before: untrusted.Reads,
		Action: func(c *cli.Context) error { return showEvents(o, c) },
	}
}

// runName is what the id of a run looks like.
var runName = regexp.MustCompile(`^\d{8}-\d{6}-[A-Z0-9]+$`)

// namesRun reports whether an argument is meant as a run, and not as a TARGET: it has the form of an id, or is a word that is no file.
// History lists runs by the last part of their ids, which may also be the name of a folder.
func namesRun(argument string) bool {
	if runName.MatchString(argument) {
		return true
	}
	_, err := os.Lstat(argument)
	return errors.Is(err, os.ErrNotExist) && argument != "-" && !strings.ContainsAny(argument, `/\.`)
}

func showEvents(o *session.Opener, c *cli.Context) error {
	id, names := c.Args().First(), 1
	if c.NArg() == 0 || c.NArg() == 1 && !namesRun(id) {
		id, names = "", 0
	}
	s, err := o.OpenRuns(c, names)
	if err != nil || s == nil {
		return err
	}
	run, err := findRun(s, c, id)
	if err != nil {
		return err
	}
	if !c.Bool("follow") {
		events, err := s.Project.Store.Events(c.Context, s.Stage, run.ID, c.Uint64("after"), 0)
		for _, e := range events {
			printEvent(o, run.ID, e)
		}
		return err
	}
	for e, err := range statestore.Follow(c.Context, s.Project.Store, s.Stage, run.ID, c.Uint64("after"), followEvery) {
		if err != nil {
			return err
		}
		printEvent(o, run.ID, e)
	}
	return sayEnded(s, c, run.ID)
}

// findRun finds a run by its id; the newest one without.
func findRun(s *session.Session, c *cli.Context, id string) (statestore.Run, error) {
	runs, err := s.Project.Store.Runs(c.Context, s.Stage, 0)
	if err != nil {
		return statestore.Run{}, err
	}
	var ids []string
	var short []statestore.Run
	for _, r := range runs {
		if id == "" || r.ID == id {
			return r, nil
		}
		if strings.HasSuffix(r.ID, "-"+id) {
			short = append(short, r)
		}
		ids = append(ids, r.ID)
	}
	switch len(short) {
	case 0:
	case 1:
		return short[0], nil
	default:
		return statestore.Run{}, cli.Hint(fmt.Errorf("%s has %d runs %s", s.Stage, len(short), id), "give the whole id: "+short[0].ID)
	}
	if id == "" {
		return statestore.Run{}, cli.Hint(fmt.Errorf("%s: state has no run", s.Stage), "a deploy that changes something is a run")
	}
	return statestore.Run{}, cli.HintNearest(fmt.Errorf("%s has no run %s", s.Stage, id), id, ids, "`athanor history` lists the runs; a directory is written ./"+id)
}

// sayEnded says how a run that was followed ended. With --json its last event says it, unless it could not write one.
func sayEnded(s *session.Session, c *cli.Context, id string) error {
	a := s.Opener
	run, err := findRun(s, c, id)
	if err != nil {
		return err
	}
	text := string(run.State)
	switch {
	case run.State == statestore.Running:
		text = "no longer heard of: its process ended or its lease expired; the next run takes over"
	case run.Note != "":
		text += ": " + run.Note
	}
	if !a.AsJSON {
		fmt.Fprintf(a.Err, "run %s: %s\n", id, a.Style(a.Err).Clean(text))
	} else if run.State == statestore.Running || run.State == statestore.Lost {
		a.JSON(engine.Event{Time: time.Now().UTC(), Run: id, Type: engine.EventWarning, Note: text})
	}
	return nil
}

// printEvent prints one event as the store holds it, with the store's number.
func printEvent(o *session.Opener, run string, recorded statestore.Event) {
	var e engine.Event
	if err := json.Unmarshal(recorded.Body, &e); err != nil {
		e = engine.Event{Type: engine.EventWarning, Note: "this event cannot be read"}
	}
	e.Run, e.Seq = run, recorded.Seq
	if o.WroteJSON(e) {
		return
	}
	o.Style(o.Out).Event(o.Out, e)
}
