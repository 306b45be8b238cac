package host

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Uptime is the time since boot, sleep included.
func Uptime() (time.Duration, bool) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}

// system returns the boot id and the time namespace, or nothing where one of them cannot be known. A kernel without time
// namespaces has one clock for all.
func system() (boot, space string) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", ""
	}
	space, err = os.Readlink("/proc/self/ns/time")
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Readlink("/proc/self/ns/pid")
		space = "time"
	}
	if err != nil {
		return "", ""
	}
	return strings.TrimSpace(string(id)), space
}

// names returns the namespace of process ids, or nothing where it cannot be known.
func names() string {
	names, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return names
}

// missing reports that no process has an id. The kernel says so whatever /proc hides.
func missing(pid int) bool { return pid > 0 && errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
