//go:build unix

package asset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestGoCompilesOnce: programs of one stack that are built at the same time for the first time compile what they have in common once. What
// the go command has compiled already it leaves; two of them that run side by side do not know of each other.
func TestGoCompilesOnce(t *testing.T) {
	dir := t.TempDir()
	log, counts := filepath.Join(dir, "log"), filepath.Join(dir, "counts")
	write(t, counts, "#!/bin/sh\ncase \"$*\" in *' -p example.test/shared '*) echo compiled >> "+log+";; esac\nexec \"$@\"\n")
	if err := os.Chmod(counts, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-toolexec="+counts)
	files := map[string]string{
		"go.mod": "module example.test\n\ngo 1.22\n",
		// Nobody else has compiled this one.
		"shared/shared.go": fmt.Sprintf("package shared\n\nconst Built = %q\n", time.Now().Format(time.RFC3339Nano)),
	}
	names := []string{"a", "b", "c"}
	for _, name := range names {
		files[name+"/main.go"] = "package main\n\nimport \"example.test/shared\"\n\nfunc main() { println(shared.Built) }\n"
	}
	work := stack(t, files)
	work.Turns = new(sync.Map)
	for round, want := range []int{1, 2} {
		var builds sync.WaitGroup
		for _, name := range names {
			builds.Go(func() {
				if _, err := (Go{Package: "./" + name, Arch: "amd64"}).Build(t.Context(), work, "bootstrap"); err != nil {
					t.Error(err)
				}
			})
		}
		builds.Wait()
		lines, err := os.ReadFile(log)
		if have := strings.Count(string(lines), "\n"); err != nil || have != want {
			t.Errorf("after round %d the package was compiled %d times, want %d (%v)", round, have, want, err)
		}
		names = []string{"b"} // an edit of one
		write(t, filepath.Join(work.Dir, "shared/shared.go"), files["shared/shared.go"]+"\nconst More = 1\n")
	}
}
