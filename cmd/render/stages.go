package render

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Stage is a stage as a list of the stages of a store shows it.
type Stage struct {
	Stack, Stage, Status string
	Resources            int
	// Expires is when the stage may be deleted; zero for never.
	Expires time.Time
	// Command, User and Started are those of the newest run; Command is empty without one.
	Command, User string
	Started       time.Time
	// Progress is that of the run that holds the stage.
	Progress Progression
}

// Progression is how far a run is; zero where that is unknown.
type Progression struct {
	// Done and Total count the resources that the run works on.
	Done  int `json:"done"`
	Total int `json:"total"`
}

// text is how far a run is, in words.
func (p Progression) text() string { return fmt.Sprintf("%d of %d", min(p.Done, p.Total), p.Total) }

// Stages writes stages as a table, seen from now. Where the table does not fit, the resources and the newest run of a stage stand below it.
func (s Style) Stages(w io.Writer, stages []Stage, now time.Time) {
	stages = cleaned(stages)
	rows := [][]string{{"STACK", "STAGE", "STATUS", "RESOURCES", "LAST RUN"}}
	for _, st := range stages {
		rows = append(rows, []string{st.Stack, st.Stage, s.status(st, now), fmt.Sprintf("%9d", st.Resources), lastRun(st, now)})
	}
	widths, whole := make([]int, len(rows[0])), 2*(len(rows[0])-1)
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], columns(row[i]))
		}
		whole += widths[i]
	}
	below := s.Width > 0 && whole > s.Width
	for i, row := range rows {
		last := row[len(row)-1]
		if below {
			row = row[:len(row)-2]
		}
		cells := make([]string, len(row))
		for j, text := range row {
			cells[j] = pad(text, widths[j])
		}
		s.write(w, strings.TrimRight(strings.Join(cells, "  "), " "), rowHang)
		if below && i > 0 {
			text := counted(stages[i-1].Resources, "resource")
			if last != "" {
				text += ", " + last
			}
			s.write(w, strings.Repeat(" ", rowHang)+text, rowHang)
		}
	}
}

// status is how a stage is, and until when it is kept.
func (s Style) status(st Stage, now time.Time) string {
	text := st.Status
	switch text {
	case "running":
		text = s.paint(blue, "◐ "+running(st.Command))
		if st.Progress.Total > 0 {
			text += ", " + st.Progress.text()
		}
	case "interrupted", "failed", "damaged", "unfinished":
		text = s.paint(red, "! "+text)
	}
	switch left := st.Expires.Sub(now); {
	case st.Expires.IsZero():
	case left > 0:
		text += ", expires in " + Ago(left)
	default:
		text += ", expired"
	}
	return text
}

// running says what a stage is held for.
func running(command string) string {
	switch command {
	case "deploy":
		return "deploying"
	case "destroy":
		return "destroying"
	case "":
		return "running"
	}
	return "running " + command
}

func lastRun(st Stage, now time.Time) string {
	if st.Command == "" {
		return ""
	}
	text := fmt.Sprintf("%s %s ago", st.Command, Ago(now.Sub(st.Started)))
	if st.User != "" {
		text += ", " + st.User
	}
	return text
}
