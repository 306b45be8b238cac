//go:build unix && !linux

package local

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// startOf is when a process began, to the second, as ps tells it. It is "" when there is none; one that has ended and that
// nobody has asked about yet is none.
func startOf(pid int) string {
	c := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid))
	c.Env = append(os.Environ(), "LC_ALL=C")
	out, err := c.Output()
	if err != nil {
		return ""
	}
	state, started, ok := strings.Cut(strings.TrimSpace(string(out)), " ")
	if !ok || strings.HasPrefix(state, "Z") {
		return ""
	}
	return strings.TrimSpace(started)
}
