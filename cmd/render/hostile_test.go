package render_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
)

// hostile are texts that a name, an identity or a service's error may hold.
var hostile = []string{
	"a\x1b[2Jb\x07c\u009bd", "\x1b]8;;http://evil.example/\x07click\x1b]8;;\x07", "\x1b]52;c;cm0gLXJmIC8=\x07", "\x9b2J\xff", "\x90q\x9c",
	"user\u202etxt.exe", "\u2066a\u2069\u200f\u061c\ufeff", "a\u2028b\u2029c", "tag\U000e0041\U000e007f", "\r\x7f",
	"::error::owned", "  ::set-output name=x::y", "##[error]owned", "x ##vso[task.setvariable variable=a]b", "##teamcity[message]",
	"fine\n::add-mask::x", "fine\r\n\t::stop-commands::x",
}

// Our own words to a terminal: colours alone.
var ours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// workflow finds what a CI system takes for a command: GitHub trims the line first, and takes ##[ anywhere in it.
var workflow = regexp.MustCompile(`(?m)^\s*::[A-Za-z]|##(vso|teamcity)?\[`)

func raw(text string) bool {
	text = ours.ReplaceAllString(text, "")
	return workflow.MatchString(text) || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Bidi_Control, r) ||
			r == 0xfeff || r >= 0xe0000 && r <= 0xe007f
	})
}

// shown is everything that can be printed of a text from outside.
func shown(bad string, s render.Style) map[string]func(io.Writer) {
	values := map[string]any{bad: bad, "list": []any{bad, map[string]any{bad: bad}}}
	at := time.Unix(0, 0)
	thing := engine.Thing{Kind: bad, Identity: bad, Address: bad}
	row := engine.RowView{Address: bad, Problem: bad, Needs: []string{bad}, Props: values, Generations: []engine.GenerationView{{
		Kind: bad, Identity: bad, Attrs: values, Place: reconcile.Place{Provider: bad, Account: bad, Region: bad},
	}}}
	held := &statestore.HeldError{Stage: statestore.Stage{Stack: bad, Name: bad}, Holder: statestore.Holder{Run: bad, Host: bad, Command: bad, User: bad}}
	plan := &engine.Plan{
		Stack: bad, Stage: bad, Warnings: []string{bad}, Violations: []engine.Violation{{Policy: bad, Address: bad, Message: bad}},
		Actions: []engine.Planned{{
			Address: bad, Kind: bad, Action: engine.Update, Notes: []string{bad}, Waiting: bad, Problem: bad, Hint: bad, From: bad, Identity: bad,
			Reasons: []engine.Reason{{Path: "p", Have: bad, Want: values, Note: bad}},
		}, {Address: bad, Kind: bad, Action: engine.Unchanged, InDev: true}},
		Outputs: values, OutputChanges: []engine.OutputChange{{Name: bad, Have: bad, Want: "x" + bad}},
		Left: []engine.Left{{Address: bad, Kind: bad, Why: bad}},
	}
	events := func(show func(engine.Event)) {
		for _, kind := range []engine.EventType{engine.EventStart, engine.EventProgress, engine.EventWarning, engine.EventHook, engine.EventDone} {
			for _, status := range []engine.Status{engine.StatusDone, engine.StatusFailed, engine.StatusBlocked, engine.StatusWaiting} {
				show(engine.Event{Type: kind, Status: status, Address: bad, Action: engine.Update, Note: bad, Error: bad, Hint: bad, Paths: []string{bad}})
			}
		}
	}
	return map[string]func(io.Writer){
		"plan": func(w io.Writer) { s.Plan(w, plan, "") },
		"error": func(w io.Writer) {
			render.Errors{}.Print(w, s, reconcile.WithHint(errors.Join(errors.New(bad), held), "%s", bad))
		},
		"problems": func(w io.Writer) {
			render.Errors{}.PrintAll(w, s, []engine.Problem{{Address: bad, Source: bad, Err: reconcile.WithHint(errors.New(bad), "%s", bad)}}, false)
		},
		"waiting": func(w io.Writer) { s.Waiting(w, bad, bad) },
		"result": func(w io.Writer) {
			s.Result(w, &engine.Result{Waiting: map[string]string{bad: bad}}, render.Ending{Next: "athanor deploy"})
		},
		"outputs": func(w io.Writer) { s.Outputs(w, values) },
		"output":  func(w io.Writer) { io.WriteString(w, render.Escaped(bad)+"\n") },
		"rows": func(w io.Writer) {
			render.Style{}.Rows(w, []engine.RowView{row}, time.Now(), func(string) bool { return true })
		},
		"row": func(w io.Writer) { s.Row(w, row) },
		"runs": func(w io.Writer) {
			s.Runs(w, []render.Run{{Run: bad, Command: bad, User: bad, Host: bad, Note: bad, State: statestore.RunState(bad)}})
		},
		"things": func(w io.Writer) { s.Things(w, []engine.Thing{thing}) },
		"graph": func(w io.Writer) {
			render.GraphList(w, &engine.Graph{Resources: []graph.Resource{{Address: bad, Kind: bad}}})
		},
		"dot": func(w io.Writer) {
			render.GraphDOT(w, &engine.Graph{Resources: []graph.Resource{{Address: bad, Kind: bad}}})
		},
		"checkup": func(w io.Writer) {
			c := render.Checkup{Stack: bad, Stage: bad, Notes: []string{bad}, Problems: []render.Finding{{Address: bad, Error: bad, Hints: []string{bad}, Identities: []statestore.Identity{{Kind: bad, Identity: bad}}}}}
			c.Print(w, w, s)
		},
		"log line": func(w io.Writer) { render.NewLines(w, s, true).Line(bad, reconcile.LogLine{Time: at, Text: bad}) },
		"events":   func(w io.Writer) { events(func(e engine.Event) { s.Event(w, e) }) },
		"progress": func(w io.Writer) {
			p := render.NewProgress(render.Screen{Out: w, Style: s, Clock: newClock()}, plan)
			events(p.Event)
			p.Say(bad)
			p.Close()
			s.Result(w, &engine.Result{}, render.Ending{Ended: p.Ended()})
		},
		"live": func(w io.Writer) {
			var drawn bytes.Buffer
			clock := newClock()
			p := render.NewProgress(render.Screen{Out: &drawn, Style: s, Size: func() (int, int) { return 80, 24 }, Clock: clock}, plan)
			events(func(e engine.Event) { p.Event(e); clock.advance(time.Second) })
			p.Close()
			io.WriteString(w, render.Drawing.ReplaceAllString(drawn.String(), ""))
		},
		"reading": func(w io.Writer) {
			clock := newClock()
			r := render.NewReading(render.Screen{Out: w, Style: s, Clock: clock}, bad)
			r.Read(engine.Reading{Address: bad, Kind: bad, Total: 1})
			r.Note(bad)
			clock.advance(time.Minute)
			r.Close()
		},
		"snippet": func(w io.Writer) {
			e := render.Errors{Source: func(string, int) (string, bool) { return bad, true }}
			e.PrintAll(w, s, []engine.Problem{{Address: "a", Source: "athanor.yaml:1:1", Err: errors.New("wrong")}}, false)
		},
		"JSON": func(w io.Writer) {
			data, err := json.Marshal(values)
			if err != nil {
				panic(err)
			}
			w.Write(render.SafeJSON(data))
		},
	}
}

