package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// Option changes what Main makes of a program.
type Option func(*program)

// program is a stack program that became a command.
type program struct {
	stack athanor.Program
	name  string
	dir   string
	kinds []reconcile.Provider
	// again: it takes the place of an older one in a dev session.
	again bool
}

// Stack names the stack. The default is the name of the program's directory.
func Stack(name string) Option { return func(p *program) { p.name = name } }

// Kinds adds the author's own kinds. Every built-in kind is linked anyway, so that what the program no longer
// mentions can still be deleted.
func Kinds(more ...reconcile.Provider) Option {
	return func(p *program) { p.kinds = append(p.kinds, more...) }
}

// Main turns a stack program into the whole command and does not return.
func Main(stack athanor.Program, options ...Option) {
	_, file, _, _ := runtime.Caller(1)
	p := &program{stack: stack, dir: programDir(file)}
	p.name = filepath.Base(p.dir)
	for _, o := range options {
		o(p)
	}
	request := os.Getenv(evaluateVariable)
	// What this program starts may be a stack program too, and is another one.
	p.again = os.Getenv(againVariable) != ""
	for _, name := range []string{evaluateVariable, dirVariable, againVariable} {
		if err := os.Unsetenv(name); err != nil {
			fmt.Fprintln(os.Stderr, "warning:", err)
		}
	}
	if request != "" {
		os.Exit(p.answer(request))
	}
	os.Exit(execute(p, ""))
}

// Ready runs the ready-made binary and does not return. Version is that of the release, "" for none.
func Ready(version string) { os.Exit(execute(nil, version)) }

func execute(p *program, version string) int {
	a := &app{program: p, in: os.Stdin, out: guarded(os.Stdout), err: guarded(os.Stderr), version: version}
	all := providers.All()
	if p != nil {
		all = append(all, p.kinds...)
	}
	for i := range all {
		all[i].Open = a.guarded(all[i])
	}
	var err error
	if a.catalog, err = reconcile.NewCatalog(all...); err != nil {
		return a.report(err)
	}
	return a.run(context.Background(), os.Args)
}

// programDir is where a program's package lies: what the ready-made binary said, else the folder of its source, else
// the working directory.
func programDir(file string) string {
	if dir := os.Getenv(dirVariable); dir != "" {
		return dir
	}
	if filepath.IsAbs(file) {
		if _, err := os.Stat(file); err == nil {
			return filepath.Dir(file)
		}
	}
	return absolute(".")
}

// load evaluates a source.
func (a *app) load(ctx context.Context, src *source, stage string, config map[string]string) (*engine.Graph, error) {
	g, err := a.loadAny(ctx, src, stage, config)
	if err != nil {
		return nil, err
	}
	return g, secretsAreFiles(a.granted.within(ctx), g)
}

// secretsAreFiles refuses secrets that are read from a pipe, a device or a socket: their reading might never end. One that
// is missing is reported when it is needed.
func secretsAreFiles(ctx context.Context, g *engine.Graph) error {
	e := &engine.RefusedError{}
	for _, name := range slices.Sorted(maps.Keys(g.Secrets)) {
		path := g.Secrets[name].File
		if path == "" {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(g.Dir, path)
		}
		if err := localfile.Check(ctx, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.Problems = append(e.Problems, engine.Problem{Err: fmt.Errorf("secret %s: %s: %w", name, g.Secrets[name].File, withoutPath(err))})
		}
	}
	if len(e.Problems) > 0 {
		return e
	}
	return nil
}

func (a *app) loadAny(ctx context.Context, src *source, stage string, config map[string]string) (*engine.Graph, error) {
	switch {
	case src.self:
		return a.evaluate(ctx, evaluation{Stack: a.program.name, Stage: stage, Dir: a.program.dir, Config: config})
	case src.plan != nil:
		return nil, hint(fmt.Errorf("%s is a saved plan", src.name()), "athanor deploy applies it")
	case src.graph:
		g, err := a.readGraph(src, stage, config)
		if err == nil {
			err = a.permit(ctx, grants.Document{Graph: g})
		}
		return g, err
	}
	s, err := a.loadYAML(ctx, yamlstack.Input{Path: src.file(), Data: src.data, Dir: src.dir, Stage: stage, Config: config})
	if err != nil {
		return nil, err
	}
	return s.Graph, nil
}

// readGraph reads a graph document. It says its stage itself; asking for another one is a mistake.
func (a *app) readGraph(src *source, stage string, config map[string]string) (*engine.Graph, error) {
	g, err := engine.ReadGraph(src.data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.place(src.file()), err)
	}
	g.Dir = src.dir
	if g.Stage == "" {
		g.Stage = stage
	}
	switch {
	case g.Stage != stage:
		return nil, hint(fmt.Errorf("the graph is for stage %q, not %q", g.Stage, stage), "--stage "+g.Stage)
	case len(config) > 0:
		return nil, hint(fmt.Errorf("--config: a graph was evaluated already"), "give it to `athanor graph`, which evaluates the program")
	case len(g.Program) > 0:
		return nil, hint(fmt.Errorf("the graph needs its program, for what it has of %s", strings.Join(g.Program, ", ")), "deploy the program instead of its graph")
	}
	return g, athanor.CheckStack(g.Stack)
}
