package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/release"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/cmd/stackprogram"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Option changes what Main makes of a program.
type Option func(*program)

// program is a stack program that became a command.
type program struct {
	stackprogram.Program
	kinds []reconcile.Provider
	// again: it takes the place of an older one in a dev session.
	again bool
}

// Stack names the stack. The default is the name of the program's directory.
func Stack(name string) Option { return func(p *program) { p.Name = name } }

// Kinds adds the author's own kinds. Every built-in kind is linked anyway, so that what the program no longer
// mentions can still be deleted.
func Kinds(more ...reconcile.Provider) Option {
	return func(p *program) { p.kinds = append(p.kinds, more...) }
}

// Main turns a stack program into the whole command and does not return.
func Main(stack athanor.Program, options ...Option) {
	_, file, _, _ := runtime.Caller(1)
	p := &program{Program: *stackprogram.New(stack, file)}
	for _, o := range options {
		o(p)
	}
	p.OwnKinds = len(p.kinds) > 0
	// What this program starts may be a stack program too, and is another one.
	p.again = os.Getenv(againVariable) != ""
	if err := os.Unsetenv(againVariable); err != nil {
		render.Style{}.Warning(os.Stderr, err.Error())
	}
	if question := stackprogram.Asked(); question != "" {
		os.Exit(p.Answer(question))
	}
	os.Exit(execute(p, Release{}))
}

// Release is what a release binary knows of itself.
type Release = release.Release

// Ready runs the ready-made binary and does not return.
func Ready(r Release) { os.Exit(execute(nil, r)) }

// newApp is the command of a program, nil for the ready-made binary.
func newApp(t *terminal.Terminal, p *program, r Release) *app {
	a := &app{Terminal: t, program: p, release: r}
	t.Excerpt = a.sourceLine
	return a
}

func execute(p *program, r Release) int {
	a := newApp(&terminal.Terminal{In: os.Stdin, Out: terminal.Guarded(os.Stdout), Err: terminal.Guarded(os.Stderr)}, p, r)
	return a.execute(os.Args, func() []reconcile.Provider {
		if p == nil {
			return providers.All()
		}
		return append(providers.All(), p.kinds...)
	})
}

// execute runs a command line with the kinds of some providers. They are asked for when the first line is on the terminal.
func (a *app) execute(args []string, kinds func() []reconcile.Provider) int {
	defer a.Start(args)()
	all := kinds()
	for i := range all {
		all[i].Open = a.guarded(all[i])
	}
	var err error
	if a.catalog, err = reconcile.NewCatalog(all...); err != nil {
		return a.Report(err)
	}
	defer a.catalog.Close()
	defer func() {
		for _, text := range a.catalog.Warnings() {
			a.Warn("%s", text)
		}
	}()
	return a.run(context.Background(), args)
}

// load evaluates a source.
func (a *app) load(ctx context.Context, src *source, stage string, config map[string]string) (*engine.Graph, error) {
	a.showsLines = !src.graph && src.plan == nil && !src.stdin
	g, err := a.loadAny(ctx, src, stage, config)
	if err != nil {
		return nil, err
	}
	if err := a.declare(ctx, g); err != nil {
		return nil, err
	}
	return g, secretsAreFiles(a.granted.within(ctx), g)
}

// declare tells providers whose kinds depend on settings the settings of a graph.
func (a *app) declare(ctx context.Context, g *engine.Graph) error {
	told := map[string]bool{}
	tell := func(kind string, settings map[string]any) error {
		p, ok := a.catalog.ProviderOf(kind)
		if !ok || p.Declared == nil || settings == nil {
			return nil
		}
		key := p.Name + " " + tree.Digest(settings)
		if told[key] {
			return nil
		}
		told[key] = true
		typed := reflect.New(reflect.TypeOf(p.Settings).Elem()).Interface()
		if err := props.Decode(settings, typed); err != nil {
			return fmt.Errorf("provider %s: %w", p.Name, err)
		}
		in := reconcile.WithFolder(ctx, g.Dir)
		if p.Fetch != nil {
			if err := p.Fetch(in, typed); err != nil {
				return fmt.Errorf("provider %s: %w", p.Name, err)
			}
			// What was approved may have been the source alone, and what came of it is known now.
			if err := a.granted.settled(p.Name, settings); err != nil {
				return err
			}
		}
		return p.Declared(in, typed)
	}
	for i := range g.Resources {
		r := &g.Resources[i]
		if err := cmp.Or(tell(r.Kind, r.Settings), a.forwardedAsApproved(r.Address, r.Kind, r.Settings, r.Props)); err != nil {
			return err
		}
	}
	for i := range g.Reads {
		r := &g.Reads[i]
		if err := cmp.Or(tell(r.Kind, r.Settings), a.forwardedAsApproved(r.Address, r.Kind, r.Settings, r.Query)); err != nil {
			return err
		}
	}
	return nil
}

var errNotForwarded = errors.New("is not what the settings of its provider say")

// forwardedAsApproved refuses a graph in which a resource has another configuration of its provider than its settings, which are what the
// user approves: a graph may come from anywhere.
func (a *app) forwardedAsApproved(address, kind string, settings, have map[string]any) error {
	p, ok := a.catalog.ProviderOf(kind)
	by, forwards := p.Settings.(reconcile.Forwarding)
	if !ok || !forwards {
		return nil
	}
	_, prop := by.Forwards()
	if want := reconcile.Forwarded(by, settings, nil); !tree.Equal(want[prop], have[prop]) {
		return cli.Hint(fmt.Errorf("%s: %s %w", address, prop, errNotForwarded), "settings stand under providers, and a resource names them beside its props")
	}
	return nil
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
			e.Problems = append(e.Problems, engine.Problem{Err: fmt.Errorf("secret %s: %s: %w", name, g.Secrets[name].File, files.WithoutPath(err))})
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
		return a.evaluate(ctx, stackprogram.Question{Stack: a.program.Name, Stage: stage, Dir: a.program.Dir, Config: config})
	case src.goMain:
		return a.declared(ctx, stackprogram.Question{Stage: stage, Dir: src.dir, Config: config})
	case src.plan != nil:
		return nil, cli.Hint(fmt.Errorf("%s is a saved plan", src.name()), "athanor deploy applies it")
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
		return nil, fmt.Errorf("%s: %w", a.Place(src.file()), err)
	}
	g.Dir = src.dir
	if g.Stage == "" {
		g.Stage = stage
	}
	switch {
	case g.Stage != stage:
		return nil, cli.Hint(fmt.Errorf("the graph is for stage %q, not %q", g.Stage, stage), "--stage "+g.Stage)
	case len(config) > 0:
		return nil, cli.Hint(fmt.Errorf("--config: a graph was evaluated already"), "give it to `athanor graph`, which evaluates the program")
	case len(g.Program) > 0:
		return nil, cli.Hint(fmt.Errorf("the graph needs its program, for what it has of %s", strings.Join(g.Program, ", ")), "deploy the program instead of its graph")
	}
	return g, athanor.CheckStack(g.Stack)
}
