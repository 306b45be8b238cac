package render_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
)

// TestOneCauseIsShownOnce shows one cause of twelve resources in each place where people read errors: its text is there once,
// and all addresses are.
func TestOneCauseIsShownOnce(t *testing.T) {
	const text = "AccessDenied: sqs:CreateQueue"
	p := &engine.Plan{Stack: "shop", Stage: "prod"}
	var problems []engine.Problem
	c := engine.Cause{ID: "1234", Error: text, Hint: "allow it"}
	for i := range 12 {
		addr := fmt.Sprintf("queue%02d", i)
		c.Addresses = append(c.Addresses, addr)
		p.Actions = append(p.Actions, engine.Planned{Address: addr, Action: engine.Blocked, Problem: text, Hint: "allow it", Cause: c.ID})
		problems = append(problems, engine.Problem{Address: addr, Err: reconcile.WithHint(errors.New(text+", RequestID: "+addr), "allow it")})
	}
	p.Causes = []engine.Cause{c}
	refused := &engine.RefusedError{Problems: problems}
	places := map[string]struct {
		show  func(*bytes.Buffer)
		hints int
	}{
		"plan":  {func(out *bytes.Buffer) { render.Style{}.Plan(out, p, "") }, 1},
		"error": {func(out *bytes.Buffer) { render.Errors{}.Print(out, render.Style{}, refused) }, 1},
		"plan, then its error": {func(out *bytes.Buffer) {
			render.Style{}.Plan(out, p, "")
			render.Errors{}.Print(out, render.Style{}, render.Shown(p.Refusal()))
		}, 1},
		"run": {func(out *bytes.Buffer) {
			progress := render.NewProgress(render.Screen{Out: out, Size: func() (int, int) { return 80, 24 }, Clock: newClock()}, p)
			for _, addr := range c.Addresses {
				progress.Event(engine.Event{
					Type: engine.EventDone, Address: addr, Action: engine.Create, Status: engine.StatusFailed, Error: text, Hint: "allow it", Cause: c.ID,
				})
			}
			progress.Close()
			render.Style{}.Result(out, &engine.Result{}, render.Ending{Ended: progress.Ended()})
		}, 1},
	}
	for name, place := range places {
		var out bytes.Buffer
		place.show(&out)
		if n := strings.Count(out.String(), "AccessDenied"); n != 1 || strings.Count(out.String(), "allow it") != place.hints {
			t.Errorf("%s: the cause is there %d times:\n%s", name, n, out.String())
		}
		for _, addr := range c.Addresses {
			if !strings.Contains(out.String(), addr) {
				t.Errorf("%s: %s is missing:\n%s", name, addr, out.String())
			}
		}
	}
	line := render.Errors{}.Line("error", refused, 1)
	if len(line.Problems) != 12 || len(line.Causes) != 1 || len(line.Causes[0].Addresses) != 12 || line.Problems[3].Cause != line.Causes[0].ID {
		t.Errorf("as JSON: %+v", line)
	}
}

// blocked is a plan in which many resources cannot be planned for one reason: one block with their addresses.
func blocked() *engine.Plan {
	p := &engine.Plan{Stack: "shop", Stage: "prod", Summary: engine.Summary{Blocked: 73, Created: 1}}
	expired := engine.Cause{ID: "c1", Error: "the session has expired", Hint: "sign in again, for example with `aws sso login`"}
	follows := engine.Cause{ID: "c2", Error: "blocked: q00 cannot be planned", Follows: "q00"}
	add := func(c *engine.Cause, kind, format string, n int) {
		for i := range n {
			addr := fmt.Sprintf(format, i)
			c.Addresses = append(c.Addresses, addr)
			p.Actions = append(p.Actions, engine.Planned{
				Address: addr, Kind: kind, Action: engine.Blocked, Cause: c.ID, BlockedBy: c.Follows, Problem: "observe " + addr + ": " + c.Error, Hint: c.Hint,
			})
		}
	}
	p.Actions = append(p.Actions, engine.Planned{Address: "extra", Kind: "local.File", Action: engine.Create})
	add(&follows, "aws.lambda.Function", "fn%d", 6)
	add(&expired, "aws.sqs.Queue", "q%02d", 55)
	add(&expired, "aws.sns.Topic", "t%02d", 8)
	p.Actions = append(p.Actions, engine.Planned{Address: "zone", Kind: "aws.route53.Zone", Action: engine.Blocked, Problem: "no such zone"})
	p.Causes = []engine.Cause{expired, follows}
	return p
}

// TestConsequencesAreShownLast shows what is blocked by another resource after that one's own error.
func TestConsequencesAreShownLast(t *testing.T) {
	var out bytes.Buffer
	render.Errors{}.Print(&out, render.Style{}, &engine.RefusedError{Problems: []engine.Problem{
		{Address: "aaa", Err: errors.New("zzz cannot be planned"), Follows: "zzz"},
		{Address: "bbb", Err: errors.New("zzz cannot be planned"), Follows: "zzz"},
		{Address: "zzz", Err: errors.New("denied")},
	}})
	want := "error: zzz: denied\nerror: 2 resources: zzz cannot be planned\n       aaa, bbb\n"
	if out.String() != want {
		t.Errorf("have:\n%s\nwant:\n%s", out.String(), want)
	}
}
