//go:build unix

package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// It is started once, and again when what it is made of changes; what only says how to treat it changes in place.
func TestProcessIsStartedAgainWhenInputsChange(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.write("src/main.txt", "one")
	props := map[string]any{"run": "echo up $WHO; sleep 1000", "env": map[string]any{"WHO": "you"}, "inputs": []any{"src"}}
	first := y.must(props)
	if !first.Created || first.Attrs["pid"] == int64(0) || y.wait("up") != "thing stdout: up you" {
		t.Errorf("first: %+v", first)
	}
	if again := y.must(props); again.Created || len(again.Changed) > 0 {
		t.Errorf("a settled one: %+v", again)
	}
	for name, change := range map[string]any{
		"restart": "never", "grace": "1s", "stop": "SIGINT", "ready": map[string]any{"output": "up"},
	} {
		props[name] = change
		if out := y.must(props); out.Attrs["pid"] != first.Attrs["pid"] || len(out.Changed) == 0 {
			t.Errorf("%s: %+v", name, out)
		}
	}
	last := first.Attrs["pid"]
	for _, change := range []func(){
		func() { props["env"] = map[string]any{"WHO": "me"} },
		func() { props["triggers"] = []any{int64(1)} },
		func() { props["dir"] = "src" },
		func() { y.write("src/main.txt", "two") },
		func() { y.write("src/more.txt", "new") },
		func() { y.write("src/node_modules/passed/over.txt", "x"); y.force = true },
	} {
		change()
		out := y.must(props)
		if out.Attrs["pid"] == last {
			t.Errorf("%v: not started again", props)
		}
		last = out.Attrs["pid"]
		y.wait("up me")
	}
	y.force = false
	y.write("src/node_modules/passed/over.txt", "y")
	if look, err := y.look(props); err != nil || len(look.Steps) > 0 {
		t.Errorf("what is passed over counts: %v %v", look.Steps, err)
	}
}

