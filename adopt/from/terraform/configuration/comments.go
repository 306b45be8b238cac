package configuration

import (
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The bounds of a comment that is kept.
const (
	mostLines   = 20
	longestLine = 200
)

// commentsOf are the comments of a file that stand above something, by its line. Comments behind something on its line are of
// that line.
func commentsOf(tokens hclsyntax.Tokens) map[int]string {
	all := map[int]string{}
	var lines []string
	last := 0 // the line on which the last comment ended
	for n, t := range tokens {
		start := t.Range.Start.Line
		switch {
		case t.Type == hclsyntax.TokenNewline:
			if start > last { // an empty line parts a comment from what follows
				lines = nil
			}
			continue
		case t.Type != hclsyntax.TokenComment:
			if len(lines) > 0 {
				all[start] = strings.Join(lines, "\n")
			}
			lines = nil
			continue
		}
		text := cleaned(string(t.Bytes))
		end := t.Range.End.Line
		if t.Range.End.Column == 1 && end > start { // the token of a line has its end
			end--
		}
		last = end
		if n > 0 && tokens[n-1].Range.End.Line == start && tokens[n-1].Type != hclsyntax.TokenNewline && tokens[n-1].Type != hclsyntax.TokenComment {
			if all[start] == "" && len(text) > 0 {
				all[start] = strings.Join(text, "\n")
			}
			continue
		}
		lines = append(lines, text...)
		if len(lines) > mostLines {
			lines = lines[:mostLines]
		}
	}
	return all
}

// cleaned are the lines of a comment without what makes it one.
func cleaned(text string) []string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, ""))
	if inner, ok := strings.CutPrefix(text, "/*"); ok {
		text = strings.TrimSuffix(inner, "*/")
	}
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#/*"))
		if strings.Trim(line, "-=~_# ") == "" { // a rule, or nothing
			continue
		}
		if utf8.RuneCountInString(line) > longestLine {
			line = string([]rune(line)[:longestLine]) + "…"
		}
		all = append(all, line)
	}
	if len(all) > mostLines {
		all = all[:mostLines]
	}
	return all
}
