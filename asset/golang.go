package asset

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// Go is a program in Go that is compiled for Linux.
type Go struct {
	// Package is the folder of package main, relative to the stack's directory, when it begins with a dot or is absolute;
	// else an import path that the module of the stack's directory knows.
	Package string
	// Arch is amd64 or arm64.
	Arch string
	// Tags are build tags.
	Tags []string
	// LDFlags are for the linker, after -s -w, which leave out symbols and debugging information.
	LDFlags string
}

// BuildError is what a compiler or a bundler says is wrong.
type BuildError struct {
	// Tool and Of are what was run on what.
	Tool, Of string
	// Output is what it said, shortened at its end.
	Output string
	Err    error
}

func (e *BuildError) Error() string {
	if e.Output == "" {
		return fmt.Sprintf("%s %s: %v", e.Tool, e.Of, e.Err)
	}
	return fmt.Sprintf("%s %s:\n%s", e.Tool, e.Of, e.Output)
}

func (e *BuildError) Unwrap() error { return e.Err }

// mostOutput is how much of a compiler's output is kept, in bytes.
const mostOutput = 8 << 10

func shortened(output string) string {
	output = strings.TrimSpace(output)
	if len(output) > mostOutput {
		return output[:mostOutput] + " …"
	}
	return output
}

// Build compiles the program and gives it as an executable file of that name. The go command decides itself what has to be
// done anew: its last output lies in the cache.
func (g Go) Build(ctx context.Context, work reconcile.Workspace, name string) (File, error) {
	if strings.HasPrefix(strings.TrimSpace(g.Package), "-") {
		return File{}, &PathError{g.Package, "a flag, and no package"}
	}
	dir, target := g.where(work.Dir)
	list := sync.OnceValue(func() Sources {
		return goSources(ctx, dir, target, g.environment(), "-tags="+strings.Join(g.Tags, ","))
	})
	if err := readable(ctx, work, dir, target, list); err != nil {
		return File{}, err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%q", []string{dir, target, g.Arch, strings.Join(g.Tags, ","), g.LDFlags}))
	cache, err := filepath.Abs(filepath.Join(work.Cache, "go", hex.EncodeToString(key[:8])))
	if err != nil {
		return File{}, err
	}
	out := filepath.Join(cache, name)
	var listed sync.WaitGroup
	listed.Go(func() { list() })
	build := func() error {
		return InPlace(out, func(aside string) error { return g.compile(ctx, dir, target, aside) })
	}
	if isWhole(out) {
		err = build()
	} else { // two go commands that run side by side compile what they have in common twice
		err = work.First(fmt.Sprintf("go %s %q", g.Arch, g.Tags), build)
	}
	listed.Wait()
	if err != nil {
		return File{}, err
	}
	return File{Name: name, Path: out, Executable: true, From: slices.Concat(list().Files, list().Compiled)}, nil
}

// environment is that of the go command that compiles the program.
func (g Go) environment() []string {
	return append(GoEnvironment(), "GOOS=linux", "GOARCH="+g.Arch, "CGO_ENABLED=0")
}

// GoEnvironment is the environment that the go command is started in. Sources do not choose another go command: that of
// go.mod's toolchain line is taken only where the user's own environment says so.
func GoEnvironment() []string {
	env := os.Environ()
	if os.Getenv("GOTOOLCHAIN") == "" {
		env = append(env, "GOTOOLCHAIN=local")
	}
	return env
}

// readable tells what the program is made of, and reports sources that lie outside of what the stack may read: a module may
// be replaced by any folder.
func readable(ctx context.Context, work reconcile.Workspace, dir, target string, list func() Sources) error {
	_, bounded := localfile.BoundsOf(ctx)
	if !bounded && work.Told == nil {
		return nil
	}
	if bounded {
		if err := localfile.Check(ctx, dir); err != nil {
			return err
		}
		if err := checkGo(ctx, dir, target); err != nil {
			return err
		}
	}
	sources := list()
	for _, path := range slices.Concat(sources.Packages, sources.Trees, sources.Files) {
		work.Reads(path)
		if !bounded {
			continue
		}
		if err := localfile.Check(ctx, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// where is the folder in which the go command runs, and what it builds there.
func (g Go) where(stack string) (dir, target string) {
	path := filepath.FromSlash(g.Package)
	switch {
	case filepath.IsAbs(path):
		return path, "."
	case strings.HasPrefix(g.Package, "."):
		return filepath.Join(stack, path), "."
	}
	return stack, g.Package
}

func (g Go) compile(ctx context.Context, dir, target, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-tags="+strings.Join(g.Tags, ","), "-ldflags="+strings.TrimSpace("-s -w "+g.LDFlags), "-o", to, "--", target)
	cmd.Dir = dir
	cmd.Env = g.environment()
	cmd.WaitDelay = time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return reconcile.WithHint(&BuildError{Tool: "go build", Of: g.Package, Err: err}, "install Go, or give code that is built already")
	case err != nil:
		return &BuildError{Tool: "go build", Of: g.Package, Output: shortened(cmp.Or(output.String(), err.Error())), Err: err}
	}
	return g.runs(to)
}

var errNoProgram = errors.New("the package is no program: want package main")

// runs reports whether what was built is a program: of any other package the go command writes an archive.
func (g Go) runs(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	magic := make([]byte, 4)
	if _, err := f.Read(magic); err != nil {
		return err
	}
	if string(magic) != "\x7fELF" {
		return &BuildError{Tool: "go build", Of: g.Package, Err: errNoProgram}
	}
	return nil
}
