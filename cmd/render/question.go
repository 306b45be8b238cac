package render

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/athanor-dev/athanor/engine"
)

// answerText finds what can be answered, which stands at the end of a question and stays in one piece.
var answerText = regexp.MustCompile(`(?:\[y/N\]|(?:y yes, )?d details, .*:)$`)

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
	return fmt.Sprintf("%s %s/%s?  y yes, d details, Enter no: ", asked(p, what), p.Stack, p.Stage)
}

// NameQuestion asks the same for the name of the stage, which nobody types by habit.
func NameQuestion(p *engine.Plan, what string) string {
	what = asked(p, what)
	return fmt.Sprintf("Type %s to %s %s/%s, d details, Enter no: ", p.Stage, strings.ToLower(what[:1])+what[1:], p.Stack, p.Stage)
}

// asked is what is asked of a plan, before the name of its stage.
func asked(p *engine.Plan, what string) string {
	switch {
	case p.Destroy:
		return "Delete all of this from"
	case what == "":
		return "Deploy " + Changes(p) + " to"
	}
	return what
}

// LosesData names the resources whose data a plan may delete.
func (s Style) LosesData(w io.Writer, lost []engine.Planned) {
	names := make([]string, len(lost))
	for i, a := range lost {
		names[i] = fmt.Sprintf("%s (%s)", clean(a.Address), clean(a.Kind))
	}
	s.write(w, s.paint(red, "This deletes data: ")+strings.Join(names, ", "), 2)
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
