package docs_test

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/docs"
)

// TestSearch: what people ask for finds a section of the page that answers it among the first three.
func TestSearch(t *testing.T) {
	for query, want := range map[string]string{
		"how do I create a new stage":            "howto/stages.md",
		"rotate the key of a stage":              "secrets.md",
		"state in PostgreSQL":                    "stores.md",
		"exit codes":                             "cli.md",
		"zero downtime replacement":              "howto/replace.md",
		"move from terraform":                    "from-terraform.md",
		"migrations of D1":                       "cloudflare.md",
		"worker with a database, tutorial":       "tutorial-worker.md",
		"github actions comment on pull request": "ci.md",
		"refuse plans by a policy":               "howto/policies.md",
	} {
		found := docs.Search(query, 3)
		if !slices.ContainsFunc(found, func(s docs.Section) bool { return s.Page == want }) {
			t.Errorf("%q finds %s, want %s", query, names(found), want)
		}
	}
	if found := docs.Search("xyzzy", 3); found != nil {
		t.Errorf("a word of no page finds %s", names(found))
	}
	if found := docs.Search("", 3); found != nil {
		t.Errorf("nothing finds %s", names(found))
	}
	if found := docs.Search("deploy", 2); len(found) != 2 {
		t.Errorf("%d sections, want 2", len(found))
	}
}

func names(found []docs.Section) (out []string) {
	for _, s := range found {
		out = append(out, s.Page+" ("+s.Heading+")")
	}
	return out
}

// TestPages: every page can be read by its name, and no other file of the machine.
func TestPages(t *testing.T) {
	all := docs.Pages()
	for _, want := range []string{"cli.md", "howto/stages.md"} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not carried", want)
		}
	}
	for _, name := range all {
		if text, err := docs.Page(name); err != nil || !strings.HasPrefix(text, "# ") {
			t.Errorf("%s: %.20q, %v", name, text, err)
		}
	}
	for _, name := range []string{"../README.md", "docs.go", "howto", "", "/etc/passwd"} {
		if _, err := docs.Page(name); !errors.Is(err, docs.ErrNoPage) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Every picture of a terminal is linked, and every link leads to one.
func TestTerminalPictures(t *testing.T) {
	page, err := docs.Page("cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var linked []string
	for _, m := range regexp.MustCompile(`\((terminal/[^)]+)\)`).FindAllStringSubmatch(page, -1) {
		linked = append(linked, m[1])
	}
	taken, err := filepath.Glob("terminal/*.png")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(linked)
	if len(taken) == 0 || !slices.Equal(linked, taken) {
		t.Errorf("cli.md links %q, taken are %q (task terminal:shots)", linked, taken)
	}
}
