package render_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
)

func TestLines(t *testing.T) {
	var out bytes.Buffer
	l := render.NewLines(&out, render.Style{}, false)
	l.Expect("web", "worker")
	for _, line := range []reconcile.LogLine{
		{Text: "plain"},
		{Text: "\x1b[1;32mgreen\x1b[0m and \x1b]0;title\x07done\x1b[2K", Source: reconcile.SourceStderr},
		{Text: " 10%\r 50%\r100%\r"},
		{Text: "bell \x07, tab\there", Source: reconcile.SourceAthanor},
		{Text: ""},
	} {
		l.Line("web", line)
	}
	l.Line("worker", reconcile.LogLine{Text: "two\nin one"})
	want := "web    | plain\nweb    | green and done\nweb    | 100%\nweb    | bell \uFFFD, tab\there\nweb    |\nworker | two in one\n"
	if out.String() != want {
		t.Errorf("have\n%q, want\n%q", out.String(), want)
	}
}

func TestLinesInColor(t *testing.T) {
	var out bytes.Buffer
	l := render.NewLines(&out, render.Style{Color: true}, true)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	l.Line("a", reconcile.LogLine{Time: at, Text: "x"})
	l.Line("b", reconcile.LogLine{Time: at, Text: "y", Source: reconcile.SourceStderr})
	l.Line("a", reconcile.LogLine{Time: at, Text: "z"})
	lines := strings.Split(out.String(), "\n")
	const time = "\x1b[2m2026-03-01 12:00:00.000\x1b[0m "
	if lines[0] != time+"\x1b[36ma\x1b[0m | x" || lines[1] != time+"\x1b[32mb\x1b[0m \x1b[31m|\x1b[0m y" || lines[2] != time+"\x1b[36ma\x1b[0m | z" {
		t.Errorf("%q", lines)
	}
}

// Several writers at once write whole lines; above the live region of a run they last like its own.
func TestLinesAreWhole(t *testing.T) {
	var out bytes.Buffer
	plan := &engine.Plan{Actions: []engine.Planned{{Address: "web", Action: engine.Create}}}
	p := render.NewProgress(render.Screen{Out: &out, Size: func() (int, int) { return 80, 24 }}, plan)
	l := render.NewLines(&out, render.Style{}, false)
	l.Above(p)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 50 {
				l.Line(fmt.Sprintf("p%d", w), reconcile.LogLine{Text: fmt.Sprintf("line %d", i)})
				p.Event(engine.Event{Type: engine.EventStart, Address: "web", Action: engine.Create, Time: time.Now()})
			}
		})
	}
	all.Wait()
	l.Above(nil)
	p.Close()
	l.Line("p0", reconcile.LogLine{Text: "after"})
	for w := range 4 {
		for i := range 50 {
			if !strings.Contains(out.String(), fmt.Sprintf("\x1b[Jp%d | line %d\n", w, i)) {
				t.Fatalf("line %d of p%d is not whole", i, w)
			}
		}
	}
	if !strings.HasSuffix(out.String(), "p0 | after\n") {
		t.Errorf("ends with %q", out.String()[out.Len()-20:])
	}
}
