package local

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// startOf is when a process began: the boot of the machine, and ticks of its clock since. It is "" when there is none; one
// that has ended and that nobody has asked about yet is none.
func startOf(pid int) string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The name of the program stands in parentheses and may hold any character: counting begins behind it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "/" + string(fields[19])
}
