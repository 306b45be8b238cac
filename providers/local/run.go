package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

const (
	// keptOutput is how many bytes of a command's output are kept, from the end.
	keptOutput = 64 << 10
	// keptErrors is how many bytes of what it wrote to stderr an error shows, from the end.
	keptErrors = 2 << 10
	// lingering is how long output is still read after the command was killed.
	lingering = 5 * time.Second
	// mask stands for a secret in what a command printed.
	mask = "(secret)"
)

// CommandError says that a command could not be run, was killed or ended with another code than 0.
type CommandError struct {
	// Program is the first word, without arguments: they may hold secrets.
	Program string
	// Code is the exit code, -1 when there is none.
	Code int
	// Stderr is the end of what it wrote there.
	Stderr string
	// Undo says that it was the undo.
	Undo bool
	// Err is why it could not be run or was killed; nil when it ended by itself.
	Err error
}

func (e *CommandError) Error() string {
	var b strings.Builder
	if e.Undo {
		b.WriteString("undo: ")
	}
	b.WriteString(e.Program)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	} else {
		fmt.Fprintf(&b, ": exit code %d", e.Code)
	}
	if e.Stderr != "" {
		b.WriteString(": ")
		b.WriteString(e.Stderr)
	}
	return b.String()
}

func (e *CommandError) Unwrap() error { return e.Err }

// ErrTimeout says that a command ran longer than it may.
var ErrTimeout = errors.New("took longer than its timeout")

// execution is one run of a command.
type execution struct {
	// run is the command as it is declared, and argv its words.
	run     any
	argv    []string
	dir     string
	env     map[string]string
	timeout time.Duration
	secrets []string
	// nonce names the lock that the command holds while it or its keeper lives; "": it holds none.
	nonce string
}

// run runs a command in a group of its own and waits for it. When ctx ends, or this process does, the whole group is killed.
// What an earlier run with the same nonce has left running ends first.
func run(ctx context.Context, p execution) (Command, error) {
	if len(p.argv) == 0 {
		return Command{}, errors.New("no command")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.timeout, ErrTimeout)
	defer cancel()
	stdout, stderr := &tail{max: keptOutput + p.longest()}, &tail{max: keptErrors + p.longest()}
	c := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	c.Dir, c.Stdout, c.Stderr, c.WaitDelay = p.dir, stdout, stderr, lingering
	c.Env = os.Environ()
	for name, value := range p.env {
		c.Env = append(c.Env, name+"="+value)
	}
	group, err := openCommand(ctx, p.nonce, c)
	if err != nil {
		return Command{}, &CommandError{Program: p.argv[0], Code: -1, Err: err}
	}
	defer group.leave()
	err = c.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil { // it ended well, and left a child that holds its output
		return Command{Stdout: strings.TrimRight(p.masked(stdout), "\r\n"), ExitCode: token.Num(0)}, nil
	}
	failed := &CommandError{Program: p.argv[0], Code: -1, Stderr: strings.TrimSpace(p.masked(stderr)), Err: err}
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		failed.Err = context.Cause(ctx)
	case ended && exit.Exited():
		failed.Code, failed.Err = exit.ExitCode(), nil
		if needsPackages(p.dir) {
			return Command{}, reconcile.WithHint(failed, "npm install --prefix %s, if it needs the packages of package.json: they are not installed", p.dir)
		}
	}
	return Command{}, failed
}

// needsPackages reports a folder with a package.json for which no package is installed, there or above, in the way of npm or of Yarn.
func needsPackages(dir string) bool {
	is := func(path ...string) bool {
		_, err := os.Stat(filepath.Join(path...))
		return err == nil
	}
	if !is(dir, "package.json") {
		return false
	}
	at, err := filepath.Abs(dir)
	for ; err == nil; at = filepath.Dir(at) {
		if is(at, "node_modules") || is(at, ".pnp.cjs") {
			return false
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return err == nil
}

// masked is what was kept, as text, without secrets. Where the beginning was cut off it may be the rest of a
// secret: as much is left out as the longest secret has bytes, which the tail keeps in excess.
func (p execution) masked(t *tail) string {
	text := t.text()
	for _, s := range p.secrets {
		text = strings.ReplaceAll(text, s, mask)
	}
	if t.cut {
		text = strings.ToValidUTF8(text[min(p.longest(), len(text)):], "")
	}
	return text
}

// longest is the length of the longest secret.
func (p execution) longest() int {
	n := 0
	for _, s := range p.secrets {
		n = max(n, len(s))
	}
	return n
}

// tail keeps the last max bytes written to it.
type tail struct {
	max  int
	kept []byte
	cut  bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*t.max {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.max:]...)
		t.cut = true
	}
	return len(p), nil
}

// text is the end of what was written, as valid UTF-8.
func (t *tail) text() string {
	b := t.kept
	if len(b) > t.max {
		b, t.cut = b[len(b)-t.max:], true
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
