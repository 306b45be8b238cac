package foreign_test

import (
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/cmd/internal/foreign"
)

// TestStackWithoutName asks for the name of a stack before it asks for the region.
func TestStackWithoutName(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	for where, want := range map[string]string{"": "which stack", "?region=eu-north-1": "which stack", "shop": "no region is set"} {
		if _, err := foreign.Read(t.Context(), "cloudformation", where, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("cloudformation:%s: %v, want %q", where, err, want)
		}
	}
}
