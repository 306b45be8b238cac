package proctest

import "os"

// Whole reports whether tests play everything they have: whole matrices of kinds, faults and points, as .ci/nightly does
// with ATHANOR_WHOLE=1. Without it they play a fixed sample, the same each time.
func Whole() bool { return os.Getenv("ATHANOR_WHOLE") == "1" }

// Played reports whether the nth case of a matrix is played, counted from 0: one in so many, and each with [Whole].
func Played(n, oneIn int) bool { return Whole() || n%oneIn == 0 }
