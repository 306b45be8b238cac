//go:build linux

package host

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

func TestDead(t *testing.T) {
	w := Real()
	if w.Self.Boot == "" {
		t.Skip("this system does not tell whether a process is the same one")
	}
	if w.Self.PID != os.Getpid() || w.Self.Started == 0 || w.Dead(w.Self) {
		t.Fatalf("this process: %+v", w.Self)
	}
	for name, change := range map[string]func(*Process){
		"another boot":  func(p *Process) { p.Boot = "x" },
		"another space": func(p *Process) { p.Space = "x" },
		"unknown boot":  func(p *Process) { p.Boot = "" },
		"no pid":        func(p *Process) { p.PID = 0 },
	} {
		p := w.Self
		p.PID = 1 << 30
		change(&p)
		if w.Dead(p) {
			t.Errorf("%s: declared dead without knowing", name)
		}
	}
	reused := w.Self
	reused.Started++
	if !w.Dead(reused) {
		t.Error("another process with the same id counts as the same one")
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip("no child process here: ", err)
	}
	child := w.Self
	child.PID = cmd.Process.Pid
	started, err := startTime(strconv.Itoa(child.PID))
	if err != nil {
		t.Fatal(err)
	}
	child.Started = started
	if w.Dead(child) {
		t.Error("a living child counts as dead")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if !w.Dead(child) {
		t.Error("a dead child counts as alive")
	}
}
