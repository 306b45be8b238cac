//go:build unix

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// follow runs the worked example at the top of a page of docs: each command of athanor prints what stands below it there, with … for
// any text in a line, and a line of … alone for any lines. What other tools do has been done. Deploys are approved.
func (w *world) follow(page string) {
	w.t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		w.t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```\n$ ")
	example, _, ok := strings.Cut(example, "\n```")
	if !ok {
		w.t.Fatalf("%s has no worked example", page)
	}
	ran := 0
	for part := range strings.SplitSeq(example, "\n$ ") {
		line, want, _ := strings.Cut(part, "\n")
		line, file, redirected := strings.Cut(line, " > ")
		args := strings.Fields(line)
		if args[0] != "athanor" {
			continue
		}
		ran++
		if args[1] == "deploy" {
			args = append(args, "--yes")
		}
		out, said, code := w.printed("", args[1:]...)
		if code != 0 {
			w.t.Fatalf("%s: %s: exit code %d\n%s", page, line, code, said)
		}
		if redirected {
			w.write(file, out)
		}
		if want != "" && !asPrinted(want).MatchString(said) {
			w.t.Errorf("%s: %s prints\n%s\nand not\n%s", page, line, said, want)
		}
	}
	if ran < 1 {
		w.t.Errorf("%s shows no command of athanor", page)
	}
}

// asPrinted matches what is printed as a page shows it.
func asPrinted(want string) *regexp.Regexp {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", `[^\n]*`)
	pattern = regexp.MustCompile(`\n *\[\^\\n\]\*\n`).ReplaceAllString(pattern, `\n(?s:.*)`)
	return regexp.MustCompile(`^` + pattern + `\n$`)
}

// TestAsPrinted holds the matcher of pages to account: it takes what is meant, and nothing else.
func TestAsPrinted(t *testing.T) {
	const page = "a (x…)\n  b\n  …\nend"
	for printed, want := range map[string]bool{
		"a (xyz)\n  b\n  1\n  2\nend\n": true, "a (x)\n  b\nend\n": true, "a (xyz)\n  c\n  1\nend\n": false, "a (xyz)\n  b\n  1\nend\nmore\n": false, "z\na (x)\n  b\nend\n": false,
		"a (x\n)\n  b\nend\n": false,
	} {
		if asPrinted(page).MatchString(printed) != want {
			t.Errorf("%q: want %t", printed, want)
		}
	}
}
