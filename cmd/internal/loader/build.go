package loader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/cmd/stackprogram"
)

// Delegate builds a Go stack and lets it do the whole command: the program is the command. Its exit code is ours.
// The first names arguments are handed on; the target is the program itself.
func (l *Loader) Delegate(c *cli.Context, src *Source, names int) error {
	binary, err := l.Build(c.Context, src.Dir)
	if err != nil {
		return err
	}
	if !callsMain(src.Dir) { // any other main would run, and end as if all were done
		if _, err := nameOf(c.Context, l.Screen(l.Err), binary, src.Dir); err != nil {
			return fmt.Errorf("%s: %w", src.Dir, err)
		}
	}
	return l.Become(c, binary, src, names)
}

// OrDelegate lets a program that must be the command do the whole command. Any other error stays.
func (l *Loader) OrDelegate(c *cli.Context, src *Source, names int, err error) error {
	must, ok := errors.AsType[*CommandError](err)
	if !ok {
		return err
	}
	if must.why != "" {
		fmt.Fprintf(l.Err, "note: %s: it is run as the command\n", must.why)
	}
	return l.Delegate(c, src, names)
}

// Become lets a program that was built do the whole command. Variables come before those of this process.
func (l *Loader) Become(c *cli.Context, binary string, src *Source, names int, variables ...string) error {
	args := []string{c.Command.Name}
	if below := strings.Fields(c.Command.HelpName); len(below) > 2 {
		args = below[1:] // a command below another
	}
	args = append(append(args, forwarded(c)...), "--")
	switch {
	case src.PlanFile != "":
		args = append(args, src.PlanFile)
	case c.NArg() > names:
		args = append(args, c.Args().Slice()[:names]...)
	default:
		args = append(args, c.Args().Slice()...)
	}
	env := append(append(os.Environ(), variables...), stackprogram.DirVariable+"="+src.Dir)
	if c.IsSet("store") {
		env = append(Without(env, cli.StoreVariable), cli.StoreVariable+"="+c.String("store"))
	}
	l.EndFirstLine()
	return ReplaceProcess(binary, args, env)
}

// Without takes a variable out of an environment: of two with one name the first one counts.
func Without(env []string, name string) []string {
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

// Build compiles a stack program as the command into the project's cache, and links it only if anything changed that it is
// made of.
func (l *Loader) Build(ctx context.Context, dir string) (string, error) {
	out, err := l.inCache(dir, "")
	if err != nil {
		return "", err
	}
	defer l.building(dir)()
	return out, asset.InPlace(out, func(aside string) error { return compile(ctx, dir, aside) })
}

// BuildLight compiles a stack program without the command: with package stackprogram in the place of this one, by an overlay
// of its sources. It gives "" for a program that uses more of the command, or does not build.
func (l *Loader) BuildLight(ctx context.Context, dir string) (string, error) {
	sources, ok := lightened(dir)
	if !ok || !stackprogram.HasPipes || strings.Contains(os.Getenv("GOFLAGS"), "-overlay") {
		return "", nil
	}
	out, err := l.inCache(dir, "-light")
	if err != nil {
		return "", err
	}
	defer l.building(dir)()
	built := asset.InPlace(out, func(aside string) error {
		overlay := map[string]string{}
		for path, text := range sources {
			overlay[path] = filepath.Join(filepath.Dir(aside), strconv.Itoa(len(overlay))+".go")
			if err := os.WriteFile(overlay[path], text, 0o600); err != nil {
				return err
			}
		}
		data, err := json.Marshal(map[string]any{"Replace": overlay})
		if err != nil {
			return err
		}
		file := filepath.Join(filepath.Dir(aside), "overlay.json")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
		return compile(ctx, dir, aside, "-overlay="+file)
	})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case built != nil:
		return "", nil //nolint:nilerr // the whole program builds, or says why not
	}
	return out, nil
}

// building shows that a program is compiled, until what it returns is called. In a dev session, where a run may be drawn meanwhile, it is a
// line once that takes long.
func (l *Loader) building(dir string) (stop func()) {
	if l.InDev {
		timer := time.AfterFunc(time.Second, func() { fmt.Fprintf(l.Err, "building %s\n", dir) })
		return func() { timer.Stop() }
	}
	return render.NewBuilding(l.Screen(l.Err), dir).Close
}

// inCache is the place of a program in the project's cache.
func (l *Loader) inCache(dir, what string) (string, error) {
	sum := sha256.Sum256([]byte(dir))
	folder := filepath.Join(project.Root(dir), ".athanor")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	return filepath.Join(folder, "cache", "programs", hex.EncodeToString(sum[:8])+what), Ignore(folder)
}

// compile compiles a stack program. Without tables for debuggers linking takes two thirds of the time; traces of a panic
// are the same.
func compile(ctx context.Context, dir, out string, more ...string) error {
	args := append([]string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", out}, more...)
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = dir
	kill := compiling(cmd)
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		kill()
	}
	if _, missing := errors.AsType[*exec.Error](err); missing {
		return cli.Hint(fmt.Errorf("%s is a Go program, and there is no go command to build it", dir),
			"install Go, or build the program elsewhere and run it: the program is the command")
	}
	if err != nil {
		return fmt.Errorf("%s does not build:\n%s", dir, strings.TrimSpace(string(output)))
	}
	return nil
}

// Ignore keeps a project's .athanor folder out of version control.
func Ignore(folder string) error {
	file := filepath.Join(folder, ".gitignore")
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	return os.WriteFile(file, []byte("*\n"), 0o600)
}
