//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package host

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Uptime is not reported here; callers go by the wall clock.
func Uptime() (time.Duration, bool) { return 0, false }

// system names the machine and when it was started. Where somebody sets the clock the time of the start moves with it: then
// the holder of before is taken over when its lease ends.
func system() (boot, space string) {
	name, err := os.Hostname()
	if err != nil {
		return "", ""
	}
	began, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return "", ""
	}
	return fmt.Sprintf("%s since %d", name, began.Nano()), ""
}

// names returns nothing: whose ids are meant cannot be known here.
func names() string { return "" }

func missing(int) bool { return false }
