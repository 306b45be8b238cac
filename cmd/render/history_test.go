package render_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/statestore"
)

func TestRuns(t *testing.T) {
	at := time.Date(2026, 11, 23, 10, 31, 4, 0, time.Local)
	runs := []render.Run{
		{Run: "20261123-103104-K4TQZE", Command: "deploy", State: statestore.Running, User: "ada", Host: "desk", PID: 41, Started: at},
		{
			Run: "20261122-160400-M2RFA8", Command: "destroy", State: statestore.Failed, User: "grace", Host: "ci", PID: 7, Started: at, Duration: 72,
			Note: "orders: denied", Summary: &engine.Summary{Updated: 2, Failed: 1, Unchanged: 9},
		},
		{Run: "20261122-160300-H7WQ2C", Command: "deploy", State: statestore.Succeeded, Host: "ci", Started: at, Duration: 0.9, Summary: &engine.Summary{Created: 2}},
	}
	var out strings.Builder
	render.Style{}.Runs(&out, runs)
	want := `RUN     COMMAND  RESULT     CHANGES                TOOK  STARTED
K4TQZE  deploy   ◐ running                               2026-11-23 10:31:04  ada@desk
    process 41 on desk holds the stage
M2RFA8  destroy  ! failed   2 updated, 1 failed  1m 12s  2026-11-23 10:31:04  grace@ci
    orders: denied
H7WQ2C  deploy   succeeded  2 created              0.9s  2026-11-23 10:31:04  ci
`
	if out.String() != want {
		t.Errorf("have\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	render.Style{ASCII: true, Width: 50}.Runs(&out, runs)
	for line := range strings.Lines(out.String()) {
		if len([]rune(line)) > 51 || strings.Contains(line, "◐") {
			t.Errorf("in ASCII, 50 columns: %q", line)
		}
	}
	out.Reset()
	render.Style{}.Runs(&out, nil)
	if out.Len() > 0 {
		t.Errorf("no runs are %q", out.String())
	}
	runs[2].Run = "20261122-160300-K4TQZE"
	if ids := render.ShortRuns(runs); !slices.Equal(ids, []string{"20261123-103104-K4TQZE", "M2RFA8", "20261122-160300-K4TQZE"}) {
		t.Errorf("ids %q", ids)
	}
}
