package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/engine"
)

// Version is a version of state as --json shows it.
type Version struct {
	Type   string `json:"type"` // "version"
	Stack  string `json:"stack"`
	Stage  string `json:"stage"`
	Serial uint64 `json:"serial"`
	// Newest says that it is the state as it is.
	Newest bool `json:"newest,omitempty"`
	// Run is the run that left it, empty when the history has it no more.
	Run      string    `json:"run,omitempty"`
	Command  string    `json:"command,omitempty"`
	User     string    `json:"user,omitempty"`
	Identity string    `json:"identity,omitempty"`
	Written  time.Time `json:"written,omitzero"`
}

// Versions writes versions for people, a line for each.
func (s Style) Versions(w io.Writer, versions []Version) {
	if len(versions) == 0 {
		return
	}
	versions = cleaned(versions)
	runs := make([]Run, len(versions))
	for i, v := range versions {
		runs[i].Run = v.Run
	}
	ids := ShortRuns(runs)
	rows := [][]string{{"SERIAL", "LEFT BY", "RUN", "WRITTEN", "BY"}}
	for i, v := range versions {
		written, who := "", v.User
		if !v.Written.IsZero() {
			written = v.Written.Local().Format(time.DateTime)
		}
		if v.Identity != "" && v.Identity != v.User {
			who = strings.TrimSpace(who + " (" + v.Identity + ")")
		}
		if v.Newest {
			who = strings.TrimSpace(who + "  now")
		}
		rows = append(rows, []string{strconv.FormatUint(v.Serial, 10), v.Command, ids[i], written, who})
	}
	s.table(w, rows)
}

// table writes rows in columns as wide as their widest text.
func (s Style) table(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], columns(text))
		}
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, text := range row {
			cells[i] = pad(text, widths[i])
		}
		s.write(w, strings.TrimRight(strings.Join(cells, "  "), " "), rowHang)
	}
}

// Compared is what two runs did to one resource, as --json shows it. A side that is nil did nothing to it.
type Compared struct {
	Type    string        `json:"type"` // "compared"
	Address string        `json:"address"`
	Kind    string        `json:"kind,omitempty"`
	From    *ComparedSide `json:"from"`
	To      *ComparedSide `json:"to"`
	Differs bool          `json:"differs"`
}

// ComparedSide is what one of two runs did.
type ComparedSide struct {
	Action engine.Action `json:"action"`
	Status engine.Status `json:"status"`
	Error  string        `json:"error,omitempty"`
	Paths  []string      `json:"paths,omitempty"`
	// Elapsed is in seconds.
	Elapsed float64 `json:"elapsed,omitempty"`
}

// text says what was done, with the paths that changed or why it failed.
func (c *ComparedSide) text() string {
	if c == nil {
		return "-"
	}
	word := verbs[c.Action].done
	switch c.Status {
	case engine.StatusDone:
		if len(c.Paths) > 0 && c.Action == engine.Update {
			word += " " + strings.Join(c.Paths, ", ")
		}
	case engine.StatusFailed:
		word = "failed: " + string(c.Action) + ": " + oneLine(cause(engine.Event{Action: c.Action, Error: c.Error}))
	default:
		word = string(c.Status)
	}
	return word
}

// Comparison writes what two runs did differently, for people: a line for each resource, and how many they did the same to.
func (s Style) Comparison(w io.Writer, from, to Run, all []Compared) {
	all = cleaned(all)
	ids := ShortRuns([]Run{from, to})
	rows := [][]string{{"RESOURCE", from.Command + " " + ids[0], to.Command + " " + ids[1]}}
	same := 0
	for _, c := range all {
		if !c.Differs {
			same++
			continue
		}
		rows = append(rows, []string{c.Address, c.From.text(), c.To.text()})
	}
	if len(rows) > 1 {
		s.table(w, rows)
	}
	switch {
	case len(all) == 0:
		s.write(w, "Neither run did anything to a resource.", 0)
	case len(rows) == 1:
		s.write(w, fmt.Sprintf("Both did the same to %s.", counted(same, "resource")), 0)
	default:
		s.write(w, fmt.Sprintf("%s differ, %d the same", counted(len(all)-same, "resource"), same), 0)
	}
}
