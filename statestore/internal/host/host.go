// Package host knows the machine that the process runs on: its clocks, and whether another process of
// the same machine is still alive. It does not know what a lease is.
package host

import (
	"os"
	"time"
)

// Process names one process. A process id does not prove that a process lives: it is used again, it means something else
// in another namespace, and /proc may hide it. What proves it is its lock. A program that the process was about to start
// when it ended may hold the lock for a moment longer: that nobody has the id in its namespace proves the end as well.
type Process struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Boot names the running system: the boot id, or the machine where there is none. Empty: liveness cannot be known.
	Boot string `json:"boot,omitempty"`
	// Space names what the time since boot is counted in: a time namespace has a clock of its own.
	Space string `json:"space,omitempty"`
	// Names is the namespace that the process id is of. Empty: it cannot be known.
	Names string `json:"names,omitempty"`
	// Lock is held from before the process is named here until it ends. Nil: liveness cannot be known.
	Lock *Lock `json:"lock,omitempty"`
}

// World is what a store asks of the machine. Tests put their own in its place.
type World struct {
	// Now is the wall clock.
	Now func() time.Time
	// Uptime is the time since boot, sleep included; false where the system does not report it.
	Uptime func() (time.Duration, bool)
	// Self is this process, without a lock.
	Self Process
	// Dead reports whether the process has certainly ended. False means alive or unknown.
	Dead func(Process) bool
	// Locks are those of this process. Nil: it takes none.
	Locks *Locks
}

// Real is the machine itself.
func Real() World {
	self := Process{PID: os.Getpid()}
	self.Boot, self.Space = system()
	self.Names = names()
	if name, err := os.Hostname(); err == nil {
		self.Host = name
	}
	return World{
		Now:    time.Now,
		Uptime: Uptime,
		Self:   self,
		Dead: func(p Process) bool {
			return self.Boot != "" && self.Boot == p.Boot && p.Lock != nil && (p.Lock.released() || self.Names != "" && self.Names == p.Names && missing(p.PID))
		},
		Locks: &Locks{},
	}
}
