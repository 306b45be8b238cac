package proctest_test

import (
	"flag"
	"testing"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// TestPlayed: a sample is the same each time, and whole where it is asked for.
func TestPlayed(t *testing.T) {
	run := flag.Lookup("test.run").Value
	before := run.String()
	t.Cleanup(func() { _ = run.Set(before) })
	for _, tt := range []struct {
		whole, run string
		want       []bool
	}{
		{"", "", []bool{true, false, false, true}},
		{"", "^TestX$", []bool{true, false, false, true}},
		{"", "TestX/case", []bool{true, true, true, true}},
		{"1", "", []bool{true, true, true, true}},
	} {
		t.Setenv("ATHANOR_WHOLE", tt.whole)
		if err := run.Set(tt.run); err != nil {
			t.Fatal(err)
		}
		for n, want := range tt.want {
			if got := proctest.Played(n, 3); got != want {
				t.Errorf("ATHANOR_WHOLE=%q, -run %q: case %d is played: %t", tt.whole, tt.run, n, got)
			}
		}
	}
}
