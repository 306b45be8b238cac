package proctest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// TestGoEnv: in an environment of its own, a go command takes over the packages that this one has compiled, and writes nothing into its home.
func TestGoEnv(t *testing.T) {
	t.Setenv("ATHANOR_STACK_CGO", "")
	t.Setenv("GOFLAGS", "-gcflags=all=-dwarf=false")
	t.Setenv("CGO_ENABLED", "0")
	export := func(env []string) string {
		cmd := exec.Command("go", "list", "-export", "-f={{.Export}}", "unicode/utf8")
		cmd.Env = env
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Clean(strings.TrimSpace(string(out)))
	}
	env, err := proctest.GoEnv("-trimpath=false")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	bare := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	own := export(os.Environ())
	if got := export(append(bare, env...)); got != own {
		t.Errorf("%s is compiled, and %s was there", got, own)
	}
	if !slices.Contains(env, "GOFLAGS=-gcflags=all=-dwarf=false -trimpath=false") {
		t.Errorf("the flags are lost: %q", env)
	}
	without := slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, "GOFLAGS=") })
	if got := export(append(bare, without...)); got == own {
		t.Error("the flags make no difference, so the test sees nothing")
	}
	if wrote, err := os.ReadDir(home); err != nil || len(wrote) > 0 {
		t.Errorf("%v, %v are in its home", err, wrote)
	}
	t.Setenv("ATHANOR_STACK_CGO", "1")
	if env, err := proctest.GoEnv(); err != nil || !slices.Contains(env, "CGO_ENABLED=1") {
		t.Errorf("%q, %v; want cgo", env, err)
	}
}
