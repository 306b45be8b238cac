//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// killedStack is a Go stack with functions of each sort. Before its nth step it kills itself, or athanor.
const killedStack = `package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/providers/random"
)

func main() { cmd.Main(stack, cmd.Stack("killed")) }

var steps atomic.Int64

func step() {
	var who string
	var nth int64
	if _, err := fmt.Sscan(os.Getenv("FAULT"), &who, &nth); err != nil || steps.Add(1) != nth {
		return
	}
	pid := os.Getpid()
	if who == "athanor" {
		pid = os.Getppid()
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	select {} // nothing after this step is done
}

func hook(_ context.Context, info athanor.HookInfo) error {
	step()
	if info.Attrs != nil && info.Attrs["path"] == "" {
		return errors.New("no path")
	}
	step()
	return nil
}

func stack(s *athanor.Stack) error {
	step()
	version := athanor.Config(s, "version", athanor.Default("one"))
	word := random.NewID(s, "word", random.IDProps{Prefix: "word-"})
	text := athanor.Then(s, word.Hex, func(hex string) (string, error) {
		step()
		return fmt.Sprintf("%d digits, %s", len(hex), version), nil
	})
	note := local.NewFile(s, "note", local.FileProps{Path: "out/note.txt", Content: text},
		athanor.Before(athanor.Call(hook)), athanor.After(athanor.Call(hook)))
	local.NewFile(s, "copy", local.FileProps{Path: "out/copy.txt", Content: athanor.Then(s, note.Digest, func(digest string) (string, error) {
		step()
		return digest[:8], nil
	})}, athanor.After(athanor.Call(hook)))
	if version == "one" {
		local.NewFile(s, "old", local.FileProps{Path: "out/old.txt", Content: "old"}, athanor.After(athanor.Call(hook)))
	}
	s.Policy(func(p *athanor.Plan) []athanor.Violation {
		step()
		if len(p.Actions) == 0 {
			return []athanor.Violation{{Policy: "test", Message: "an empty plan"}}
		}
		return nil
	})
	return nil
}
`

// TestKillProgram kills a Go program whose functions athanor calls, or athanor, before each step of the program, and runs
// the same command once more. In full it kills both before each step; else the one and the other in turn, before every fifth step, or before
// each every night.
func TestKillProgram(t *testing.T) {
	t.Parallel() // it waits for the compiler, and others wait for processes
	if testing.Short() {
		t.Skip("builds Go programs")
	}
	w := newGoStack(t)
	w.write("shop/main.go", killedStack)
	k := &killedProgram{w, built(t, false), "undisturbed"}
	stories := [][]string{{"deploy", "--yes", "--new-stage"}, {"deploy", "--yes", "--config", "version=two"}, {"destroy", "--yes"}}
	var worlds []map[string]string
	for _, args := range stories {
		k.done(args, "")
		worlds = append(worlds, k.files())
	}
	if len(worlds[0]) != 3 || len(worlds[1]) != 2 || len(worlds[2]) != 0 {
		t.Fatalf("undisturbed: %v", worlds)
	}
	if programs, err := filepath.Glob(filepath.Join(w.dir, "shop/.athanor/cache/programs/*-light")); err != nil || len(programs) != 1 {
		t.Errorf("programs for their graph: %q (%v)", programs, err)
	}
	k.builtAlready()
	killed, whos, stride := 0, []string{"program", "athanor"}, 7
	if *killMode == "full" || proctest.Whole() {
		stride = 1
	}
	for n, cut := 1, true; cut; n += stride {
		cut = false
		of := whos
		if *killMode != "full" {
			of = whos[n%len(whos):][:1]
		}
		for _, who := range of {
			k.begin(fmt.Sprintf("%s-%d", who, n))
			for i, args := range stories {
				fault := fmt.Sprint(who, " ", n)
				if code, _ := k.run(args, "FAULT="+fault); code != 0 {
					killed++
					cut = true
				}
				k.done(args, fault)
				if diff := cmp.Diff(worlds[i], k.files()); diff != "" {
					t.Fatalf("%v, %s killed before step %d (-undisturbed +killed):\n%s", args, who, n, diff)
				}
			}
		}
	}
	if killed < 15*len(whos) && *killMode == "full" || killed < 15/stride {
		t.Errorf("only %d runs were cut", killed)
	}
	t.Logf("%d runs were cut", killed)
	k.alone()
}

// alone waits until no process of a program is left, where processes can be seen.
func (k *killedProgram) alone() {
	k.t.Helper()
	programs := filepath.Join(k.dir, "shop/.athanor/cache/programs") + string(filepath.Separator)
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		var left []string
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			if line, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(line), programs) {
				left = append(left, file)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			k.t.Fatalf("programs are left behind: %v", left)
		}
	}
}

type killedProgram struct {
	*world
	binary, stage string
}

// builtAlready takes the compiler away: what is in its place finds the program up to date, as the go command would.
func (k *killedProgram) builtAlready() {
	k.t.Helper()
	bin := filepath.Join(k.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil {
		k.t.Fatal(err)
	}
	k.env = append(k.env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// run runs a command.
func (k *killedProgram) run(args []string, env ...string) (code int, out string) {
	k.t.Helper()
	cmd := limited(k.t, k.binary, args...)
	cmd.Dir, cmd.Env = filepath.Join(k.dir, "shop"), slices.Concat(k.env, env, []string{"ATHANOR_STAGE=" + k.stage})
	text, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(text)
}

// done runs a command to its end, after which there is nothing to do.
func (k *killedProgram) done(args []string, after string) {
	k.t.Helper()
	if code, out := k.run(args); code != 0 {
		k.t.Fatalf("%v after %q: exit %d\n%s", args, after, code, out)
	}
	if args[0] == "destroy" {
		return
	}
	plan := append([]string{"plan"}, slices.DeleteFunc(slices.Clone(args[2:]), func(a string) bool { return a == "--new-stage" })...)
	if code, out := k.run(plan); code != 0 {
		k.t.Fatalf("%v after %q: exit %d\n%s", plan, after, code, out)
	}
}

// begin begins another life, on a stage of its own.
func (k *killedProgram) begin(stage string) {
	k.t.Helper()
	k.stage = stage
	if err := os.RemoveAll(filepath.Join(k.dir, "shop/out")); err != nil {
		k.t.Fatal(err)
	}
}

// files is what the stack has made.
func (k *killedProgram) files() map[string]string {
	k.t.Helper()
	files := map[string]string{}
	root := filepath.Join(k.dir, "shop/out")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, root)] = string(data)
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		k.t.Fatal(err)
	}
	return files
}
