package render

import (
	"fmt"
	"io"
	"strings"
)

// Check is one requirement of a stack, as `doctor --json` prints it.
type Check struct {
	Check  string      `json:"check"`
	Status CheckStatus `json:"status"`
	Text   string      `json:"text"`
	// Fix are instructions, with the exact command where there is one.
	Fix []string `json:"fix,omitempty"`
}

// CheckStatus is the result of a check.
type CheckStatus string

// The results of a check.
const (
	CheckOK      CheckStatus = "ok"
	CheckWarning CheckStatus = "warning"
	CheckMissing CheckStatus = "missing"
)

// checkHang is where the text of a check begins, and what does not fit into its line goes on.
const checkHang = 15

// Check writes a check with what mends it below.
func (s Style) Check(w io.Writer, k Check) {
	glyph := map[CheckStatus]string{CheckOK: " ", CheckWarning: s.paint(yellow, "~"), CheckMissing: s.paint(red, "!")}[k.Status]
	indent := strings.Repeat(" ", checkHang)
	head := fmt.Sprintf("%s %-*s  ", glyph, checkHang-4, Escaped(k.Check))
	for line := range strings.SplitSeq(Plainly(k.Text), "\n") {
		s.write(w, strings.TrimRight(head+Escaped(line), " "), checkHang)
		head = indent
	}
	for _, fix := range k.Fix {
		at := checkHang
		if s.narrow() {
			at = 2
		}
		s.advice(w, at, s.paint(cyan, "hint:")+"  ", Escaped(fix))
	}
}