// TestNothingRaw prints hostile texts by all that prints: none is seen by a terminal or a CI system as it is.
func TestNothingRaw(t *testing.T) {
	for _, s := range []render.Style{{}, {Detailed: true, Color: true}} {
		for _, bad := range hostile {
			for name, show := range shown(bad, s) {
				var out bytes.Buffer
				show(&out)
				if raw(out.String()) {
					t.Errorf("%s shows %q as\n%q", name, bad, out.String())
				}
			}
		}
	}
}

// TestSafeJSON spells what a terminal could take for a command in another way, and changes no value.
func TestSafeJSON(t *testing.T) {
	for _, bad := range hostile {
		data, err := json.Marshal(map[string]string{bad: bad})
		if err != nil {
			t.Fatal(err)
		}
		var have, want any
		if err := errors.Join(json.Unmarshal(render.SafeJSON(data), &have), json.Unmarshal(data, &want)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(have, want) {
			t.Errorf("%q: %v is not %v", bad, have, want)
		}
	}
}

// FuzzEscaped escapes any text: nothing raw is left, and plain texts stay as they are.
func FuzzEscaped(f *testing.F) {
	for _, bad := range hostile {
		f.Add(bad)
	}
	f.Add("::1")
	f.Add("plain ünicode 日本\n\ttext")
	f.Fuzz(func(t *testing.T, text string) {
		if have := render.Escaped(text); raw(have) {
			t.Fatalf("%q shows as %q", text, have)
		} else if !raw(text) && have != text {
			t.Fatalf("%q became %q", text, have)
		}
		var out bytes.Buffer
		render.Style{}.Error(&out, text, []string{text})
		if raw(out.String()) {
			t.Fatalf("%q shows as %q", text, out.String())
		}
	})
}
