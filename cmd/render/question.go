package render

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/athanor-dev/athanor/engine"
)

// answerText finds what can be answered, which stands at the end of a question and stays in one piece.
var answerText = regexp.MustCompile(`(?:\[y/N\]|y yes, .*:)$`)

// answerRoom is how many columns behind a question are left for what is typed.
const answerRoom = 4

// Question writes a question, behind which the cursor stays. It ends with a space.
func (s Style) Question(w io.Writer, text string) {
	text = strings.TrimRight(clean(text), " ")
	all := cells(s.twin(text))
	if at := answerText.FindStringIndex(text); at != nil {
		for i := len(cells(s.twin(text[:at[0]]))); i < len(all); i++ {
			all[i].kept = true
		}
	}
	lines := []string{s.twin(text)}
	if room := s.Width - answerRoom; s.Width > 0 && columns(text) > room {
		lines = wrappedCells(all, room, 2)
	}
	io.WriteString(w, strings.Join(lines, "\n")+" ") //nolint:errcheck // like all that is printed
}

// Line writes one line, wrapped to the width of the terminal.
func (s Style) Line(w io.Writer, text string) { s.write(w, clean(text), 2) }

// ApplyQuestion asks whether a plan is to be applied. What is asked, "Adopt this into", is "" for what a deploy or a
// destroy asks.
func ApplyQuestion(p *engine.Plan, what string) string {
	switch {
	case p.Destroy:
		what = "Delete all of this from"
	case what == "":
		what = "Deploy " + Changes(p) + " to"
	}
	return fmt.Sprintf("%s %s/%s?  y yes, d details, Enter no: ", what, p.Stack, p.Stage)
}

// Changes says how much a plan does.
func Changes(p *engine.Plan) string {
	if n := p.Changes(); n > 0 {
		return counted(n, "change")
	}
	return "changed outputs"
}

// NewStage says that a stage is new beside others, and asks for its name: a program with count resources is deployed to it. Near is
// the one of the others whose name is like it, "" where none is.
func (s Style) NewStage(w io.Writer, stack, stage string, others []string, near string, count int) {
	s.Line(w, fmt.Sprintf("Stage %s of %s is new. Existing: %s", stage, stack, strings.Join(others, ", ")))
	question := fmt.Sprintf("Type %s to create %s in a new stage: ", stage, counted(count, "resource"))
	if near != "" {
		question = fmt.Sprintf("It looks like %s. %s", near, question)
	}
	s.Question(w, question)
}

// Listing writes names, each with a sentence about it behind it, or below where the terminal has no room.
func (s Style) Listing(w io.Writer, rows [][2]string) {
	width := 0
	for _, row := range rows {
		width = max(width, columns(row[0]))
	}
	for _, row := range rows {
		line := pad(clean(row[0]), width) + "  " + clean(row[1])
		if s.Width == 0 || width+2 <= s.Width/2 {
			s.write(w, line, width+2)
			continue
		}
		s.write(w, clean(row[0]), rowHang)
		s.advice(w, rowHang, "", clean(row[1]))
	}
}
