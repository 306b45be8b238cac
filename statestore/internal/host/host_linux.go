//go:build linux

package host

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
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

// process reads what tells this process from every other. Any part that cannot be read leaves Boot
// empty, which makes liveness unknown.
func process() Process {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Process{}
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return Process{}
	}
	started, err := startTime("self")
	if err != nil {
		return Process{}
	}
	return Process{Boot: strings.TrimSpace(string(boot)), Space: space, Started: started}
}

func dead(self, p Process) bool {
	if self.Boot == "" || p.Boot != self.Boot || p.Space != self.Space || p.PID <= 0 {
		return false
	}
	started, err := startTime(strconv.Itoa(p.PID))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true
	case err != nil:
		return false
	}
	return started != p.Started
}

// startTime reads field 22 of /proc/PID/stat. The command name before it stands in parentheses and
// may itself hold spaces and parentheses, so that counting begins behind the last one. A zombie has
// ended: it holds nothing and writes nothing, its parent just has not asked yet.
func startTime(pid string) (uint64, error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		if errors.Is(err, unix.ESRCH) {
			return 0, fs.ErrNotExist
		}
		return 0, err
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return 0, errors.New("unreadable process status")
	}
	if state := string(fields[0]); state == "Z" || state == "X" {
		return 0, fs.ErrNotExist
	}
	return strconv.ParseUint(string(fields[19]), 10, 64)
}
