package kind_test

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/kind"
)

// TestLeastLength: a name shorter than the rule's least length is refused, and the rule says both lengths.
func TestLeastLength(t *testing.T) {
	rule := kind.NameRule{Min: 3, Max: 5, Marks: "-", Lower: true, Inner: true}
	for name, ok := range map[string]bool{"ab": false, "abc": true, "abcde": true, "abcdef": false, "-ab": false} {
		problem := rule.Problem(name)
		if (problem == "") != ok || !ok && !strings.HasPrefix(problem, "want 3 to 5 lower-case letters") {
			t.Errorf("%s: %q", name, problem)
		}
	}
}
