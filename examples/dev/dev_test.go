//go:build unix

package dev_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/athanor-dev/athanor/examples/internal/programtest"
)

// example is a copy of the example, with a home of its own.
type example struct {
	t   *testing.T
	dir string
	env []string
}

func newExample(t *testing.T) *example {
	t.Helper()
	x := &example{t: t, dir: filepath.Join(t.TempDir(), "dev")}
	if err := os.CopyFS(filepath.Join(x.dir, "server"), os.DirFS("server")); err != nil {
		t.Fatal(err)
	}
	x.edit("athanor.yaml", "athanor.yaml", "", "")
	home := t.TempDir()
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output() // the server is built with that of the machine
	if err != nil {
		t.Fatal(err)
	}
	x.env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "USER=tester", "ATHANOR_STAGE=local-tester", "ATHANOR_STORE=",
		"GOCACHE="+strings.TrimSpace(string(cache)))
	return x
}

// edit writes a file of the copy: another one with a text replaced.
func (x *example) edit(name, from, old, with string) {
	x.t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(filepath.Join(x.dir, name), bytes.Replace(data, []byte(old), []byte(with), 1), 0o644)
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

// run runs the command to its end, and gives what it prints.
func (x *example) run(code int, args ...string) string {
	x.t.Helper()
	c := exec.CommandContext(x.t.Context(), programtest.Athanor(x.t), append(args, "dev")...)
	c.Dir, c.Env = filepath.Dir(x.dir), x.env
	out, err := c.CombinedOutput()
	if have := c.ProcessState.ExitCode(); have != code {
		x.t.Fatalf("athanor %s: exit code %d, want %d: %v\n%s", strings.Join(args, " "), have, code, err, out)
	}
	return string(out)
}

// session is athanor dev at work.
type session struct {
	*example
	*exec.Cmd
	lines *bufio.Scanner
	all   strings.Builder
}

func (x *example) dev() *session {
	x.t.Helper()
	s := &session{example: x, Cmd: exec.CommandContext(x.t.Context(), programtest.Athanor(x.t), "dev", "dev", "--json")}
	s.Dir, s.Env, s.Stderr = filepath.Dir(x.dir), x.env, os.Stderr
	out, err := s.StdoutPipe()
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		x.t.Fatal(err)
	}
	s.lines = bufio.NewScanner(out)
	return s
}

// event is a line of --json.
type event struct {
	Type, Address, Source, Text, State string
	Created, Updated, Unchanged        int
	Outputs                            struct{ URL string }
}

// next is the next event of a type.
func (s *session) next(kind string) event {
	s.t.Helper()
	for s.lines.Scan() {
		s.all.WriteString(s.lines.Text() + "\n")
		var e event
		if err := json.Unmarshal(s.lines.Bytes(), &e); err != nil {
			s.t.Fatalf("%s: %v", s.lines.Text(), err)
		}
		if e.Type == kind {
			return e
		}
	}
	s.t.Fatalf("it ended before %q:\n%s", kind, s.all.String())
	return event{}
}

// get asks the server, as admin with a password.
func (x *example) get(url, password string) string {
	x.t.Helper()
	req, err := http.NewRequestWithContext(x.t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		x.t.Fatal(err)
	}
	if password != "" {
		req.SetBasicAuth("admin", password)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		x.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		x.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func TestServerLivesAsLongAsDev(t *testing.T) {
	x := newExample(t)
	if out := x.run(2, "plan"); !strings.Contains(out, "runs in dev") {
		t.Errorf("a plain plan says %s", out)
	}
	s := x.dev()
	first := s.next("deployed")
	url := first.Outputs.URL
	if first.Created != 3 || x.get(url, "") != "Hello from Athanor" {
		t.Fatalf("%+v: %s", first, s.all.String())
	}
	s.next("log")
	password := x.run(0, "state", "show", "admin", "--reveal", "--json", "--stage", "local-tester")
	_, password, _ = strings.Cut(password, `"value":"`)
	password, _, _ = strings.Cut(password, `"`)
	if have := x.get(url+"/admin", password); have != "Hello from Athanor, admin" {
		t.Errorf("admin is greeted with %q", have)
	}
	for e := s.next("log"); !strings.Contains(e.Text, "admin came"); e = s.next("log") {
	}
	if have := x.get(url+"/admin", "guessed"); have != "who are you?" {
		t.Errorf("a stranger is greeted with %q", have)
	}

	// A save of the stack, and one of the server: it is there again, at the same place.
	x.edit("athanor.yaml", "athanor.yaml", "default: Athanor", "default: dev")
	if e := s.next("deployed"); e.Updated != 2 || e.Outputs.URL != url || x.get(url, "") != "Hello from dev" {
		t.Errorf("the stack changed: %+v", e)
	}
	x.edit("server/main.go", "server/main.go", `os.Getenv("GREETING"))`, `os.Getenv("GREETING")+"!")`)
	if e := s.next("deployed"); e.Updated != 1 || e.Outputs.URL != url || x.get(url, "") != "Hello from dev!" {
		t.Errorf("the server changed: %+v", e)
	}
	logs := x.run(0, "logs", "web", "--stage", "local-tester")
	if !strings.Contains(logs, "somebody came") || !strings.Contains(logs, "admin came with (secret)") {
		t.Errorf("its log: %s", logs)
	}

	if err := s.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	s.next("ending")
	for s.lines.Scan() {
		s.all.WriteString(s.lines.Text() + "\n")
	}
	if err := s.Wait(); err != nil {
		t.Errorf("the session: %v", err)
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
		c.Close()
		t.Error("the server outlives its session")
	}
	if strings.Contains(s.all.String()+logs, password) {
		t.Error("the password is shown")
	}
	if out := x.run(0, "destroy", "--yes", "--stage", "local-tester"); !strings.Contains(out, "3 deleted") {
		t.Errorf("destroy: %s", out)
	}
}
