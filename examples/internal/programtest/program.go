// Package programtest runs an example that is a Go program against the server of a test, as a user runs it: built, in a
// process of its own, with a record in a folder of its own.
//
// It knows how to run a command and to read its summary. It does not know what any example declares.
package programtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// Cloud is a server that stands for a cloud in a test.
type Cloud interface {
	// Env is the environment that leads to it alone.
	Env() map[string]string
	// Names are what differs from one start to the next, by what stands for it in golden files.
	Names() map[string]string
}

// Program is the built program, a cloud and a place for its record.
type Program[C Cloud] struct {
	Cloud C
	// Dir is the folder of the record.
	Dir string
	// Folder is where commands are run; "" for that of the test.
	Folder string

	t      testing.TB
	binary string
	env    []string
}

// Build builds a main package for a cloud.
func Build[C Cloud](t testing.TB, cloud C, main string) *Program[C] {
	t.Helper()
	p := &Program[C]{t: t, Cloud: cloud, Dir: t.TempDir(), binary: built(t, main)}
	p.env = append(os.Environ(), "GOGC=400") // its memory is not asked for, and this takes less of the processor
	for name, value := range Caches(t) {
		p.env = append(p.env, name+"="+value)
	}
	for name, value := range cloud.Env() {
		p.env = append(p.env, name+"="+value)
	}
	p.env = append(p.env, "XDG_CONFIG_HOME="+t.TempDir(), "HOME="+t.TempDir(), "USER=tester", "NO_COLOR=1")
	return p
}

// For is the same program for another test, with a place of its own for its state.
func (p *Program[C]) For(t testing.TB) *Program[C] {
	other := *p
	other.t, other.Dir = t, t.TempDir()
	return &other
}

// Athanor is the path of the command as it ships, for an example that is no program of its own.
func Athanor(t testing.TB) string {
	t.Helper()
	return built(t, "../../cmd/athanor")
}

func built(t testing.TB, main string) string {
	t.Helper()
	binary, err := proctest.Program(t.Context(), main)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// Caches are the settings of the go command that a program with another home would not find: its modules and what it has
// compiled.
func Caches(t testing.TB) map[string]string {
	t.Helper()
	names := []string{"GOCACHE", "GOMODCACHE"}
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	caches := map[string]string{}
	for i, value := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		caches[names[i]] = value
	}
	return caches
}

// Command is one command of the program, for callers that have their own way to run it.
func (p *Program[C]) Command(args ...string) *exec.Cmd {
	args = append(args, "--store", "bolt:"+filepath.Join(p.Dir, "state.db"), "--stage", "test")
	cmd := exec.CommandContext(p.t.Context(), p.binary, args...)
	cmd.Env, cmd.Dir = p.env, p.Folder
	return cmd
}

// Run runs one command and gives its output and exit code.
func (p *Program[C]) Run(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	return p.run(p.Command(args...))
}

// Bare runs a command that works on no stage.
func (p *Program[C]) Bare(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), p.binary, args...)
	cmd.Env, cmd.Dir = p.env, p.Folder
	return p.run(cmd)
}

func (p *Program[C]) run(cmd *exec.Cmd) (stdout, stderr string, code int) {
	p.t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return out.String(), errs.String(), exit.ExitCode()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return out.String(), errs.String(), 0
}

// Do runs a command that must end well and returns its summary.
func (p *Program[C]) Do(args ...string) Counts {
	p.t.Helper()
	out, errs, code := p.Run(append(args, "--yes", "--json")...)
	if code != 0 {
		p.t.Fatalf("%v: exit %d\n%s%s", args, code, out, errs)
	}
	var c Counts
	var last string
	for scanner := bufio.NewScanner(strings.NewReader(out)); scanner.Scan(); {
		last = scanner.Text()
	}
	if err := json.Unmarshal([]byte(last), &c); err != nil {
		p.t.Fatalf("summary %q: %v", last, err)
	}
	return c
}

// Lose deletes the record.
func (p *Program[C]) Lose() {
	p.t.Helper()
	if err := os.RemoveAll(p.Dir); err != nil {
		p.t.Fatal(err)
	}
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		p.t.Fatal(err)
	}
}

// Golden compares with a file of testdata, where the cloud's names are replaced, or writes it.
func (p *Program[C]) Golden(name, got string, update bool) {
	p.t.Helper()
	file := filepath.Join("testdata", name)
	for name, value := range p.Cloud.Names() {
		got = strings.ReplaceAll(got, value, name)
	}
	if update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			p.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		p.t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// Counts is the summary line of a run.
type Counts struct {
	Created, Adopted, Recovered, Updated, Replaced, Moved, Deleted, Unchanged, Failed, Blocked int

	Calls   struct{ Reads, Mutations int }
	Commits int
	Outputs map[string]any
}

// String leaves open what depends on what happens to meet: how many changes share a commit, and how often an object
// that is being created is read. An object that is as declared is read a fixed number of times, and that is said.
func (c Counts) String() string {
	how := fmt.Sprintf("mutations %d", c.Calls.Mutations)
	if c.Commits == 0 {
		how += fmt.Sprintf(", no commit, reads %d", c.Calls.Reads)
	}
	return fmt.Sprintf("created %d, recovered %d, updated %d, replaced %d, deleted %d, unchanged %d, failed %d; %s",
		c.Created, c.Recovered, c.Updated, c.Replaced, c.Deleted, c.Unchanged, c.Failed+c.Blocked, how)
}
