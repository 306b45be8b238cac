package cmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/cmd/cli"
)

// dirVariable tells a stack program where its package lies.
const dirVariable = "ATHANOR_DIR"

// delegate builds a Go stack and lets it do the whole command: the program is the command. Its exit code is ours.
// The first names arguments are handed on; the target is the program itself.
func (a *app) delegate(c *cli.Context, src *source, names int) error {
	binary, err := a.build(c.Context, src.dir)
	if err != nil {
		return err
	}
	return a.become(c, binary, src, names)
}

// become lets a program that was built do the whole command. Variables come before those of this process.
func (a *app) become(c *cli.Context, binary string, src *source, names int, variables ...string) error {
	args := []string{c.Command.Name}
	if below := strings.Fields(c.Command.HelpName); len(below) > 2 {
		args = below[1:] // a command below another
	}
	args = append(append(args, forwarded(c)...), "--")
	switch {
	case src.planFile != "":
		args = append(args, src.planFile)
	case c.NArg() > names:
		args = append(args, c.Args().Slice()[:names]...)
	default:
		args = append(args, c.Args().Slice()...)
	}
	env := append(append(os.Environ(), variables...), dirVariable+"="+src.dir)
	if c.IsSet("store") {
		env = append(without(env, cli.StoreVariable), cli.StoreVariable+"="+c.String("store"))
	}
	return replaceProcess(binary, args, env)
}

// without takes a variable out of an environment: of two with one name the first one counts.
func without(env []string, name string) []string {
	return slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}

// forwarded are the flags that were set, spelt so that any parser reads them back. The store may have a password in
// its URL and goes by the environment, which is not everybody's to see.
func forwarded(c *cli.Context) []string {
	var args []string
	for _, f := range c.Command.Flags {
		name := f.Names()[0]
		if !c.IsSet(name) || name == "store" {
			continue
		}
		if _, many := f.(*cli.StringSliceFlag); many {
			for _, v := range c.StringSlice(name) {
				args = append(args, "--"+name+"="+v)
			}
			continue
		}
		args = append(args, fmt.Sprintf("--%s=%v", name, c.Value(name)))
	}
	return args
}

// build compiles a stack program into the project's cache, and links it only if anything changed that it is made of.
func (a *app) build(ctx context.Context, dir string) (string, error) {
	sum := sha256.Sum256([]byte(dir))
	folder := filepath.Join(projectRoot(dir), ".athanor")
	out := filepath.Join(folder, "cache", "programs", hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(filepath.Dir(out), 0o700); err != nil {
		return "", err
	}
	if err := ignore(folder); err != nil {
		return "", err
	}
	sweep(filepath.Dir(out))
	slow := time.AfterFunc(time.Second, func() { fmt.Fprintf(a.err, "building %s\n", dir) })
	defer slow.Stop()
	// Built aside: the program of before may be running, and one that is cut in the middle is never taken for a program.
	building, err := os.MkdirTemp(filepath.Dir(out), asidePrefix)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(building)
	aside := filepath.Join(building, filepath.Base(out))
	// The go command links nothing when what it would write is there already, which it knows by the build id that it has
	// written into a program: of all sources, settings and tools. It never writes into a file that is there, but puts a new
	// one in its place. Where there are no hard links it links each time.
	_ = os.Link(out, aside)
	// Without tables for debuggers linking takes two thirds of the time; traces of a panic are the same.
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", aside, ".")
	cmd.Dir = dir
	compiling(cmd)
	output, err := cmd.CombinedOutput()
	if _, missing := errors.AsType[*exec.Error](err); missing {
		return "", hint(fmt.Errorf("%s is a Go program, and there is no go command to build it", dir), "install Go, or build the program elsewhere and run it: the program is the command")
	}
	if err != nil {
		return "", fmt.Errorf("%s does not build:\n%s", dir, strings.TrimSpace(string(output)))
	}
	return out, publish(aside, out)
}

// asidePrefix begins the names of the folders in which programs are built.
const asidePrefix = "build-"

// publish puts a program in its place when it is whole on the disk. One that is there already stays.
func publish(aside, out string) error {
	built, err := os.Stat(aside)
	if err != nil {
		return err
	}
	if before, err := os.Stat(out); err == nil && os.SameFile(before, built) {
		return nil
	}
	file, err := os.OpenFile(aside, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(aside, out)
}

// sweep removes what builds that were killed have left in a folder. A build of a day ago is no longer at work.
func sweep(folder string) {
	left, _ := filepath.Glob(filepath.Join(folder, asidePrefix+"*")) // the pattern is well formed
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(dir) // the next build tries again
		}
	}
}

// ignore keeps a project's .athanor folder out of version control.
func ignore(folder string) error {
	file := filepath.Join(folder, ".gitignore")
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	return os.WriteFile(file, []byte("*\n"), 0o600)
}
