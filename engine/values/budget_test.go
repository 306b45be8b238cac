package values

import (
	"strings"
	"testing"
)

// TestBudget: addresses are counted once, as they are now, and refused when they take too much together.
func TestBudget(t *testing.T) {
	var b Budget
	long := map[string]any{"text": strings.Repeat("x", 20<<20)}
	for _, address := range []string{"a", "b", "c", "a", "b", "c"} {
		if err := b.Hold(address, long); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := b.Hold("d", long); err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("more than all may take: %v", err)
	}
	if err := b.Hold("d", nil); err != nil {
		t.Errorf("less again: %v", err)
	}
}
