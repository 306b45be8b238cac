package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
)

// maxInput bounds what is read as a stack: far above any real one.
const maxInput = 256 << 20

// source is where a stack comes from.
type source struct {
	dir  string // the stack's directory
	path string // the file, "" for the program itself or a Go package
	data []byte // of a file or of standard input
	// One of these says what it is.
	self     bool // this binary's own program
	goMain   bool // a Go main package, to be built and run
	graph    bool // a graph document
	plan     *savedPlan
	planFile string // of a Go program that is to apply a saved plan
	stdin    bool
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

// source finds out what a target is. Nothing is evaluated yet.
func (a *app) source(target string) (*source, error) {
	if a.program != nil {
		return a.ownSource(target)
	}
	if target == "-" {
		data, err := io.ReadAll(io.LimitReader(a.in, maxInput))
		if err != nil {
			return nil, err
		}
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		return a.file(&source{dir: dir, stdin: true, data: data})
	}
	if target == "" {
		target = "."
	}
	path := absolute(target)
	info, err := os.Stat(path)
	if err != nil {
		return nil, reconcile.WithHint(fmt.Errorf("target %s: %w", target, unwrapPath(err)), "a directory with athanor.yaml or a Go main package, a file, or -")
	}
	if info.IsDir() {
		return a.directory(path, target)
	}
	if info.Size() > maxInput {
		return nil, fmt.Errorf("target %s: larger than %d MiB", target, maxInput>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return a.file(&source{dir: filepath.Dir(path), path: path, data: data})
}

func unwrapPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// ownSource is that of a stack program: itself, or a plan that it saved.
func (a *app) ownSource(target string) (*source, error) {
	own := &source{dir: a.program.dir, self: true}
	if target == "" || absolute(target) == a.program.dir {
		return own, nil
	}
	info, err := os.Stat(target)
	if err == nil && !info.IsDir() {
		data, err := os.ReadFile(target)
		if err != nil {
			return nil, err
		}
		if plan, err := parsePlan(data); plan != nil || err != nil {
			return &source{dir: a.program.dir, path: absolute(target), plan: plan}, err
		}
	}
	return nil, hint(fmt.Errorf("target %s: this is a stack program, which is its own target", target), "leave TARGET out, or name a plan that it saved")
}

func (a *app) directory(path, target string) (*source, error) {
	for _, name := range []string{"athanor.yaml", "athanor.yml"} {
		file := filepath.Join(path, name)
		data, err := os.ReadFile(file)
		if err == nil {
			return a.file(&source{dir: path, path: file, data: data})
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if isGoMain(path) {
		return &source{dir: path, goMain: true}, nil
	}
	return nil, hint(fmt.Errorf("target %s: there is neither an athanor.yaml nor a Go main package", target), "`athanor init` writes a first one")
}

// file tells a graph, a saved plan and YAML apart by what they hold.
func (a *app) file(s *source) (*source, error) {
	if trimmed := bytes.TrimLeft(s.data, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' && !strings.HasSuffix(s.path, ".yaml") && !strings.HasSuffix(s.path, ".yml") {
		plan, err := parsePlan(s.data)
		if err != nil {
			return nil, err
		}
		s.plan, s.graph = plan, plan == nil
	}
	return s, nil
}

// isGoMain reports whether a directory holds a Go main package.
func isGoMain(dir string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return false
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		if data, err := os.ReadFile(f); err == nil && packageMain.Match(data) {
			return true
		}
	}
	return false
}
