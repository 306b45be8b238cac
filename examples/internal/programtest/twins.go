package programtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Twins holds a file in YAML to the Go program of the current folder: both must give the same graph.
func Twins(t testing.TB, file string) {
	t.Helper()
	tool := built(t, "../../cmd/athanor")
	graph := func(source string) map[string]any {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), tool, "graph", source, "--json", "--stage", "test")
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("graph %s: %v", source, err)
		}
		var g map[string]any
		if err := json.Unmarshal(out, &g); err != nil {
			t.Fatal(err)
		}
		resources, _ := g["resources"].([]any)
		byAddress := map[string]any{}
		for _, r := range resources {
			m, _ := r.(map[string]any)
			delete(m, "source")
			address, _ := m["address"].(string)
			byAddress[address] = m
		}
		g["resources"] = byAddress
		return g
	}
	if diff := cmp.Diff(graph("."), graph(file)); diff != "" {
		t.Errorf("the YAML twin differs (-go +yaml):\n%s", diff)
	}
}
