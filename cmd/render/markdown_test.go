package render_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/cmd/render"
)

var (
	// special finds what Markdown reads as more than a letter where no backslash is before it.
	special = regexp.MustCompile("(?:^|[^\\\\])(?:\\\\\\\\)*[!-\"$%'()*+,./:=?@[\\]^_`{|}~<>-]")
	// linked finds what is made a link after all escapes were read.
	linked = regexp.MustCompile(`(?i)@\w|#\d|\b(?:https?|ftp|mailto):[^\x{200b}]|\bwww\.|\bGH-\d`)
	entity = regexp.MustCompile(`&(?:amp|lt|gt|#8203);`)
)

var markdownAttacks = []string{
	"plain", "@octocat", "#12", "org/repo#3", "GH-12", "http://evil.example", "www.evil.example", "![x](http://evil/y.png)", "[a](javascript:b)",
	"<img src=x onerror=alert(1)>", "&lt;b&gt;", "`code`", "```\nblock\n```", "~~~", "| a | b |", "# head", "- item", "1. item", "***", "a\n\nb", "$x$", "\\", "\\\\`",
	"``` ", "`", "````", "\u202etxt", "::error::x",
}

// FuzzMarkdown escapes texts: nothing in one is read as Markdown, and nothing ends the block it stands in.
func FuzzMarkdown(f *testing.F) {
	for _, text := range markdownAttacks {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var m render.Markdown
		line := m.Text(text)
		bare := entity.ReplaceAllString(line, "")
		if strings.Contains(line, "\n") || special.MatchString(bare) || strings.Contains(bare, "&") || raw(line) {
			t.Fatalf("%q becomes %q", text, line)
		}
		if shown := strings.ReplaceAll(html.UnescapeString(line), `\`, ""); linked.MatchString(shown) {
			t.Fatalf("%q is linked as %q", text, shown)
		}
		code := m.Code(text)
		if fence := code[:len(code)-len(strings.TrimLeft(code, "`"))]; fence != "" {
			inside := code[len(fence) : len(code)-len(fence)]
			if !strings.HasSuffix(code, fence) || strings.Contains(inside, fence) || strings.ContainsAny(code, "\n|") || raw(code) {
				t.Fatalf("%q becomes %q", text, code)
			}
		}
		block := strings.Split(m.Block("diff", text), "\n")
		fence := strings.TrimSuffix(block[0], "diff")
		if len(fence) < 3 || block[len(block)-2] != fence || block[len(block)-1] != "" || raw(strings.Join(block, "\n")) {
			t.Fatalf("%q becomes %q", text, block)
		}
		for _, line := range block[1 : len(block)-2] {
			if strings.Contains(line, fence) {
				t.Fatalf("%q ends its block: %q", text, block)
			}
		}
	})
}

func TestMarkdown(t *testing.T) {
	var m render.Markdown
	for text, want := range map[string]string{
		"net/queue":  `net\/queue`,
		"@octocat":   `\@&#8203;octocat`,
		"![x](y)":    `\!\[x\]\(y\)`,
		"<b>":        "&lt;b&gt;",
		"my bucket":  "my bucket",
		"line\nline": "line line",
	} {
		if have := m.Text(text); have != want {
			t.Errorf("%q becomes %q, want %q", text, have, want)
		}
	}
	if have := m.Code("a`b"); have != "``a`b``" {
		t.Errorf("code: %q", have)
	}
	if have := m.Block("", "x\n```\ny"); have != "````\nx\n```\ny\n````\n" {
		t.Errorf("block: %q", have)
	}
}
