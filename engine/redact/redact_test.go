package redact

import (
	"fmt"
	"strings"
	"testing"
)

// TestSecretsThatComeOneByOne learns secrets while texts are looked through: each is found from then on, whatever
// part it was merged into, and one inside another leaves no rest of it.
func TestSecretsThatComeOneByOne(t *testing.T) {
	r := &Redactor{}
	for i := range 300 {
		value := fmt.Sprintf("hidden-%d-end", i)
		if r.Holds("a " + value) {
			t.Fatalf("%s is known before it was learnt", value)
		}
		r.Learn(value)
		for _, known := range []int{0, i / 2, i} {
			if text := fmt.Sprintf("x hidden-%d-end y", known); !r.Holds(text) || strings.Contains(r.Text(text), "hidden") {
				t.Fatalf("after %d: %q shows as %q", i, text, r.Text(text))
			}
		}
	}
	r.Learn("outer hidden-7-end outer")
	if got := r.Text("outer hidden-7-end outer"); strings.Contains(got, "outer") {
		t.Errorf("a rest is left: %q", got)
	}
	if got := r.Text("nothing here"); got != "nothing here" {
		t.Errorf("masked %q", got)
	}
}
