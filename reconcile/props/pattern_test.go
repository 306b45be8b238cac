package props_test

import (
	"testing"

	"github.com/athanor-dev/athanor/reconcile/props"
)

// TestPattern: what is wrong with a pattern is said when it is asked for, and each time.
func TestPattern(t *testing.T) {
	good, wrong := props.Pattern(`^a+$`), props.Pattern(`(`)
	first := good()
	if !first.MatchString("aa") || first.MatchString("b") || good() != first {
		t.Error("the pattern is not what was written, or is compiled twice")
	}
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a wrong pattern is silent")
				}
			}()
			wrong()
		}()
	}
}
