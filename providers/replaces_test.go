package providers

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

var update = flag.Bool("update", false, "write testdata/replaces.txt and defaults.txt anew; read them beside the service's documentation")

// TestReplacementsAreListed holds the props whose change replaces a resource to a list that people read. For kinds of AWS the
// registry says so as well (TestReplacementsAgree); for all others a tag that was left out would change documentation,
// plan and comparison alike.
func TestReplacementsAreListed(t *testing.T) {
	listed(t, "testdata/replaces.txt", func(kind string, f props.Field) string {
		if !f.Replaces || strings.HasPrefix(kind, "aws.") {
			return ""
		}
		return string(f.Path)
	})
}

// TestDefaultsAreListed holds the defaults of all kinds to a list that people read: another one would change documentation, plan,
// comparison and calls alike, and most services take it.
func TestDefaultsAreListed(t *testing.T) {
	listed(t, "testdata/defaults.txt", func(_ string, f props.Field) string {
		isSentence := strings.Contains(f.Doc, "Default:") // of the comment: a tag and a comment do not both say one
		switch spaced := strings.Contains(f.Default, " "); {
		case f.Default == "", strings.HasPrefix(f.Default, "none"), spaced && isSentence:
			return ""
		case spaced:
			return fmt.Sprintf("%s=%q", f.Path, f.Default)
		}
		return fmt.Sprintf("%s=%s", f.Path, f.Default)
	})
}

// listed compares a file with what is said of the fields of each kind, a line for each that something is said of.
func listed(t *testing.T, file string, of func(kind string, f props.Field) string) {
	t.Helper()
	catalog, err := reconcile.NewCatalog(All()...)
	if err != nil {
		t.Fatal(err)
	}
	var have strings.Builder
	for _, name := range catalog.Types() {
		kind, exact := catalog.Kind(name)
		if !exact {
			continue
		}
		spec := kind.Spec()
		fields, err := spec.Props()
		if err != nil {
			t.Fatalf("%s: %v", spec.Type, err)
		}
		var all []string
		for ; len(fields) > 0; fields = fields[1:] {
			if text := of(name, fields[0]); text != "" {
				all = append(all, text)
			}
			fields = append(fields, fields[0].Fields...)
		}
		if slices.Sort(all); len(all) > 0 {
			fmt.Fprintf(&have, "%s: %s\n", spec.Type, strings.Join(all, " "))
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(have.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, said := strings.Split(string(want), "\n"), strings.Split(have.String(), "\n")
	var differ strings.Builder
	for _, line := range lines {
		if !slices.Contains(said, line) {
			fmt.Fprintln(&differ, "-", line)
		}
	}
	for _, line := range said {
		if !slices.Contains(lines, line) {
			fmt.Fprintln(&differ, "+", line)
		}
	}
	if differ.Len() > 0 || len(lines) != len(said) {
		t.Errorf("%s differs (- list, + kinds). Read it beside the documentation once it is written anew: "+
			"go test ./providers -run 'AreListed$' -args -update\n%s", file, differ.String())
	}
}
