package providers

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile"
)

var update = flag.Bool("update", false, "write testdata/replaces.txt anew; read it beside the service's documentation")

// TestReplacementsAreListed holds the props whose change replaces a resource to a list that people read. For kinds of AWS the
// registry says so as well (TestReplacementsAgree); for all others a tag that was left out would change documentation,
// plan and comparison alike.
func TestReplacementsAreListed(t *testing.T) {
	catalog, err := reconcile.NewCatalog(All()...)
	if err != nil {
		t.Fatal(err)
	}
	var have strings.Builder
	for _, name := range catalog.Types() {
		kind, exact := catalog.Kind(name)
		if !exact || strings.HasPrefix(name, "aws.") {
			continue
		}
		spec := kind.Spec()
		fields, err := spec.Props()
		if err != nil {
			t.Fatalf("%s: %v", spec.Type, err)
		}
		var replaces []string
		for _, f := range fields {
			if f.Replaces {
				replaces = append(replaces, string(f.Path))
			}
		}
		if slices.Sort(replaces); len(replaces) > 0 {
			fmt.Fprintf(&have, "%s: %s\n", spec.Type, strings.Join(replaces, " "))
		}
	}
	const file = "testdata/replaces.txt"
	if *update {
		if err := os.WriteFile(file, []byte(have.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if have.String() != string(want) {
		t.Errorf("the kinds say that these replace:\n%s\nand %s says:\n%s", have.String(), file, want)
	}
}