// What it starts ends with it: by its signal, or when its patience has ended.
func TestProcessEndsWhole(t *testing.T) {
	t.Parallel()
	for name, props := range map[string]map[string]any{
		"by its signal":  {"run": lives},
		"by another":     {"run": "trap 'echo interrupted; exit' INT; " + lives, "stop": "SIGINT"},
		"after a while":  {"run": "trap '' TERM; " + lives, "grace": "100ms"},
		"at once":        {"run": "trap '' TERM; " + lives, "stop": "SIGKILL"},
		"without leader": {"run": "trap '' TERM; exec 3>alive; (trap '' TERM; echo up >&3; sleep 1000) & read -r _ < go", "restart": "never"},
	} {
		y := newYard(t)
		alive := y.fifo()
		if err := syscall.Mkfifo(y.at("go"), 0o600); err != nil {
			t.Fatal(err)
		}
		y.must(props)
		y.began(alive)
		if name == "without leader" { // it ends by itself, and what it left behind is killed
			if err := os.WriteFile(y.at("go"), []byte("\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			y.wait("it ended")
			y.gone(alive)
			continue
		}
		if err := y.delete(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		y.gone(alive)
		if y.exists(".athanor/dev/shop") {
			t.Errorf("%s: its log is left", name)
		}
		if err := y.delete(); err != nil {
			t.Errorf("%s: again: %v", name, err)
		}
	}
}

// The end of a session ends all at once; one that has no patience left waits for nobody.
func TestProcessEndsWithItsSession(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	alive := y.fifo()
	y.must(map[string]any{"run": "trap '' TERM; " + lives, "grace": "10m"})
	y.began(alive)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := y.dev.Close(ctx); err != nil {
		t.Error(err)
	}
	y.gone(alive)
	if _, err := y.settle(map[string]any{"run": "true"}); !errors.Is(err, reconcile.ErrDevClosed) {
		t.Errorf("after the end: %v", err)
	}
	if text := strings.Join(y.readLog(reconcile.LogQuery{}), "\n"); strings.Contains(text, "starts again") {
		t.Errorf("it was started again: %s", text)
	}

	// The next session does not find it, and starts it.
	y.session()
	if look, err := y.look(map[string]any{"run": lives}); err != nil || !look.Absent {
		t.Errorf("after the end: %+v %v", look, err)
	}
}

// It is started again when it dies, as declared.
func TestProcessIsStartedAgainWhenItDies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		restart string
		code    int
		again   bool
	}{{"", 0, true}, {"", 3, true}, {"on-failure", 3, true}, {"on-failure", 0, false}, {"never", 3, false}} {
		y := newYard(t)
		// The second run stays.
		run := fmt.Sprintf("echo run; if test -e once; then echo stays; sleep 1000; fi; touch once; read -r _ < go; exit %d", c.code)
		if err := syscall.Mkfifo(y.at("go"), 0o600); err != nil {
			t.Fatal(err)
		}
		props := map[string]any{"run": run, "ready": map[string]any{"output": "run"}}
		if c.restart != "" {
			props["restart"] = c.restart
		}
		first := y.must(props)
		if err := os.WriteFile(y.at("go"), []byte("\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		said := y.wait("athanor: it ended")
		if strings.Contains(said, "starts again in 200ms") != c.again || !strings.Contains(said, fmt.Sprintf("code %d", c.code)) {
			t.Errorf("%q after %d: %s", c.restart, c.code, said)
		}
		if c.again {
			y.wait("stays")
		}
		// It is what is wanted, and is left alone.
		look, err := y.look(props)
		if err != nil || look.Absent || len(look.Steps) > 0 || (look.Attrs["pid"] == first.Attrs["pid"]) == c.again {
			t.Errorf("%q after %d: %+v %v", c.restart, c.code, look, err)
		}
		if err := y.delete(); err != nil {
			t.Error(err)
		}
	}
}

// One that is not ready has failed, says why, and leaves nothing behind.
func TestProcessIsNotReady(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		props map[string]any
		want  string
	}{
		"ends":      {map[string]any{"run": "echo one; echo boom $PW >&2; exit 3", "ready": map[string]any{"output": "never"}}, "not ready: it ended with exit code 3"},
		"ends well": {map[string]any{"run": "true", "ready": map[string]any{"output": "never"}}, "not ready: it ended (exit code 0)"},
		"late":      {map[string]any{"run": "echo here; sleep 1000", "ready": map[string]any{"output": "never", "timeout": "300ms"}}, "not ready within 300ms: here"},
		"no port":   {map[string]any{"run": "sleep 1000", "port": int64(0), "ready": map[string]any{"timeout": "200ms"}}, "not ready within 200ms"},
		"missing":   {map[string]any{"run": []any{"no-such-program-here"}}, "executable file not found"},
		"no folder": {map[string]any{"run": "true", "dir": "nowhere"}, "no such file"},
	} {
		y := newYard(t)
		y.secret = map[tree.Path]bool{"env.PW": true}
		c.props["env"] = map[string]any{"PW": "hunter22"}
		_, err := y.settle(c.props)
		failed, ok := errors.AsType[*CommandError](err)
		if !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "ends" && failed.Stderr != "one\nboom (secret)" && failed.Stderr != "boom (secret)\none" {
			t.Errorf("%s: its output is %q", name, failed.Stderr)
		}
		if n := readNotes(y.logFile()); n.Group != (birth{}) {
			t.Errorf("%s: something runs: %+v", name, n)
		}
	}
}

func TestProcessIsReadyWhenItServes(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	props := map[string]any{"run": helper("serve"), "port": int64(0), "ready": map[string]any{"http": "/health", "timeout": "1m"}}
	out := y.must(props)
	port, _ := out.Attrs["port"].(int64)
	at := "localhost:" + strconv.FormatInt(port, 10)
	if port == 0 || out.Attrs["url"] != "http://"+at {
		t.Fatalf("%v", out.Attrs)
	}
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	// The port stays the same as long as nobody else takes it, also in the next session.
	props["triggers"] = "again"
	if again := y.must(props); again.Attrs["port"] != out.Attrs["port"] || again.Attrs["pid"] == out.Attrs["pid"] {
		t.Errorf("again: %v", again.Attrs)
	}
	if err := y.dev.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	y.session()
	y.last, y.had = nil, nil
	if next := y.must(props); next.Attrs["port"] != out.Attrs["port"] {
		t.Errorf("in the next session: %v", next.Attrs)
	}
	if err := y.dev.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	// Somebody else's answers are no sign of it.
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	y.session()
	y.last = nil
	if other := y.must(props); other.Attrs["port"] == out.Attrs["port"] {
		t.Errorf("it is told a port that is taken: %v", other.Attrs)
	}
	for name, change := range map[string]map[string]any{
		"port": {"port": port}, "ready.port": {"port": nil, "ready": map[string]any{"port": port}},
	} {
		taken := maps.Clone(props)
		maps.Copy(taken, change)
		if change["port"] == nil {
			delete(taken, "port")
		}
		if _, err := y.settle(taken); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s is taken: %v", name, err)
		}
	}
}

func TestProcessProps(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	for _, c := range []struct {
		props map[string]any
		at    string
	}{
		{map[string]any{"run": ""}, "run"},
		{map[string]any{"run": "x", "env": map[string]any{"A=B": "1"}}, "env"},
		{map[string]any{"run": "x", "port": int64(1), "env": map[string]any{"PORT": "1"}}, "env.PORT"},
		{map[string]any{"run": "x", "ready": map[string]any{"output": "("}}, "ready.output"},
		{map[string]any{"run": "x", "ready": map[string]any{"http": "/x"}}, "ready.http"},
		{map[string]any{"run": "x", "ready": map[string]any{"http": "localhost"}}, "ready.http"},
		{map[string]any{"run": "x", "restart": "sometimes"}, "restart"},
		{map[string]any{"run": "x", "stop": "TERM"}, "stop"},
	} {
		if _, err := y.job(c.props); err == nil || !strings.Contains(err.Error(), c.at) {
			t.Errorf("%v: %v", c.props, err)
		}
	}
	if _, err := y.job(map[string]any{"run": "x", "inputs": []any{"nowhere"}}); err == nil {
		t.Error("inputs that are not there are taken")
	}
}

// A session that ends without a word takes its processes along.
func TestProcessEndsWhenItsSessionIsKilled(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	alive := y.fifo()
	c, attrs := y.elsewhere(lives)
	y.began(alive)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	y.gone(alive)
	y.last = attrs
	props := map[string]any{"run": "echo next; sleep 1000"}
	if out := y.must(props); out.Attrs["pid"] == attrs["pid"] {
		t.Errorf("the next session: %+v", out)
	}
	y.wait("next")
}

// Where even the keeper was kept from it, the next session does it first.
func TestProcessOfAKilledSessionIsFound(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"deploy", "destroy"} {
		y := newYard(t)
		alive := y.fifo()
		run := lives
		c, attrs := y.elsewhere(run)
		y.began(alive)
		keeper, _ := attrs["pid"].(int64)
		// A system lets a stopped process group go on when its last parent outside ends. This member has another one.
		member := exec.Command("sleep", "1000")
		member.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: int(keeper)}
		if err := member.Start(); err != nil {
			t.Fatal(err)
		}
		defer member.Wait()
		defer member.Process.Kill()
		for _, err := range []error{syscall.Kill(int(keeper), syscall.SIGSTOP), c.Process.Kill()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		c.Wait()
		y.last, y.had = attrs, map[string]any{"run": run, "grace": "1s"}
		if how == "destroy" {
			y.dev = nil
			if err := y.delete(); err != nil {
				t.Fatal(err)
			}
			y.gone(alive)
			continue
		}
		look, err := y.look(y.had)
		if err != nil || look.Absent || len(look.Steps) != 1 || look.Steps[0].Path != "session" {
			t.Fatalf("look: %+v %v", look.Steps, err)
		}
		out := y.must(map[string]any{"run": "echo next; sleep 1000"})
		if out.Attrs["pid"] == attrs["pid"] {
			t.Errorf("%+v", out)
		}
		y.gone(alive)
		y.wait("next")
	}
}

