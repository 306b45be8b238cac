//go:build (unix && !solaris && !aix) || windows

package host

import (
	"io"
	"os"
	"os/exec"
	"testing"
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
	os.Stdout.WriteString(lock.Path + "\n")
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
	path, char := "", make([]byte, 1)
	for {
		if _, err := out.Read(char); err != nil {
			t.Fatal(err)
		}
		if char[0] == '\n' {
			break
		}
		path += string(char)
	}
	p = Real().Self
	p.PID, p.Lock = cmd.Process.Pid, lockAt(t, path)
	return p, func() {
		t.Helper()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		_ = in.Close()
	}
}

func lockAt(t *testing.T, path string) *Lock {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	volume, number, err := identify(f)
	if err != nil {
		t.Fatal(err)
	}
	return &Lock{Path: path, Volume: volume, File: number}
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

// TestWithoutLocks: where no lock can be taken, or the file system grants every one, nothing is proven.
func TestWithoutLocks(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(dir + "/granted")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if lock := locked(f, func(*os.File) bool { return true }); lock != nil {
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
