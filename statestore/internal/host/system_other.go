//go:build !linux && !windows && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package host

import "time"

// Uptime is not reported here; callers go by the wall clock.
func Uptime() (time.Duration, bool) { return 0, false }

// system is not known here: a holder is taken over when its lease ends.
func system() (boot, space string) { return "", "" }

// names returns nothing: whose ids are meant cannot be known here.
func names() string { return "" }

func missing(int) bool { return false }
