//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// plantedNames are files that a command reads because of where they lie, and that a checkout may therefore hold.
var plantedNames = []string{
	"shop.dev-tester.key.json", "shop.dev-tester.secrets.json", "main.go", "../outside.go", ".gitignore", "src/main.go", "src/0001.sql",
	".athanor/state.db", ".athanor/state.db.turn", ".athanor/.gitignore", ".athanor/cache",
}

// TestNothingIsWaitedFor: a pipe into which nobody writes, a device that never ends, and a file without an end in the place
// of any file that a command reads are no reason to wait, nor to fill the memory: each command ends by itself.
func TestNothingIsWaitedFor(t *testing.T) {
	t.Parallel()
	for at, name := range plantedNames {
		t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
			t.Parallel()
			n := at // the commands of each name and kind are others
			for _, kind := range []string{"pipe", "device"} {
				for _, command := range [][]string{
					{"plan"},
					{"plan", "--untrusted"},
					{"deploy", "--yes"},
					{"output"},
					{"history"},
					{"secret", "list"},
					{"secret", "recipients"},
					{"destroy", "--stack", "shop", "--dry-run"},
				} {
					if n++; !proctest.Played(n, 6) {
						continue
					}
					x := plainArena(t)
					stack := "stack: shop\nresources: {v: {kind: local.Value, props: {input: 1}}}\n"
					if strings.HasPrefix(name, "src/") {
						stack = "stack: shop\nresources:\n  a: {kind: local.Directory, props: {path: out, source: src}}\n" +
							"  b: {kind: aws.lambda.Function, props: {role: 'arn:aws:iam::123456789012:role/x', code: {go: ./src}}}\n" +
							"  c: {kind: cloudflare.D1Database, props: {migrations: src}}\n"
						x.write(map[string]string{"go.mod": "module example.com/x\n\ngo 1.26\n"})
					}
					if !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "src/") {
						x.write(map[string]string{"athanor.yaml": stack})
					}
					path := filepath.Join(x.project, name)
					err := os.MkdirAll(filepath.Dir(path), 0o700)
					if kind == "pipe" {
						err = errors.Join(err, syscall.Mkfifo(path, 0o600))
					} else {
						err = errors.Join(err, os.Symlink("/dev/zero", path))
					}
					if err != nil {
						t.Fatal(err)
					}
					if out, held := x.plain(command...); held > 400<<10 {
						t.Errorf("%s, %v: it took much memory: %s", kind, command, out)
					}
				}
			}
		})
	}
}

// plainArena is an arena without a trace.
func plainArena(t *testing.T) *arena {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := &arena{T: t, project: filepath.Join(base, "project"), outside: filepath.Join(base, "outside"), home: filepath.Join(base, "home"), canary: &canaryServer{}}
	x.write(map[string]string{".git/x": "", "../outside/idrsa": canarySecret, "../home/.aws/credentials": canarySecret})
	return x
}

// plain runs a command in the checkout until it ends by itself. It returns what it printed, and how much memory it held at most, in KiB.
func (x *arena) plain(args ...string) (string, int) {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.Context(), hostileLimit)
	defer cancel()
	file := filepath.Join(x.TempDir(), "held")
	cmd := exec.CommandContext(ctx, peaking(x.T), append([]string{file, built(x.T, false)}, args...)...)
	cmd.Dir = x.project
	cmd.Env = x.environment()
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	_ = cmd.Run() // that it ends is what is asked
	if ctx.Err() != nil {
		x.Fatalf("%v does not end: %s", args, said.String())
	}
	return said.String(), heldIn(x.T, file)
}

// environment is that of a command: credentials and passwords that no stack may reach.
func (x *arena) environment() []string {
	return append(goEnvironment(x.T),
		"PATH="+os.Getenv("PATH"), "HOME="+x.home, "USER=tester", "TERM=dumb", "TMPDIR="+x.TempDir(), "PGPASSWORD=hunter2", "GITHUB_TOKEN=hunter2",
		"AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=hunter2hunter2", "CLOUDFLARE_API_TOKEN=hunter2hunter2", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ENDPOINT_URL=http://127.0.0.1:1", "CLOUDFLARE_API_BASE_URL=http://127.0.0.1:1", "AWS_REGION=eu-west-1", "GOTELEMETRY=off", "GOPROXY=off",
	)
}

// TestEndsWhenTold: what keeps a command busy for long keeps it from ending no longer than a moment.
func TestEndsWhenTold(t *testing.T) {
	t.Parallel()
	endless := func(t *testing.T, path string) {
		t.Helper()
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		const size = 1 << 40 // holds nothing, and takes no space
		if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		stack   string
		command []string
	}{
		"a source":  {"stack: shop\nresources: {r: {kind: local.File, props: {path: out, source: endless}}}\n", []string{"plan"}},
		"a target":  {"stack: shop\nresources: {r: {kind: local.File, props: {path: endless, content: x}}}\n", []string{"plan"}},
		"an import": {"stack: shop\n", []string{"state", "import", "pipe"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := plainArena(t)
			x.write(map[string]string{"athanor.yaml": c.stack})
			endless(t, filepath.Join(x.project, "endless"))
			pipe := filepath.Join(x.project, "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := limited(t, built(t, false), c.command...)
			cmd.Dir, cmd.Env = x.project, x.environment()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if c.command[0] == "state" {
				f, err := os.OpenFile(pipe, os.O_WRONLY, 0) // opens when the command reads
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
			} else {
				awaitOpen(t, cmd.Process.Pid, filepath.Join(x.project, "endless"))
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if state, err := cmd.Process.Wait(); err != nil || state.ExitCode() != 130 {
				t.Errorf("%v, %v", state, err)
			}
		})
	}
}

// awaitOpen waits until a process has a file open.
func awaitOpen(t *testing.T, pid int, path string) {
	t.Helper()
	fds := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	for t.Context().Err() == nil {
		names, err := os.ReadDir(fds)
		if err != nil {
			t.Fatalf("it ended: %v", err)
		}
		for _, name := range names {
			if to, err := os.Readlink(filepath.Join(fds, name.Name())); err == nil && to == path {
				return
			}
		}
	}
}
