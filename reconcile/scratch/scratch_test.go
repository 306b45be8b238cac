//go:build unix && !solaris && !aix

package scratch_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile/scratch"
)

// ownerVariable makes a copy of the test binary the owner of a folder in the folder that it names. It ends when its input does.
const ownerVariable = "ATHANOR_TEST_SCRATCH"

func TestMain(m *testing.M) {
	if in := os.Getenv(ownerVariable); in != "" {
		f, err := scratch.New(in, "work-")
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString(f.Path + "\n")
		os.Stdin.Read(make([]byte, 1)) // it is killed meanwhile
		return
	}
	os.Exit(m.Run())
}

// TestKilledOwnersLeaveNothing: the folder of a process that was killed, with all that is in it, goes with the next one that is made. Those of
// living processes stay, as do other names, links, and files that are too young to be left behind.
func TestKilledOwnersLeaveNothing(t *testing.T) {
	in, outside := t.TempDir(), t.TempDir()
	owner := func() (path string, kill func()) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), ownerVariable+"="+in)
		input, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 4096)
		n, err := out.Read(line)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(line[:n])), func() {
			t.Helper()
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
			_ = input.Close()
		}
	}
	dead, kill := owner()
	living, end := owner()
	defer end()
	mine, err := scratch.New(in, "work-")
	if err != nil {
		t.Fatal(err)
	}
	kill()
	if err := errors.Join(
		os.WriteFile(filepath.Join(dead, "half"), nil, 0o600), os.WriteFile(filepath.Join(outside, "kept"), nil, 0o600),
		os.Symlink(outside, filepath.Join(in, "work-link")), os.Mkdir(filepath.Join(in, "other"), 0o700),
		os.WriteFile(filepath.Join(in, "work-file"), nil, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	next, err := scratch.New(in, "work-")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{living, mine.Path, next.Path, filepath.Join(in, "work-link"), filepath.Join(in, "other"), filepath.Join(in, "work-file")}
	slices.Sort(want)
	if have, err := filepath.Glob(filepath.Join(in, "*")); err != nil || !slices.Equal(have, want) {
		t.Errorf("there are %q, want %q (%v)", have, want, err)
	}
	if _, err := os.Stat(filepath.Join(outside, "kept")); err != nil {
		t.Error(err)
	}
	scratch.Sweep(in, "work-", "", time.Duration(0))
	if _, err := os.Stat(filepath.Join(in, "work-file")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is old enough stays: %v", err)
	}
	mine.Remove()
	if _, err := os.Stat(mine.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its owner has not removed it: %v", err)
	}
}
