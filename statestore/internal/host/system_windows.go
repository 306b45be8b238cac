package host

import (
	"os"
	"time"

	"golang.org/x/sys/windows/registry"
)

// Uptime is not reported here; callers go by the wall clock.
func Uptime() (time.Duration, bool) { return 0, false }

// system names the machine. It has no id of its start: a lock that outlives none is proof enough.
func system() (boot, space string) {
	name, err := os.Hostname()
	if err != nil {
		return "", ""
	}
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft\Cryptography`, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return "", ""
	}
	defer func() { _ = key.Close() }()
	id, _, err := key.GetStringValue("MachineGuid")
	if err != nil {
		return "", ""
	}
	return name + " " + id, ""
}

// names returns nothing: whose ids are meant cannot be known here.
func names() string { return "" }

func missing(int) bool { return false }
