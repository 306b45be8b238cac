package cloudflaretest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTerraformTable: the documentation's table names each type that the real provider judges the server by, once, and no other.
func TestTerraformTable(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cloudflare.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| types | differences after apply |\n|---|---|\n")
	if !found {
		t.Fatal("there is no table")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var listed []string
	for row := range strings.Lines(table) {
		types, _, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(types, -1) {
			listed = append(listed, name[1])
		}
	}
	var judged []string
	for _, file := range []string{"main.tf", "types.tf"} {
		text, err := os.ReadFile("testdata/terraform/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range regexp.MustCompile(`(?m)^resource "cloudflare_(\w+)"`).FindAllStringSubmatch(string(text), -1) {
			judged = append(judged, r[1])
		}
	}
	slices.Sort(listed)
	slices.Sort(judged)
	if !slices.Equal(listed, judged) {
		t.Errorf("the page has %q, and the provider judges %q", listed, judged)
	}
}
