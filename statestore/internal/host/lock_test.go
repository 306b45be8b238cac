//go:build (unix && !solaris && !aix) || windows

package host

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// lockPurpose makes a copy of the test binary a process that holds a lock, prints where, and waits for the end of its
// input.
const lockPurpose = "ATHANOR_TEST_LOCK"

func TestMain(m *testing.M) {
	if os.Getenv(lockPurpose) == "" {
		os.Exit(m.Run())
	}
	locks := &Locks{}
	lock, _ := locks.Hold("test")
	_ = json.NewEncoder(os.Stdout).Encode(lock)
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// holding is a process that holds a lock.
func holding(t *testing.T) (p Process, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), lockPurpose+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p = Real().Self
	p.PID, p.Lock = cmd.Process.Pid, new(Lock)
	if err := json.NewDecoder(out).Decode(p.Lock); err != nil {
		t.Fatal(err)
	}
	return p, func() {
		t.Helper()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		_ = in.Close()
	}
}

func TestDead(t *testing.T) {
	setTemp(t, t.TempDir())
	w := Real()
	if w.Self.Boot == "" || w.Self.PID != os.Getpid() {
		t.Fatalf("this process: %+v", w.Self)
	}
	p, kill := holding(t)
	if w.Dead(p) {
		t.Error("a living process counts as dead")
	}
	kill()
	byName := p
	p.Names = "" // by its lock alone
	for name, change := range map[string]func(*Process){
		"another boot":   func(p *Process) { p.Boot = "x" },
		"unknown boot":   func(p *Process) { p.Boot = "" },
		"no lock":        func(p *Process) { p.Lock = nil },
		"another volume": func(p *Process) { p.Lock.Volume++ },
		"another file":   func(p *Process) { p.Lock.File++ },
		"no such file":   func(p *Process) { p.Lock.Path += ".x" },
	} {
		q := p
		lock := *p.Lock
		q.Lock = &lock
		change(&q)
		if w.Dead(q) {
			t.Errorf("%s: declared dead without knowing", name)
		}
	}
	reused := p
	reused.PID = os.Getpid() // another process has got its id
	for range 2 {            // asking takes nothing
		if !w.Dead(p) || !w.Dead(reused) {
			t.Error("a dead process counts as alive")
		}
	}
	inherited, err := os.Open(p.Lock.Path) // by a program that it was about to start
	if err != nil || !take(inherited) {
		t.Fatalf("not locked: %v", err)
	}
	other, alive := byName, byName
	other.Names, alive.PID = "pid:[1]", os.Getpid()
	if known := byName.Names != ""; w.Dead(byName) != known || w.Dead(p) || w.Dead(other) || w.Dead(alive) {
		t.Errorf("its lock was inherited: %v, without names %v, of another namespace %v, with a living id %v", w.Dead(byName), w.Dead(p), w.Dead(other), w.Dead(alive))
	}
	_ = inherited.Close()
	p.Lock.Remove()
	if _, err := os.Stat(p.Lock.Path); !os.IsNotExist(err) {
		t.Errorf("the lock of a dead process stays: %v", err)
	}
	if w.Dead(p) {
		t.Error("a lock that is not there proves nothing")
	}
}

func TestHold(t *testing.T) {
	setTemp(t, t.TempDir())
	w := Real()
	a, fresh := w.Locks.Hold("a")
	if again, second := w.Locks.Hold("a"); a == nil || !fresh || again != a || second {
		t.Errorf("held %v (%t), again %v (%t)", a, fresh, again, second)
	}
	b, _ := w.Locks.Hold("b")
	self := func(l *Lock) Process { p := w.Self; p.Lock = l; return p }
	if w.Dead(self(a)) || w.Dead(self(b)) {
		t.Error("this process counts as dead")
	}
	a.Remove()
	if w.Dead(self(a)) {
		t.Error("a lock that is held was removed")
	}
	w.Locks.Release("a")
	w.Locks.Release("a")
	if _, err := os.Stat(a.Path); !os.IsNotExist(err) {
		t.Errorf("a lock that was given back stays: %v", err)
	}
	if w.Dead(self(b)) {
		t.Error("giving one lock back gives another one back")
	}
	w.Locks.Release("b")
}

