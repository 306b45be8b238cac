//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// newGoStack is a stack as a Go program, with a package of its own, a module that it replaces by a folder, and an
// embedded file.
func newGoStack(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	ours := string(moduleLine.FindSubmatch(mod)[1])
	for _, dir := range []string{"shop/parts", "shop/text", "lib"} {
		if err := os.MkdirAll(filepath.Join(w.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.write("shop/go.mod", moduleLine.ReplaceAllString(string(mod), "module example.com/shop")+
		"\nrequire "+ours+" v0.0.0\nreplace "+ours+" => "+root+"\nrequire example.com/lib v0.0.0\nreplace example.com/lib => ../lib\n")
	w.write("shop/go.sum", string(sum))
	w.write("lib/go.mod", "module example.com/lib\n\ngo 1.26\n")
	w.write("lib/lib.go", "package lib\n\nconst Text = \"lib one\"\n")
	w.write("shop/parts/parts.go", "package parts\n\nconst Text = \"parts one\"\n")
	w.write("shop/text/embedded.txt", "embedded one")
	w.write("shop/main.go", goStack("main one", ""))
	env, err := proctest.GoEnv("-mod=mod", "-ldflags=-w")
	if err != nil {
		t.Fatal(err)
	}
	w.env = append(append(w.env, env...), "GOPROXY=off")
	return w
}

func goStack(text, more string) string {
	return `package main

import (
	"embed"

	"example.com/lib"
	"example.com/shop/parts"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/providers/local"
)

//go:embed text
var files embed.FS

func main() { cmd.Main(shop) }

func shop(s *athanor.Stack) error {
	embedded, err := files.ReadFile("text/embedded.txt")
	if err != nil {
		return err
	}
	main := local.NewFile(s, "main", local.FileProps{Path: "out/main.txt", Content: "` + text + `"})
	local.NewFile(s, "parts", local.FileProps{Path: "out/parts.txt", Content: parts.Text})
	local.NewFile(s, "lib", local.FileProps{Path: "out/lib.txt", Content: lib.Text})
	local.NewFile(s, "embedded", local.FileProps{Path: "out/embedded.txt", Content: string(embedded)})
	_ = main
` + more + `
	return nil
}
`
}

// A Go program is built anew with each save of what it is made of. What does not build is said with its place.
func TestDevOfAGoProgram(t *testing.T) {
	t.Parallel() // it waits for the compiler, and others wait for processes
	if testing.Short() {
		t.Skip("builds Go programs")
	}
	w := newGoStack(t)
	s := w.dev("shop")
	s.deployed(map[string]float64{"created": 4})
	pid := s.Process.Pid
	for n, tt := range []struct{ file, text, made, want string }{
		{"shop/main.go", goStack("main two", ""), "shop/out/main.txt", "main two"},
		{"shop/parts/parts.go", "package parts\n\nconst Text = \"parts two\"\n", "shop/out/parts.txt", "parts two"},
		{"lib/lib.go", "package lib\n\nconst Text = \"lib two\"\n", "shop/out/lib.txt", "lib two"},
		{"shop/text/embedded.txt", "embedded two", "shop/out/embedded.txt", "embedded two"},
		{"shop/parts/more.go", "package parts\n\nfunc init() {}\n", "", ""},
	} {
		if !proctest.Played(n, 3) {
			continue
		}
		w.save(tt.file, tt.text)
		s.next("built")
		if tt.made == "" {
			s.next("deployed")
			continue
		}
		e := s.deployed(map[string]float64{"updated": 1, "unchanged": 3})
		if have := w.read(tt.made); have != tt.want || reads(e) > 4 {
			t.Errorf("%s: %s is %q, %v reads", tt.file, tt.made, have, reads(e))
		}
	}
	w.save("shop/main.go", goStack("main three", "\tnothing()"))
	if text := fmt.Sprint(s.next("problem")); !strings.Contains(text, "main.go:29:2: undefined: nothing") {
		t.Errorf("it says %s", text)
	}
	w.save("shop/main.go", goStack("main three", "\tlocal.NewFile(s, \"main\", local.FileProps{})"))
	if text := fmt.Sprint(s.next("problem")); !strings.Contains(text, "main.go:29") {
		t.Errorf("it says %s", text)
	}
	if w.read("shop/out/main.txt") != "main two" {
		t.Errorf("it deployed %q", w.read("shop/out/main.txt"))
	}
	// A graph that needs its program: the new one takes the place of the old process.
	then := "\tlocal.NewFile(s, \"then\", local.FileProps{Path: \"out/then.txt\", Content: athanor.Then(s, main.Digest, func(d string) (string, error) { return \"then \" + d[:4], nil })})\n"
	w.save("shop/main.go", goStack("main four", then))
	e := s.deployed(map[string]float64{"created": 1, "updated": 1, "unchanged": 3})
	if reads(e) > 8 || !strings.HasPrefix(w.read("shop/out/then.txt"), "then ") || pid != s.Process.Pid {
		t.Errorf("%v reads, %q", reads(e), w.read("shop/out/then.txt"))
	}
	w.save("shop/main.go", goStack("main five", strings.ReplaceAll(then, "then \"", "next \"")))
	s.deployed(map[string]float64{"updated": 2, "unchanged": 3})
	w.save("shop/main.go", goStack("main six", ""))
	s.deployed(map[string]float64{"updated": 1, "deleted": 1, "unchanged": 3})
	s.stop(0)
}

// The program itself is as good a session as the ready-made binary.
func TestDevByTheProgramItself(t *testing.T) {
	t.Parallel() // it waits for the compiler, and others wait for processes
	if testing.Short() {
		t.Skip("builds Go programs")
	}
	w := newGoStack(t)
	build := limitedTo(t, buildLimit, "go", "build", "-ldflags=-s -w", "-o", "program", ".")
	build.Dir, build.Env = filepath.Join(w.dir, "shop"), w.env
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := w.devOf(filepath.Join(w.dir, "shop", "program"))
	s.deployed(map[string]float64{"created": 4})
	w.save("shop/parts/parts.go", "package parts\n\nconst Text = \"parts two\"\n")
	s.deployed(map[string]float64{"updated": 1, "unchanged": 3})
	w.save("shop/main.go", "package main\n\nfunc main() {")
	s.next("problem")
	w.save("shop/main.go", goStack("main two", ""))
	s.deployed(map[string]float64{"updated": 1, "unchanged": 3})
	s.stop(0)
}
