package render_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, have string) {
	t.Helper()
	file := "testdata/" + name
	if *update {
		if err := os.WriteFile(file, []byte(have), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if have != string(want) {
		t.Errorf("%s (-update writes it):\n%s\nwant:\n%s", name, have, want)
	}
}

func ref(address, path string) string {
	return token.Plain.Ref(token.Ref{Address: address, Path: tree.Path(path)})
}

// everything is a plan with one of each.
func everything() *engine.Plan {
	long := strings.Repeat("the same for long, ", 8)
	return &engine.Plan{
		Stack: "shop", Stage: "prod", Recovered: true, Unobserved: true,
		Actions: []engine.Planned{
			{Address: "adopted", Kind: "local.File", Action: engine.Adopt, From: "a.txt", Reasons: []engine.Reason{
				{Path: "mode", Have: "0600", Want: "0644", Source: engine.ByWorld},
			}},
			{Address: "blocked", Kind: "local.File", Action: engine.Blocked, Problem: "observe: denied\nby the service", Hint: "ask for it"},
			{Address: "created", Kind: "local.File", Action: engine.Create, Reasons: []engine.Reason{
				{Path: "content", Want: "two\nlines"},
				{Path: "empty", Want: ""},
				{Path: "password", Want: reconcile.Mask, Secret: true},
				{Path: "tags", Want: map[string]any{"b": int64(2), "a": []any{true, nil}}},
				{Path: "arn", Want: ref("net/queue", "arn"), Unknown: true},
			}, Notes: []string{"create (not yet visible)"}},
			{Address: "deleted", Kind: "local.File", Action: engine.Delete, Identity: "d.txt"},
			{Address: "forgotten", Kind: "local.File", Action: engine.Forget},
			{Address: "moved", Kind: "local.File", Action: engine.Move, From: "before"},
			{Address: "recomputed", Kind: "random.ID", Action: engine.Recover, Reasons: []engine.Reason{{Path: "bytes", Want: int64(4)}}},
			{Address: "recovered", Kind: "local.File", Action: engine.Recover, From: "r.txt"},
			{Address: "replaced", Kind: "local.File", Action: engine.Replace, Reasons: []engine.Reason{
				{Path: "path", Have: "a", Want: "b", Source: engine.ByProgram, Replaces: true},
			}},
			{Address: "replaced-first", Kind: "local.File", Action: engine.Replace, DeleteFirst: true, May: true, Reasons: []engine.Reason{{Source: engine.ByRequest}}},
			{Address: "settled", Kind: "local.File", Action: engine.Unchanged},
			{Address: "served", Kind: "world.Local", Action: engine.Create, Local: true},
			{Address: "sleeping", Kind: "local.Process", Action: engine.Unchanged, InDev: true, Notes: []string{"runs in dev"}},
			{Address: "updated", Kind: "aws.sqs.Queue", Action: engine.Update, From: "renamed", Reasons: []engine.Reason{
				{Path: "delay", Have: "30s", Want: nil, Source: engine.ByProgram},
				{Path: "long", Have: long + "old end", Want: long + "new end", Source: engine.ByWorld},
				{Path: "tags", Have: map[string]any{"a": "1", "b": "2", "gone": "x"}, Want: map[string]any{"a": "1", "b": "3", "new": "y"}},
				{Path: "triggers", Have: []any{"1", "2"}, Want: []any{"1", ref("created", "digest")}, Unknown: true},
			}},
			{Address: "waiting", Kind: "aws.sns.Subscription", Action: engine.Wait, Waiting: "confirm the mail to a@example.com"},
		},
		Outputs:    map[string]any{"url": "https://host/", "later": token.Show(ref("created", "digest"))},
		Warnings:   []string{"a looks like b under a new name"},
		Violations: []engine.Violation{{Address: "updated", Policy: "tags", Message: "no owner", Warning: true}},
		Summary:    engine.Summary{Created: 1, Adopted: 1, Recovered: 2, Updated: 1, Replaced: 2, Moved: 1, Deleted: 1, Forgotten: 1, Unchanged: 1, Waiting: 1, Blocked: 1},
	}
}

func TestPlan(t *testing.T) {
	for _, tt := range []struct {
		file  string
		style render.Style
	}{
		{"plan.txt", render.Style{}},
		{"plan-detailed.txt", render.Style{Detailed: true}},
		{"plan-color.txt", render.Style{Color: true}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			var out bytes.Buffer
			tt.style.Plan(&out, everything(), "16 reads, 0.9s")
			golden(t, tt.file, out.String())
		})
	}
}

// A text from outside never reaches the terminal with its control characters.
func TestControlCharacters(t *testing.T) {
	const bad = "a\x1b[2Jb\x07c\u009bd"
	p := &engine.Plan{
		Stack: "s", Stage: "t", Warnings: []string{bad}, Violations: []engine.Violation{{Policy: "p", Message: bad}},
		Actions: []engine.Planned{{
			Address: "x", Kind: "k", Action: engine.Update, Notes: []string{bad}, Waiting: bad, Problem: bad, Hint: bad, From: bad, Identity: bad,
			Reasons: []engine.Reason{{Path: "p", Have: bad, Want: map[string]any{"k": bad}}},
		}},
		Outputs: map[string]any{"o": bad},
	}
	var out bytes.Buffer
	s := render.Style{Detailed: true}
	s.Plan(&out, p, "")
	s.Error(&out, bad, []string{bad})
	s.Waiting(&out, "x", bad)
	progress := render.NewProgress(render.Screen{Out: &out, Style: s, Clock: newClock()}, p)
	for _, e := range []engine.Event{
		{Type: engine.EventWarning, Address: "x", Note: bad},
		{Type: engine.EventProgress, Address: "x", Note: bad},
		{Type: engine.EventHook, Address: "x", Error: bad, Status: engine.StatusFailed},
		{Type: engine.EventDone, Address: "x", Action: engine.Update, Status: engine.StatusFailed, Error: bad, Hint: bad},
		{Type: engine.EventDone, Address: "x", Action: engine.Update, Status: engine.StatusWaiting, Note: bad},
	} {
		progress.Event(e)
	}
	progress.Close()
	if i := strings.IndexAny(out.String(), "\x1b\x07\u009b"); i >= 0 {
		t.Errorf("a control character at %d of %q", i, out.String())
	}
	if strings.Count(out.String(), "\uFFFD[2J") < 10 {
		t.Errorf("the texts are not there: %q", out.String())
	}
}

func TestProgressLines(t *testing.T) {
	var out bytes.Buffer
	p := render.NewProgress(render.Screen{Out: &out, Clock: newClock()}, everything())
	for _, e := range []engine.Event{
		{Type: engine.EventRun, Status: engine.StatusRunning},
		{Type: engine.EventStart, Address: "created", Action: engine.Create},
		{Type: engine.EventProgress, Address: "created", Action: engine.Create, Note: "not visible yet"},
		{Type: engine.EventProgress, Address: "created", Action: engine.Create, Note: "not visible yet"},
		{Type: engine.EventHook, Address: "created", Status: engine.StatusDone, Note: "make index"},
		{Type: engine.EventDone, Address: "created", Action: engine.Create, Status: engine.StatusDone, Elapsed: 0.25, Paths: []string{"content"}},
		{Type: engine.EventDone, Address: "served", Action: engine.Create, Status: engine.StatusDone, Elapsed: 0.5},
		{Type: engine.EventDone, Address: "updated", Action: engine.Update, Status: engine.StatusDone, Elapsed: 61, Paths: []string{"delay", "tags"}},
		{Type: engine.EventDone, Address: "replaced", Action: engine.Replace, Status: engine.StatusFailed, Error: "denied", Hint: "ask for it"},
		{Type: engine.EventDone, Address: "deleted", Action: engine.Delete, Status: engine.StatusBlocked, Note: "something that failed still needs it"},
		{Type: engine.EventDone, Address: "waiting", Action: engine.Update, Status: engine.StatusWaiting, Note: "confirm the mail"},
		{Type: engine.EventWarning, Note: "the record moved"},
	} {
		p.Event(e)
	}
	p.Say("stopping")
	p.Close()
	render.Style{}.Result(&out, &engine.Result{
		Run: "r", Summary: engine.Summary{Created: 1, Updated: 1, Failed: 1, Blocked: 1, NotStarted: 2},
		Failures: []*engine.ResourceError{{Address: "replaced", Err: errors.New("denied")}},
		Calls:    engine.Calls{Reads: 1, Mutations: 4}, Commits: 7, Took: 61 * time.Second,
	}, render.Ending{Ended: p.Ended(), Next: "athanor deploy", Exit: 4})
	golden(t, "progress.txt", out.String())
}

// TestNothingDone: a run of which nothing could be done does not say that it was done in part.
func TestNothingDone(t *testing.T) {
	for exit, want := range map[int]string{1: "Nothing done: 2 blocked", 4: "Partly done: 2 blocked"} {
		var out bytes.Buffer
		render.Style{}.Result(&out, &engine.Result{Summary: engine.Summary{Blocked: 2}}, render.Ending{Exit: exit})
		if !strings.Contains(out.String(), want) {
			t.Errorf("exit %d: %q, want %q", exit, out.String(), want)
		}
	}
	var out bytes.Buffer
	render.Style{}.Result(&out, &engine.Result{Run: "r", Summary: engine.Summary{Created: 1, OutputsFailed: 2}}, render.Ending{Exit: 4})
	if want := "Partly done: 1 created, 2 outputs failed"; !strings.Contains(out.String(), want) {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// TestSlow: a run that took long says what for, a long path is cut in its middle, and a short run says nothing.
func TestSlow(t *testing.T) {
	path := make([]engine.Step, 20)
	for i := range path {
		path[i] = engine.Step{Address: fmt.Sprint("r", i), Seconds: 1}
	}
	slow := &engine.Slow{Longest: engine.Step{Address: "worker", Seconds: 11.7}, Path: path[:3]}
	var out bytes.Buffer
	render.Style{}.Result(&out, &engine.Result{Run: "r", Calls: engine.Calls{Reads: 9, Throttled: 3}, Took: 18 * time.Second, Slow: slow}, render.Ending{})
	slow.Path = path
	render.Style{}.Slow(&out, slow)
	slow.Longest.Limited, slow.Path = 0.4, path[:1]
	render.Style{}.Slow(&out, slow)
	slow.Longest.Limited = 30
	render.Style{}.Slow(&out, slow)
	render.Style{}.Slow(&out, nil)
	golden(t, "slow.txt", out.String())
}

// Events that are read from the record have their time, and those that a progress leaves out.
func TestEvents(t *testing.T) {
	var out bytes.Buffer
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	for i, e := range []engine.Event{
		{Type: engine.EventRun, Action: "deploy", Status: engine.StatusRunning},
		{Type: engine.EventStart, Address: "a", Action: engine.Create},
		{Type: engine.EventDone, Address: "a", Action: engine.Create, Status: engine.StatusDone, Elapsed: 0.25},
		{Type: engine.EventDone, Address: "b", Action: engine.Update, Status: engine.StatusFailed, Error: "denied\x1b[2J", Hint: "ask for it"},
		{Type: engine.EventRun, Status: "failed", Elapsed: 61},
	} {
		e.Time = at.Add(time.Duration(i) * time.Second)
		render.Style{}.Event(&out, e)
	}
	render.Style{}.Event(&out, engine.Event{Type: engine.EventWarning, Note: "this event cannot be read"})
	var runs []render.Run
	for _, state := range []statestore.RunState{statestore.Running, statestore.Succeeded, statestore.Lost} {
		runs = append(runs, render.Run{Run: string(state), Command: "deploy", State: state, Host: "desk", Started: at})
	}
	render.Style{Color: true}.Runs(&out, runs)
	golden(t, "events.txt", out.String())
}

// TestOutputsComeAndGo has the sign of each change of an output; that it is secret shows in its value alone.
func TestOutputsComeAndGo(t *testing.T) {
	for want, c := range map[string]engine.OutputChange{
		"+ url  one":       {Want: "one"},
		"~ url  one → two": {Have: "one", Want: "two"},
		"- url  one":       {Have: "one"},
		"+ url  (secret)":  {Want: reconcile.Mask, Secret: true},
		"~ url  (secret)":  {Have: reconcile.Mask, Want: reconcile.Mask, Secret: true},
	} {
		c.Name = "url"
		var b bytes.Buffer
		render.Style{Width: 80}.Plan(&b, &engine.Plan{OutputChanges: []engine.OutputChange{c}}, "")
		if !strings.Contains(b.String(), "  "+want) {
			t.Errorf("%+v:\n%s\nwant %s", c, b.String(), want)
		}
	}
}
