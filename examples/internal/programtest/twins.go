package programtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Twins holds a file in YAML to the Go program of the current folder: both must give the same graph.
func Twins(t testing.TB, file string) {
	t.Helper()
	tool := built(t, "../../cmd/athanor")
	graph := func(source string) map[string]any {
		t.Helper()
		var g map[string]any
		if err := json.Unmarshal(graphBy(t, tool, source), &g); err != nil {
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

// BothWays holds the graph of the Go program of the current folder that the ready-made command reads, from a program which
// is built for that alone, to the graph of the program that is the command.
func BothWays(t testing.TB) {
	t.Helper()
	read := graphBy(t, built(t, "../../cmd/athanor"), ".")
	if own := graphBy(t, built(t, ".")); !bytes.Equal(own, read) {
		t.Errorf("the graph differs (-the program +the command):\n%s", cmp.Diff(string(own), string(read)))
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(here))
	light := filepath.Join("../../.athanor/cache/programs", hex.EncodeToString(sum[:8])+"-light")
	linked, err := os.Stat(light)
	if err != nil {
		t.Fatalf("the program was not built for its graph alone: %v", err)
	}
	graphBy(t, built(t, "../../cmd/athanor"), ".")
	if again, err := os.Stat(light); err != nil || !os.SameFile(linked, again) {
		t.Errorf("it is linked again when nothing has changed (%v)", err)
	}
}

// graphBy is the graph that a command prints.
func graphBy(t testing.TB, command string, source ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, append([]string{"graph", "--json", "--stage", "test"}, source...)...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s graph %s: %v", command, source, err)
	}
	return out
}
