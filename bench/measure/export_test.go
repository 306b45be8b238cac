package measure

// AnonymousOf is for tests.
func AnonymousOf(pid int) int64 { return anonymousOf(pid) }

// Sample is for tests.
var Sample = sample
