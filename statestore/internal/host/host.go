// Package host knows the machine that the process runs on: its clocks, and whether another process of
// the same machine is still alive. It does not know what a lease is.
package host

import (
	"os"
	"time"
)

// Process names one process so that nothing else is ever taken for it: a process id alone is used
// again, and means something else in another namespace or after a restart of the machine.
type Process struct {
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Boot    string `json:"boot,omitempty"`    // boot id of the machine; empty: liveness cannot be known
	Space   string `json:"space,omitempty"`   // pid namespace
	Started uint64 `json:"started,omitempty"` // start time in clock ticks since boot
}

// World is what a store asks of the machine. Tests put their own in its place.
type World struct {
	// Now is the wall clock.
	Now func() time.Time
	// Uptime is the time since boot, sleep included; false where the system does not tell.
	Uptime func() (time.Duration, bool)
	// Self is this process.
	Self Process
	// Dead reports whether the process is certainly gone. False means alive or unknown.
	Dead func(Process) bool
}

// Real is the machine itself.
func Real() World {
	self := process()
	self.PID = os.Getpid()
	if name, err := os.Hostname(); err == nil {
		self.Host = name
	}
	return World{
		Now:    time.Now,
		Uptime: Uptime,
		Self:   self,
		Dead:   func(p Process) bool { return dead(self, p) },
	}
}
