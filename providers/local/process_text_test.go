package local

import (
	"fmt"
	"strings"
	"testing"
)

func TestEachLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", longestLine)
	for text, want := range map[string][]string{
		"":                       nil,
		"one":                    {"one 0"},
		"one\n":                  {"one 0"},
		"one\r\n\ntwo":           {"one 0", " 0", "two 0"},
		"\xff\n":                 {"\uFFFD 0"},
		long + "\nz":             {long + " 1", "z 0"}, // its end was cut, which is its line end
		long + "yyy\nnext\n":     {long + " 4", "next 0"},
		long + long + "\nnext\n": {long + fmt.Sprintf(" %d", longestLine+1), "next 0"},
	} {
		var have []string
		eachLine(strings.NewReader(text), func(line string, cut int) { have = append(have, fmt.Sprint(line, " ", cut)) })
		if strings.Join(have, "|") != strings.Join(want, "|") {
			t.Errorf("%d bytes: %d lines, want %d", len(text), len(have), len(want))
		}
	}
}

func TestMasker(t *testing.T) {
	t.Parallel()
	redact := func(text string) string { return strings.ReplaceAll(text, "stage", "(masked)") }
	m := masker(redact, []string{"abc", "abcdef", "-----BEGIN-----\nline of a key\nab\r\n"})
	for text, want := range map[string]string{
		"plain":                         "plain",
		"abc abcdef":                    mask + " " + mask,
		"-----BEGIN----- line of a key": mask + " " + mask,
		"about the stage":               "about the (masked)",
	} {
		if have := m(text); have != want {
			t.Errorf("%q: %q, want %q", text, have, want)
		}
	}
	if have := masker(nil, nil)("text"); have != "text" {
		t.Errorf("nothing to mask: %q", have)
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, address := range []string{"web", "Web", "a/b", "a__b", "a-b", "net/web[a]", strings.Repeat("x", 300), strings.Repeat("x", 299)} {
		name := fileName(address)
		if other, twice := seen[strings.ToLower(name)]; twice || len(name) > 100 || strings.ContainsAny(name, "/[") {
			t.Errorf("%s: %s, and so is %s", address, name, other)
		}
		seen[strings.ToLower(name)] = address
	}
}
