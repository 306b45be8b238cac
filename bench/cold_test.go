package bench_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The limits of what a newcomer's first command compiles, a tenth above what it was when task cold took 9.3 times as long as compiling
// net/http: seconds differ by more than two between machines, and by three with what else one does. Who raises a limit looks at task
// cold.
const (
	mostPackages = 580 // of ours and of other modules
	mostSource   = 5.2 // times the source of net/http, with all that it imports
)

// TestFirstCommandCompilesLittle counts what `go run ./cmd/athanor` compiles where nothing was compiled before.
func TestFirstCommandCompilesLittle(t *testing.T) {
	t.Parallel()
	command, yardstick := compiled(t, "github.com/athanor-dev/athanor/cmd/athanor"), compiled(t, "net/http")
	ratio := float64(command.bytes) / float64(yardstick.bytes)
	t.Logf("the first command compiles %d packages of modules, and %.1f MB of source: %.2f times that of net/http", command.packages, float64(command.bytes)/1e6, ratio)
	if command.packages > mostPackages {
		t.Errorf("the first command compiles %d packages of modules, and at most %d are wanted: go list -deps ./cmd/athanor", command.packages, mostPackages)
	}
	if ratio > mostSource {
		t.Errorf("the first command compiles %.2f times the source of net/http, and at most %.1f are wanted: go list -deps ./cmd/athanor", ratio, float64(mostSource))
	}
	if yardstick.packages > 0 || yardstick.bytes < 1e6 {
		t.Errorf("the yardstick: %+v", yardstick)
	}
}

// source is what is compiled.
type source struct {
	packages int   // without those of Go itself
	bytes    int64 // of source, with Go's own
}

// compiled counts what a package is compiled from, for Linux on amd64 without C, wherever the test runs.
func compiled(t *testing.T, pkg string) (all source) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=Dir,Standard,GoFiles,SFiles", pkg)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		failed, _ := errors.AsType[*exec.ExitError](err)
		t.Fatalf("%v: %v: %s", cmd, err, failed.Stderr)
	}
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir             string
			Standard        bool
			GoFiles, SFiles []string
		}
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if !p.Standard {
			all.packages++
		}
		for _, name := range append(p.GoFiles, p.SFiles...) {
			info, err := os.Stat(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all.bytes += info.Size()
		}
	}
}
