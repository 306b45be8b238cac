package proctest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// shares are the variables by which two runs of the go command take over what the other has compiled.
var shares = []string{"GOCACHE", "GOMODCACHE", "GOTOOLCHAIN", "CGO_ENABLED", "GOFLAGS"}

// telemetry names the folder of the counters of the go command, which takes another one by TEST_TELEMETRY_DIR.
const telemetry = "GOTELEMETRYDIR"

// GoEnv returns variables for a program of a test that has an environment of its own and compiles Go: with them it takes over what is
// compiled already, where all of Go would be compiled once more. The flags are added to those of GOFLAGS. $ATHANOR_STACK_CGO
// is its CGO_ENABLED, where it is set: a test binary under the race detector needs cgo, and the programs of stacks need none.
//
// The counters of the go command stay where they are: in a home of its own it starts a process that writes them there when the command
// has ended, and the test may have removed its folders.
func GoEnv(flags ...string) ([]string, error) {
	out, err := exec.Command("go", append([]string{"env", "-json", telemetry}, shares...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	var values map[string]string
	if err := json.Unmarshal(out, &values); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	if cgo := os.Getenv("ATHANOR_STACK_CGO"); cgo != "" {
		values["CGO_ENABLED"] = cgo
	}
	values["GOFLAGS"] = strings.Join(append(strings.Fields(values["GOFLAGS"]), flags...), " ")
	env := []string{"TEST_TELEMETRY_DIR=" + values[telemetry]}
	delete(values, telemetry)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, name+"="+values[name])
	}
	return env, nil
}
