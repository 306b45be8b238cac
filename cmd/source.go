package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/savedplan"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// maxInput bounds what is read as a stack: far above any real one.
const maxInput = 256 << 20

// source is where a stack comes from.
type source struct {
	dir  string // the stack's directory
	path string // the file, "" for the program itself, a Go package or standard input
	data []byte // of a file or of standard input; of a file nil until it is read
	// target is the file as the user named it, for messages.
	target string
	// At most one of these says what it is; none means YAML.
	self   bool            // this binary's own program
	goMain bool            // a Go main package, to be built and run
	graph  bool            // a graph document
	plan   *savedplan.File // a saved plan

	stdin    bool
	planFile string // for a Go program: the saved plan that it is to apply
}

// name is what a saved plan calls the source.
func (s *source) name() string {
	switch {
	case s.stdin:
		return "-"
	case s.path != "":
		return s.path
	default:
		return s.dir
	}
}

// file is the path for messages and for what is relative to it.
func (s *source) file() string {
	if s.stdin {
		return filepath.Join(s.dir, "stdin")
	}
	return s.path
}

// source finds out what a target is. Nothing is evaluated yet.
func (a *app) source(ctx context.Context, target string) (*source, error) {
	if a.program != nil {
		return a.ownSource(target)
	}
	if target == "-" {
		return a.standardInput(ctx)
	}
	if target == "" {
		target = "."
	}
	path := files.Absolute(target)
	info, err := os.Stat(path)
	if err != nil {
		way := "a directory with athanor.yaml or a Go main package, a file, or -"
		if !strings.ContainsAny(target, `/\.`) {
			way += "; a stage is named by --stage " + target
		}
		return nil, cli.Hint(fmt.Errorf("target %s: %w", target, files.WithoutPath(err)), way)
	}
	switch {
	case info.IsDir():
		return directory(ctx, path, target)
	case info.Mode()&os.ModeNamedPipe != 0: // such as <(…) of a shell, and the user's own word
		return pipe(ctx, path, target)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("target %s: not a file", target)
	}
	return &source{dir: filepath.Dir(path), path: path, target: target}, nil
}

// read reads the file of a source within the bounds of the context, and finds out what it is.
func (s *source) read(ctx context.Context) error {
	if s.data != nil || s.path == "" || s.plan != nil {
		return nil
	}
	data, err := localfile.ReadAtMost(ctx, s.path, maxInput)
	switch {
	case errors.Is(err, localfile.ErrTooLarge):
		return fmt.Errorf("target %s: larger than %d MiB", s.target, maxInput>>20)
	case err != nil:
		return fmt.Errorf("target %s: %w", s.target, files.WithoutPath(err))
	}
	s.data = data
	return tellApart(s)
}

// pipe reads a pipe that the user names as the target.
func pipe(ctx context.Context, path, target string) (*source, error) {
	data, err := files.Interruptible(ctx, func() ([]byte, error) { return os.ReadFile(path) })
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", target, files.WithoutPath(err))
	}
	s := &source{dir: filepath.Dir(path), path: path, data: data}
	return s, tellApart(s)
}

func (a *app) standardInput(ctx context.Context) (*source, error) {
	if terminal.IsTerminal(a.In) {
		return nil, cli.Hint(errors.New("target -: standard input is a terminal"), "athanor graph --json | athanor deploy - --yes")
	}
	data, err := files.Interruptible(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(a.In, maxInput+1)) })
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	if len(data) > maxInput {
		return nil, fmt.Errorf("standard input: more than %d MiB", maxInput>>20)
	}
	s := &source{dir: files.Absolute("."), stdin: true, data: data}
	return s, tellApart(s)
}

// ownSource is that of a stack program: itself, or a plan that it saved.
func (a *app) ownSource(target string) (*source, error) {
	own := &source{dir: a.program.Dir, self: true}
	if target == "" || files.Absolute(target) == a.program.Dir {
		return own, nil
	}
	if info, err := os.Stat(target); err == nil && info.Mode().IsRegular() {
		data, err := os.ReadFile(target)
		if err != nil {
			return nil, err
		}
		if plan, err := savedplan.Parse(data); plan != nil || err != nil {
			return &source{dir: a.program.Dir, path: files.Absolute(target), plan: plan}, err
		}
	}
	return nil, cli.Hint(fmt.Errorf("target %s: this is a stack program, which is its own target", target), "leave TARGET out, or name a plan that it saved")
}

var errNoProgram = errors.New("there is neither an athanor.yaml nor a Go main package")

func directory(ctx context.Context, path, target string) (*source, error) {
	for _, name := range []string{"athanor.yaml", "athanor.yml"} {
		file := filepath.Join(path, name)
		_, err := os.Lstat(file)
		if err == nil {
			return &source{dir: path, path: file, target: target}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("target %s: %w", target, err)
		}
	}
	if isGoMain(ctx, path) {
		return &source{dir: path, goMain: true}, nil
	}
	return nil, cli.Hint(fmt.Errorf("target %s: %w", target, errNoProgram), strings.ReplaceAll("athanor init "+target+" writes a first stack", " . ", " "))
}

// tellApart tells a graph, a saved plan and YAML apart by what they hold.
func tellApart(s *source) error {
	if ext := filepath.Ext(s.path); ext == ".yaml" || ext == ".yml" {
		return nil
	}
	if start := bytes.TrimLeft(s.data, " \t\r\n"); len(start) == 0 || start[0] != '{' {
		return nil
	}
	plan, err := savedplan.Parse(s.data)
	s.plan, s.graph = plan, plan == nil
	return err
}

var packageMain = regexp.MustCompile(`(?m)^package main\b`)

// longestGoFile bounds what is searched for the name of a package.
const longestGoFile = 16 << 20

// isGoMain reports whether a directory holds a Go main package. What a link outside of the project holds does not count.
func isGoMain(ctx context.Context, dir string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return false
	}
	if real, err := localfile.Real(dir); err == nil {
		ctx = localfile.With(ctx, localfile.Bounds{Root: project.BoundsRoot(real)})
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		if data, err := localfile.ReadAtMost(ctx, f, longestGoFile); err == nil && packageMain.Match(data) {
			return true
		}
	}
	return false
}

// longestProgram bounds a file of a program of which a line is shown.
const longestProgram = 4 << 20

// sourceLine returns a line of a file of the stack as people may see it: without secrets, and none of a file that the stack may
// not read. A document names places in files that it did not come from, of which nothing is shown.
func (a *app) sourceLine(file string, line int) (string, bool) {
	if a.Dir == "" || !a.showsLines {
		return "", false
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(a.Dir, file)
	}
	switch filepath.Ext(file) {
	case ".go", ".yaml", ".yml":
	default:
		return "", false
	}
	data, err := localfile.ReadAtMost(a.granted.within(context.Background()), file, longestProgram)
	lines := strings.Split(string(data), "\n")
	if err != nil || line < 1 || line > len(lines) {
		return "", false
	}
	return a.Masked(errors.New(strings.TrimRight(lines[line-1], "\r"))), true
}