// lockFiles are the names of the files in a folder.
func lockFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TestKilledLeaveNothing: of processes that were killed one file stays at most for each that ran at the same time, since the next
// one takes it over. Each of the dead is still known to be dead, while its file is locked by a living one and after that, and the
// living ones are not.
func TestKilledLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	setTemp(t, dir)
	w := Real()
	var dead []Process
	proven := func(when string) {
		t.Helper()
		for i, p := range dead {
			p.Names = "" // by its lock alone
			if !w.Dead(p) {
				t.Errorf("%s: process %d counts as alive", when, i)
			}
		}
	}
	for range 3 {
		one, killOne := holding(t)
		two, killTwo := holding(t)
		proven("while others live")
		if one.Lock.Path == two.Lock.Path || w.Dead(one) || w.Dead(two) {
			t.Fatalf("two that live: %+v, %+v", one.Lock, two.Lock)
		}
		killOne()
		killTwo()
		dead = append(dead, one, two)
		proven("after all")
	}
	if files := lockFiles(t, dir); len(files) != 2 {
		t.Errorf("six that were killed, two at a time, have left %v", files)
	}
	dead[0].Lock.Remove()
	if files := lockFiles(t, dir); len(files) != 2 {
		t.Errorf("the file of a process that another one took over is gone: %v", files)
	}
	dead[4].Lock.Mark, dead[4].Names = "", "" // as a version wrote it that took nothing over
	w.Locks.Hold("a")
	w.Locks.Hold("b")
	if w.Dead(dead[4]) {
		t.Error("a file that is locked proves an end to somebody who knows no marks")
	}
	w.Locks.Release("a")
	w.Locks.Release("b")
	if files := lockFiles(t, dir); len(files) != 0 {
		t.Errorf("given back, and still there: %v", files)
	}
}

// TestStaleLocks: files that nobody has locked for a day are removed, those without a text too. What is younger,
// locked, of another form, a link or open to others stays as it is.
func TestStaleLocks(t *testing.T) {
	dir := t.TempDir()
	setTemp(t, dir)
	long := time.Now().Add(-2 * stale)
	write := func(name, text string, mode os.FileMode, at time.Time) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mark := "\x00ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	write("athanor-old.lock", "", 0o600, long)
	write("athanor-1.lock", mark, 0o600, long)
	write("athanor-2.lock", mark, 0o600, long)
	write("athanor-young.lock", "", 0o600, time.Now())
	write("athanor-notes.lock", "what somebody has written", 0o600, long)
	private := write("private", mark, 0o600, long)
	locked, err := os.OpenFile(write("athanor-locked.lock", mark, 0o600, long), os.O_RDWR, 0)
	if err != nil || !take(locked) {
		t.Fatal(err)
	}
	defer locked.Close()
	stay := map[string]bool{"athanor-young.lock": true, "athanor-notes.lock": true, "athanor-locked.lock": true, "private": true}
	if runtime.GOOS != "windows" {
		write("athanor-open.lock", mark, 0o666, long)
		if err := errors.Join(os.Symlink(private, filepath.Join(dir, "athanor-link.lock")), os.Link(private, filepath.Join(dir, "athanor-hard.lock"))); err != nil {
			t.Fatal(err)
		}
		stay["athanor-open.lock"], stay["athanor-link.lock"], stay["athanor-hard.lock"] = true, true, true
	}
	locks := new(Locks)
	lock, _ := locks.Hold("a")
	if lock == nil || filepath.Base(lock.Path) != "athanor-1.lock" && filepath.Base(lock.Path) != "athanor-2.lock" {
		t.Fatalf("taken over: %+v", lock)
	}
	locks.Release("a")
	files := lockFiles(t, dir)
	for _, name := range files {
		if !stay[name] {
			t.Errorf("%s stays", name)
		}
	}
	if len(files) != len(stay) {
		t.Errorf("%v is left, want %v", files, stay)
	}
	if text, err := os.ReadFile(private); err != nil || string(text) != mark {
		t.Errorf("a private file was written: %q, %v", text, err)
	}
}

// TestWithoutLocks: where no lock can be taken, or the file system grants every one, nothing is proven.
func TestWithoutLocks(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(dir + "/granted")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if lock := locked(f); lock != nil { // as if taking it had been granted
		t.Errorf("a file system that carries no locks: %+v", lock)
	}
	setTemp(t, dir+"/missing")
	if lock, fresh := new(Locks).Hold("a"); lock != nil || fresh {
		t.Errorf("without a temporary folder: %+v", lock)
	}
	if lock, fresh := (*Locks)(nil).Hold("a"); lock != nil || fresh {
		t.Errorf("of nobody: %+v", lock)
	}
	if (*Lock)(nil).released() {
		t.Error("a lock that was never taken counts as given back")
	}
}

func setTemp(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"TMPDIR", "TEMP", "TMP"} {
		t.Setenv(name, dir)
	}
}
