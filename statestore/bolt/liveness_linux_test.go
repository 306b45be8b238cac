package bolt

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// isolation is a way to run a program where it cannot see this test's processes as they are.
type isolation struct {
	name string
	// prefix are the words before the program.
	prefix []string
	uid    int // that it runs as, 0: that of the test
}

func isolations() []isolation {
	const nobody = 65534
	apart := []string{"unshare", "--mount", "--propagation", "private"}
	as := fmt.Sprintf("exec setpriv --reuid %[1]d --regid %[1]d --clear-groups --pdeathsig %%s -- \"$@\"", nobody)
	return []isolation{
		{"hidden processes", append(apart, "sh", "-c", "mount -t proc -o hidepid=2 proc /proc && "+fmt.Sprintf(as, "keep"), "sh"), nobody},
		{"no /proc", append(apart, "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"), 0},
		{"empty process folders", append(apart, "--pid", "--fork", "--kill-child", "--mount-proc"), 0},
		{"a clock ahead", []string{"unshare", "--time", "--boottime", "8640000", "--fork", "--kill-child"}, 0},
		{"a clock ahead, and hidden processes", append([]string{"unshare", "--time", "--boottime", "8640000", "--fork", "--kill-child"},
			append(apart, "sh", "-c", "mount -t proc -o hidepid=2 proc /proc && "+fmt.Sprintf(as, "KILL"), "sh")...), nobody},
	}
}

// permitted ends the test where the system does not permit the isolation: skipped, or failed when $ATHANOR_NO_SKIP is set.
func (i isolation) permitted(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), i.prefix[0], append(i.prefix[1:], "true")...).CombinedOutput()
	if err != nil {
		proctest.Missing(t, "%s: %v: %s", strings.Join(i.prefix, " "), err, out)
	}
}

// shared makes a store file that the user of the isolation may use.
func (i isolation) shared(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for at := dir; at != os.TempDir() && len(at) > 1 && i.uid != 0; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "state.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.Acquire(t.Context(), stage, statestore.Claim{Run: "first"})
	if err == nil {
		_, err = s.Commit(t.Context(), lease, statestore.Batch{Seq: 1, Finish: statestore.Succeeded})
	}
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, dir) {
		if err := os.Chown(name, i.uid, -1); i.uid != 0 && err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// claimFrom claims the stage with another process, which is started by the words of the prefix.
func claimFrom(t *testing.T, path string, prefix ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if len(prefix) > 0 {
		// A copy that anybody may run, wherever the test binary lies.
		data, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		self = filepath.Join(filepath.Dir(path), "claimant")
		if err := os.WriteFile(self, data, 0o755); err != nil { //nolint:gosec // it is to be run by another user
			t.Fatal(err)
		}
	}
	words := append(prefix, self)
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir = filepath.Dir(path)
	cmd.Env = append(os.Environ(), childRole+"=claim", childPath+"="+path)
	var complaints strings.Builder // the race detector says something here where /proc is hidden
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s%s", words, err, out, complaints.String())
	}
	return strings.TrimSpace(string(out))
}

// TestALiveHolderIsNeverTakenForDead: whatever another process is shown of this machine's processes and clocks, a holder
// that lives keeps its stage.
func TestALiveHolderIsNeverTakenForDead(t *testing.T) {
	for _, i := range isolations() {
		t.Run(i.name, func(t *testing.T) {
			i.permitted(t)
			path := i.shared(t)
			c := spawn(t, "hold", path)
			c.line(t)
			if got := claimFrom(t, path, i.prefix...); got != "held" {
				t.Errorf("a claim while the holder lives: %s", got)
			}
			c.kill(t)
			if got := claimFrom(t, path); got != "taken" {
				t.Errorf("a claim after the holder was killed: %s", got)
			}
		})
	}
}

// TestAHolderElsewhereIsNeverTakenForDead: a holder that is itself hidden, or has clocks of its own, keeps its stage.
func TestAHolderElsewhereIsNeverTakenForDead(t *testing.T) {
	for _, i := range isolations() {
		t.Run(i.name, func(t *testing.T) {
			i.permitted(t)
			path := i.shared(t)
			c := spawnFrom(t, "hold", path, i.prefix...)
			c.line(t)
			if got := claimFrom(t, path); got != "held" {
				t.Errorf("a claim while the holder lives: %s", got)
			}
		})
	}
}

// TestAChildDoesNotKeepTheLease: what a holder started holds nothing of its lease.
func TestAChildDoesNotKeepTheLease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	c := spawn(t, "hold with child", path)
	var holder, orphan int
	if _, err := fmt.Sscanf(c.line(t), "held by %d with %d", &holder, &orphan); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p, err := os.FindProcess(orphan); err == nil {
			_ = p.Kill()
		}
	}()
	if got := claimFrom(t, path); got != "held" {
		t.Errorf("a claim while the holder lives: %s", got)
	}
	c.kill(t)
	if got := claimFrom(t, path); got != "taken" {
		t.Errorf("a claim while a child of the dead holder lives: %s", got)
	}
}

// TestACopyOfTheStore: the holder of a store says nothing of a copy of its folder, and the other way round.
func TestACopyOfTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	c := spawn(t, "hold", path)
	c.line(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "state.db")
	if err := os.WriteFile(copied, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := claimFrom(t, copied); got != "held" {
		t.Errorf("a claim in the copy while the holder lives: %s", got)
	}
	c.kill(t)
	if got := claimFrom(t, copied); got != "taken" {
		t.Errorf("a claim in the copy after the holder was killed: %s", got)
	}
}
