package render

import (
	"io"
	"regexp"
	"strings"
)

// widestHelp is the longest line of help on a terminal.
const widestHelp = 120

// helpIndent is where an explanation begins that has lines of its own.
const helpIndent = 8

// secondColumn finds the space between what is explained and its explanation.
var secondColumn = regexp.MustCompile(`\S {2,}`)

// Help writes a text of help, whose paragraphs are wrapped to the width of the terminal. What is explained in columns, and what is
// indented, keeps its lines and its indentation.
func (s Style) Help(w io.Writer, text string) {
	if s.Width == 0 {
		io.WriteString(w, text) //nolint:errcheck // like all that is printed
		return
	}
	s.Width = min(s.Width, widestHelp)
	for _, line := range paragraphs(strings.Split(strings.TrimSuffix(text, "\n"), "\n")) {
		hang := len(line) - len(strings.TrimLeft(line, " "))
		if at := secondColumn.FindStringIndex(line[hang:]); at != nil {
			hang += at[1]
		}
		if hang > s.Width/2 && columns(line) > s.Width { // what is explained takes the line
			s.write(w, strings.TrimRight(line[:hang], " "), helpIndent)
			line, hang = strings.Repeat(" ", helpIndent)+line[hang:], helpIndent
		}
		s.write(w, line, hang)
	}
}

// fullLine is how long a line of a paragraph is at least that goes on in the next one.
const fullLine = 80

// paragraphs joins the lines of each paragraph, which are written for wide terminals.
func paragraphs(lines []string) []string {
	var all []string
	open := false
	for _, line := range lines {
		flows := line != "" && line[0] != ' ' && !secondColumn.MatchString(line)
		if flows && open {
			all[len(all)-1] += " " + line
		} else {
			all = append(all, line)
		}
		open = flows && columns(line) >= fullLine
	}
	return all
}
