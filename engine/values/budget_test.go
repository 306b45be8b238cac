package values

import (
	"strings"
	"testing"
)

// TestBudget: addresses are counted once, as they are now, and refused when they take too much together.
func TestBudget(t *testing.T) {
	var b Budget
	long := map[string]any{"text": strings.Repeat("x", 20<<20)}
	took := map[string]int{}
	hold := func(address string, props any) (err error) {
		took[address], err = b.Hold(took[address], props)
		return err
	}
	for _, address := range []string{"a", "b", "c", "a", "b", "c"} {
		if err := hold(address, long); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := hold("d", long); err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("more than all may take: %v", err)
	}
	if err := hold("d", nil); err != nil {
		t.Errorf("less again: %v", err)
	}
}
