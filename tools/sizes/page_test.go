package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page says what is measured.
func TestPage(t *testing.T) {
	const dir = "../.."
	text, err := os.ReadFile(filepath.Join(dir, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	now, err := measured(dir)
	if err != nil {
		t.Fatal(err)
	}
	want, err := withSizes(string(text), now)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != want {
		t.Errorf("%s says other sizes than %s: `task sizes:page` writes them", pageFile, strings.Join(now, ", "))
	}
}

func TestWithSizes(t *testing.T) {
	page := "# a\n\n" + pageTable + " before | now |\n|---|---|---|\n| methods | 7 | 8 |\n| lines | 1 | |\n\nrest\n"
	got, err := withSizes(page, []string{"9 (`x`)", "1,000"})
	want := "# a\n\n" + pageTable + " before | now |\n|---|---|---|\n| methods | 7 | 9 (`x`) |\n| lines | 1 | 1,000 |\n\nrest\n"
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	if _, err := withSizes(page, make([]string, 3)); err == nil {
		t.Error("a table that is too short")
	}
	if _, err := withSizes("rest", nil); err == nil {
		t.Error("no table")
	}
}
