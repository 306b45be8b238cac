// Package loader makes the graph of what a command was given as its target: a YAML file, a Go program that it builds, a graph, or the stack program
// that the command itself is; and holds what is data to what its user has allowed.
//
// It does not know stages, state or plans.
package loader

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
	"slices"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/cmd/stackprogram"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Loader makes graphs of targets, within what their user has allowed.
type Loader struct {
	*terminal.Terminal

	Catalog *reconcile.Catalog
	// Program is the stack program that this binary is; nil for the ready-made binary.
	Program *stackprogram.Program
	// InDev: a dev session is at work.
	InDev bool
	// Granted is what the user has allowed the stack at hand; nil for a program, and before the stack is known.
	Granted *Granting
	// showsLines: the stack at hand is a program whose places are of its own files, and no document, which may name any.
	showsLines bool

	running sync.Mutex
	// children are stack programs whose functions are called.
	children []*stackprogram.Child
}

// New is the loader of a stack program, nil for the ready-made binary.
func New(t *terminal.Terminal, program *stackprogram.Program) *Loader {
	l := &Loader{Terminal: t, Program: program}
	t.Excerpt = l.sourceLine
	return l
}

// Load evaluates a source.
func (l *Loader) Load(ctx context.Context, src *Source, stage string, config map[string]string) (*engine.Graph, error) {
	l.showsLines = !src.Graph && src.Plan == nil && !src.Stdin
	g, err := l.loadAny(ctx, src, stage, config)
	if err != nil {
		return nil, err
	}
	if err := l.declare(ctx, g); err != nil {
		return nil, err
	}
	return g, secretsAreFiles(l.Granted.Within(ctx), g)
}

// declare tells providers whose kinds depend on settings the settings of a graph.
func (l *Loader) declare(ctx context.Context, g *engine.Graph) error {
	told := map[string]bool{}
	tell := func(kind string, settings map[string]any) error {
		p, ok := l.Catalog.ProviderOf(kind)
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
			if err := l.Granted.settled(p.Name, settings); err != nil {
				return err
			}
		}
		return p.Declared(in, typed)
	}
	for i := range g.Resources {
		r := &g.Resources[i]
		if err := cmp.Or(tell(r.Kind, r.Settings), l.forwardedAsApproved(r.Address, r.Kind, r.Settings, r.Props)); err != nil {
			return err
		}
	}
	for i := range g.Reads {
		r := &g.Reads[i]
		if err := cmp.Or(tell(r.Kind, r.Settings), l.forwardedAsApproved(r.Address, r.Kind, r.Settings, r.Query)); err != nil {
			return err
		}
	}
	return nil
}

var errNotForwarded = errors.New("is not what the settings of its provider say")

// forwardedAsApproved refuses a graph in which a resource has another configuration of its provider than its settings, which are what the
// user approves: a graph may come from anywhere.
func (l *Loader) forwardedAsApproved(address, kind string, settings, have map[string]any) error {
	p, ok := l.Catalog.ProviderOf(kind)
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

func (l *Loader) loadAny(ctx context.Context, src *Source, stage string, config map[string]string) (*engine.Graph, error) {
	switch {
	case src.Self:
		return l.Evaluate(ctx, stackprogram.Question{Stack: l.Program.Name, Stage: stage, Dir: l.Program.Dir, Config: config})
	case src.GoMain:
		return l.declared(ctx, stackprogram.Question{Stage: stage, Dir: src.Dir, Config: config})
	case src.Plan != nil:
		return nil, cli.Hint(fmt.Errorf("%s is a saved plan", src.Name()), "athanor deploy applies it")
	case src.Graph:
		g, err := l.ReadGraph(src, stage, config)
		if err == nil {
			err = l.Permit(ctx, grants.Document{Graph: g})
		}
		return g, err
	}
	s, err := l.LoadYAML(ctx, yamlstack.Input{Path: src.File(), Data: src.Data, Dir: src.Dir, Stage: stage, Config: config})
	if err != nil {
		return nil, err
	}
	return s.Graph, nil
}

// ReadGraph reads a graph document. It says its stage itself; asking for another one is a mistake.
func (l *Loader) ReadGraph(src *Source, stage string, config map[string]string) (*engine.Graph, error) {
	g, err := engine.ReadGraph(src.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Place(src.File()), err)
	}
	g.Dir = src.Dir
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

// LoadYAML reads a stack from YAML. What it asks for is allowed when it returns, also by files that it includes; while
// files that lie outside are not allowed, nothing of them is read.
func (l *Loader) LoadYAML(ctx context.Context, in yamlstack.Input) (*yamlstack.Stack, error) {
	in.Permit = func(s yamlstack.Section) error {
		return l.Permit(ctx, grants.Document{Sections: []grants.Section{grants.Section(s)}})
	}
	for {
		s, err := yamlstack.Load(l.Granted.Within(ctx), l.Catalog, in)
		if err != nil && !s.Unread() || l.Granted == nil {
			return s, err
		}
		if err := l.Permit(ctx, DocumentOf(s)); err != nil || !s.Unread() {
			if err != nil {
				s.Graph = nil
			}
			return s, err
		}
	}
}

// DocumentOf is what is known of a stack that was read from YAML.
func DocumentOf(s *yamlstack.Stack) grants.Document {
	d := grants.Document{Graph: s.Declared, Refs: s.Stores}
	for _, section := range s.Sections {
		d.Sections = append(d.Sections, grants.Section(section))
	}
	for _, o := range s.Outside {
		d.Outside = append(d.Outside, grants.Ask{Kind: grants.Path, Value: o.Path, Place: o.Place})
	}
	return d
}

// Name is how this command is called.
func (l *Loader) Name() string {
	if l.Program == nil {
		return "athanor"
	}
	return filepath.Base(os.Args[0])
}