// A session whose process is taken away by somebody else does not start it again by itself.
func TestProcessIsEndedByAnotherCommand(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	alive := y.fifo()
	props := map[string]any{"run": lives}
	y.must(props)
	y.began(alive)
	dev := y.dev
	y.dev = nil
	if err := y.delete(); err != nil {
		t.Fatal(err)
	}
	y.gone(alive)
	y.dev = dev
	y.wait("another command ended it")
	s, err := reconcile.Owned(dev, newSupervisor)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.at("thing") {
		<-c.done
	}
	if look, err := y.look(props); err != nil || !look.Absent {
		t.Errorf("%+v %v", look, err)
	}
}

// A number that means another process by now is left alone.
func TestProcessOfAnotherBirthIsLeftAlone(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	other := exec.Command("sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	born := bornAs(other.Process.Pid)
	if !born.alive() {
		t.Fatalf("%+v is not alive", born)
	}
	y.last = map[string]any{"pid": int64(born.PID), "startTime": born.Start + "0"}
	y.had = map[string]any{"run": "sleep 1000"}
	if look, err := y.look(y.had); err != nil || !look.Absent {
		t.Errorf("it is taken for another: %+v %v", look, err)
	}
	dev := y.dev
	y.dev = nil
	if err := y.delete(); err != nil {
		t.Error(err)
	}
	y.dev = dev
	if !born.alive() {
		t.Error("a process that only has the number was killed")
	}
}

// A crash of the log, a folder that nobody may write: nothing is started that could not be ended again.
func TestProcessNeedsItsNotes(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.write(".athanor/dev/shop", "a file where a folder belongs")
	alive := y.at("ran")
	if _, err := y.settle(map[string]any{"run": "touch ran"}); err == nil || y.exists("ran") {
		t.Errorf("started without notes in %s: %v", alive, err)
	}
}

func TestProcessOfGoProgram(t *testing.T) {
	t.Parallel()
	var p ProcessProps
	processTable.Default(&p)
	if *p.Restart != "always" || *p.Stop != "SIGTERM" || *p.Grace != 10*time.Second {
		t.Errorf("%+v", p)
	}
}
