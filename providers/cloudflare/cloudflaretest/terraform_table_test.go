package cloudflaretest

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ofProvider is how many types of resources version 5.22 of the provider has.
const ofProvider = 257

// TestTerraformTable: the documentation's table names each type that the real provider judges the server by, once, and no other. The table behind it
// names all others of the provider, with reasons.
func TestTerraformTable(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cloudflare.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| types | differences after apply |\n|---|---|\n")
	if !found {
		t.Fatal("there is no table")
	}
	table, rest, _ := strings.Cut(table, "\n\n")
	_, rest, _ = strings.Cut(rest, "| types | why |\n|---|---|\n")
	rest, _, _ = strings.Cut(rest, "\n\n")
	var listed []string
	left := map[string]bool{}
	for row := range strings.Lines(rest) {
		types, _, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(types, -1) {
			left[name[1]] = true
		}
	}
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
	for _, name := range judged {
		if left[name] {
			t.Errorf("%s is judged, and the page says why it is not", name)
		}
	}
	if len(judged)+len(left) != ofProvider {
		t.Errorf("%d types are judged and %d are not, and the provider has %d", len(judged), len(left), ofProvider)
	}
	slices.Sort(listed)
	slices.Sort(judged)
	if !slices.Equal(listed, judged) {
		t.Errorf("the page has %q, and the provider judges %q", listed, judged)
	}
}
