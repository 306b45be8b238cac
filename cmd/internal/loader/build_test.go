//go:build unix

package loader

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/reconcile/scratch"
)

// goStack is a folder with a Go program that says what it was built of.
func goStack(t *testing.T) (dir string, write func(name, text string)) {
	t.Helper()
	dir = t.TempDir()
	write = func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/stack\n\ngo 1.26\n")
	write("main.go", "package main\n\nfunc main() { println(text, tagged) }\n")
	write("text.go", "package main\n\nconst text = \"one\"\n")
	write("plain.go", "//go:build !special\n\npackage main\n\nconst tagged = \"plain\"\n")
	write("special.go", "//go:build special\n\npackage main\n\nconst tagged = \"special\"\n")
	return dir, write
}

// TestProgramIsLinkedOnce: a program is linked when anything changed that it is made of, and at no other time.
func TestProgramIsLinkedOnce(t *testing.T) {
	dir, write := goStack(t)
	a := New(&terminal.Terminal{Err: io.Discard}, nil)
	var before os.FileInfo
	build := func(what, want string, linked bool) {
		t.Helper()
		binary, err := a.Build(t.Context(), dir)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		said, err := exec.Command(binary).CombinedOutput()
		if err != nil || strings.TrimSpace(string(said)) != want {
			t.Errorf("%s: the program says %q (%v), want %q", what, said, err, want)
		}
		now, err := os.Stat(binary)
		if err != nil {
			t.Fatal(err)
		}
		if same := before != nil && os.SameFile(before, now); same == linked {
			t.Errorf("%s: linked %t, want %t", what, !same, linked)
		}
		before = now
		if entries, err := os.ReadDir(filepath.Dir(binary)); err != nil || len(entries) != 2 { // and its size
			t.Errorf("%s: beside the program there is %v (%v)", what, entries, err)
		}
	}
	build("the first time", "one plain", true)
	build("nothing changed", "one plain", false)
	write("text.go", "package main\n\nconst text = \"one\"\n")
	build("saved without a change", "one plain", false)
	write("text.go", "package main\n\nconst text = \"two\"\n")
	build("a source", "two plain", true)
	t.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -tags=special")
	build("the environment", "two special", true)
	write("go.mod", "module example.com/stack\n\ngo 1.25\n")
	build("go.mod", "two special", true)
	build("nothing changed since", "two special", false)
	write("text.go", "package main\n\nconst text = \"one\"\n")
	build("a source, back again", "one special", true)
	write("text.go", "package main\n\nconst text =\n")
	if _, err := a.Build(t.Context(), dir); err == nil {
		t.Error("a broken program builds")
	}
	write("text.go", "package main\n\nconst text = \"one\"\n")
	build("after a broken one", "one special", false)
}

// TestCutBuild: what a build that was cut has left is never taken for the program, and goes after a day.
func TestCutBuild(t *testing.T) {
	dir, write := goStack(t)
	a := New(&terminal.Terminal{Err: io.Discard}, nil)
	binary, err := a.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	// This go command writes half a program, says so, and goes on for ever.
	bin := t.TempDir()
	started, ctx, cut := filepath.Join(bin, "started"), t.Context(), context.CancelFunc(nil)
	script := "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nrm -f \"$2\"\nhead -c 100000 '" + binary + "' > \"$2\"\necho > '" + started +
		"'\nexec sleep 1000\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfifo", started).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+path)
	ctx, cut = context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := a.Build(ctx, dir)
		ended <- err
	}()
	if _, err := os.ReadFile(started); err != nil { // a pipe
		t.Fatal(err)
	}
	cut()
	if err := <-ended; err == nil {
		t.Error("a build that was cut has an answer")
	}
	if now, err := os.ReadFile(binary); err != nil || string(now) != string(whole) {
		t.Errorf("the program has %d bytes of %d (%v)", len(now), len(whole), err)
	}
	// Athanor itself was killed in the middle: half programs lie beside. Another one builds.
	t.Setenv("PATH", path)
	half := filepath.Join(filepath.Dir(binary), "build-half")
	if err := errors.Join(os.Mkdir(half, 0o700), os.WriteFile(filepath.Join(half, filepath.Base(binary)), whole[:100000], 0o700)); err != nil {
		t.Fatal(err)
	}
	other, err := scratch.New(filepath.Dir(half), "build-")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Remove()
	write("text.go", "package main\n\nconst text = \"two\"\n")
	if binary, err = a.Build(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(binary).CombinedOutput(); err != nil || string(said) != "two plain\n" {
		t.Errorf("the program says %q (%v)", said, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(binary), "build-*"))
	if err != nil || len(left) != 1 || left[0] != other.Path {
		t.Errorf("left are %q (%v)", left, err)
	}
}

// TestCutBuildEndsWhole: what a go command has started ends with it when the build is cut, even what hears no interrupt.
func TestCutBuildEndsWhole(t *testing.T) {
	dir, _ := goStack(t)
	bin := t.TempDir()
	alive := filepath.Join(bin, "alive")
	// This go command and what it has started hold the pipe.
	script := "#!/bin/sh\ntrap '' INT\nexec 3> '" + alive + "'\necho >&3\nsleep 1000\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfifo", alive).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	ctx, cut := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := New(&terminal.Terminal{Err: io.Discard}, nil).Build(ctx, dir)
		ended <- err
	}()
	pipe, err := os.Open(alive)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if _, err := pipe.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cut()
	if err := <-ended; err == nil {
		t.Error("a build that was cut has an answer")
	}
	if err := pipe.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := pipe.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("somebody still holds the pipe: %v", err)
	}
}
