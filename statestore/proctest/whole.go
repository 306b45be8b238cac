package proctest

import (
	"flag"
	"os"
	"strings"
)

// Whole reports whether tests play everything they have: whole matrices of kinds, faults and points, as .ci/nightly does
// with ATHANOR_WHOLE=1. Without it they play a fixed sample, the same each time.
func Whole() bool { return os.Getenv("ATHANOR_WHOLE") == "1" }

// Played reports whether the nth case of a matrix is played, counted from 0: one in so many, each with [Whole], and each where -run
// names cases, as TestX/a does.
func Played(n, oneIn int) bool { return Whole() || named() || n%oneIn == 0 }

// named reports whether somebody asks for cases of a test, which are none of a sample then.
func named() bool {
	run := flag.Lookup("test.run")
	return run != nil && strings.Contains(run.Value.String(), "/")
}
