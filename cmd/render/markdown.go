package render

import "strings"

// Markdown escapes texts from outside for Markdown, so that a name or a service's error is shown as it is: it makes no
// format, link, picture, mention, reference to an issue or HTML, and ends no block that it stands in.
type Markdown struct{}

// breaks is a space of no width: it keeps "@name", "#1" and "http://" from becoming links, which are looked for in what
// the escapes stand for.
const breaks = "&#8203;"

// Text is a text on one line of a paragraph, a heading or a table.
func (Markdown) Text(text string) string {
	var b strings.Builder
	for _, r := range oneLine(text) {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '@' || r == '#' || r == ':':
			b.WriteString(`\` + string(r) + breaks)
		case r == '.' || r == '-':
			b.WriteString(breaks + `\` + string(r)) // www.example.com, GH-1
		case r < 0x80 && strings.ContainsRune("!\"$%'()*+,/;=?[\\]^_`{|}~", r):
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Code is a text as code inside a line. It stands in tables too.
func (m Markdown) Code(text string) string {
	text = oneLine(text)
	if strings.Contains(text, "|") {
		return m.Text(text) // no escape works for both code and tables
	}
	if text == "" {
		return ""
	}
	fence := strings.Repeat("`", longestRun(text, '`')+1)
	spaced := strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ")
	if spaced || strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// Block is a text as a block of code in a language. The fence is longer than any in the text.
func (Markdown) Block(language, text string) string {
	text = strings.TrimRight(clean(text), "\n")
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	return fence + language + "\n" + text + "\n" + fence + "\n"
}

var spaces = strings.NewReplacer("\n", " ", "\t", " ")

// oneLine is a clean text whose line breaks and tabs are spaces.
func oneLine(text string) string { return spaces.Replace(clean(text)) }

// longestRun is how often a character follows itself at most.
func longestRun(text string, c byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if run++; text[i] != c {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
