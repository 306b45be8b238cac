//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// slowly lets every go build that finds a file "slow" wait for ever, in a process that the go command has started, and both hold the pipe
// "alive". It notes each one that it begins in "builds".
func (w *world) slowly() {
	w.t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(w.dir, "bin"), 0o700); err != nil {
		w.t.Fatal(err)
	}
	w.fifo("alive")
	script := fmt.Sprintf(`#!/bin/sh
if [ "$1" = build ]; then
	echo . >> '%[1]s/builds'
	if [ -e '%[1]s/slow' ]; then
		exec 3>'%[1]s/alive'
		athanor-compiling '%[1]s/compiling'
	fi
fi
exec '%[2]s' "$@"
`, w.dir, path)
	w.write("bin/go", script)
	if err := os.Chmod(filepath.Join(w.dir, "bin", "go"), 0o700); err != nil {
		w.t.Fatal(err)
	}
	w.env = append(w.env, "PATH="+filepath.Join(w.dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// compiler is a compiler that makes a file and does not end. An interrupt that a shell gets between its fork and the start of a program
// is lost for both: the file says that this is over.
func compiler() {
	if err := os.WriteFile(os.Args[1], nil, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// A save in the middle of a build ends the compiler with all that it has started, and the newest source is built: before
// the first deploy, and after it.
func TestDevBuildsTheNewest(t *testing.T) {
	t.Parallel() // it waits for the compiler, and others wait for processes
	if testing.Short() {
		t.Skip("builds Go programs")
	}
	w := newGoStack(t)
	w.slowly()
	interrupted := func(save string, program string) {
		t.Helper()
		w.write("slow", "")
		gone := w.mourn()
		if save != "" {
			w.save("shop/main.go", goStack(save, ""))
		}
		w.await("compiling")
		for _, name := range []string{"slow", "compiling"} {
			if err := os.Remove(filepath.Join(w.dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		w.save("shop/main.go", program)
		gone()
	}
	w.write("slow", "")
	s := w.dev("shop")
	interrupted("", goStack("main two", ""))
	s.deployed(map[string]float64{"created": 4})
	interrupted("main three", goStack("main four", ""))
	s.deployed(map[string]float64{"updated": 1, "unchanged": 3})
	if text := w.read("shop/out/main.txt"); text != "main four" || s.count("built") != 2 || s.count("problem") != 0 {
		t.Errorf("%q is deployed, after %d evaluations and %d problems", text, s.count("built"), s.count("problem"))
	}

	// The end of the session ends a compiler, too.
	w.write("slow", "")
	gone := w.mourn()
	w.save("shop/main.go", goStack("main five", ""))
	w.await("compiling")
	s.stop(0)
	gone()
	if n := strings.Count(w.read("builds"), "."); n != 5 {
		t.Errorf("%d builds, want 5", n)
	}
}
