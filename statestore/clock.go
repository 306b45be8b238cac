package statestore

import "time"

// clock reads three clocks, because each of them can lie about elapsed time: the monotonic one stands
// still while the machine sleeps, the boot-time one is not everywhere, the wall clock can be set.
type clock struct {
	mono func() time.Time // read for its monotonic part
	wall func() time.Time
	boot func() (time.Duration, bool)
}

// reading is one moment on all of them.
type reading struct {
	mono  time.Time
	wall  time.Time
	boot  time.Duration
	knows bool // boot is known
}

func (c clock) read() reading {
	r := reading{mono: c.mono(), wall: c.wall().Round(0)} // Round strips the monotonic part
	r.boot, r.knows = c.boot()
	return r
}

// since is the largest elapsed time that any clock claims, never negative.
func (r reading) since(earlier reading) time.Duration {
	elapsed := max(0, r.mono.Sub(earlier.mono), r.wall.Sub(earlier.wall))
	if r.knows && earlier.knows {
		elapsed = max(elapsed, r.boot-earlier.boot)
	}
	return elapsed
}
