package devsession

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/devloop"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/session"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/watch"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/cmd/stackprogram"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// programOf finds out how the target of a session is evaluated.
func programOf(l *loader.Loader, s *session.Session, src *loader.Source) (devloop.Source, error) {
	e := stackprogram.Question{Stage: s.Stage.Name, Dir: src.Dir, Config: s.Config}
	switch {
	case src.Stdin:
		return nil, cli.Hint(errors.New("target -: standard input cannot be watched"), "athanor dev FILE")
	case src.Plan != nil:
		return nil, cli.Hint(fmt.Errorf("%s is a saved plan", src.Name()), "dev plans by itself: name the program")
	case src.Self:
		e.Stack = l.Program.Name
		return &goProgram{loader: l, eval: e, own: true}, nil
	case src.GoMain:
		return &goProgram{loader: l, eval: e}, nil
	case src.Graph:
		return &graphProgram{l, src, s.Stage.Name}, nil
	}
	return &yamlProgram{loader: l, src: src, eval: e}, nil
}

// yamlProgram is a YAML file with what it includes.
type yamlProgram struct {
	loader *loader.Loader
	src    *loader.Source
	eval   stackprogram.Question
	files  []string
}

// Load implements [devloop.Source].
func (p *yamlProgram) Load(ctx context.Context, _ func(watch.Set)) (devloop.Loaded, error) {
	s, err := p.loader.LoadYAML(ctx, yamlstack.Input{
		Path: p.src.File(), Dir: p.eval.Dir, Stage: p.eval.Stage, Config: p.eval.Config,
	})
	files := append(s.Files, s.Missing...)
	if err != nil {
		files = append(files, p.files...) // what is broken may hide what it includes
	}
	p.files = files
	return devloop.Loaded{Graph: s.Graph, Sources: watch.Set{}.Join(watch.Set{Files: files})}, err
}

// graphProgram is a graph document.
type graphProgram struct {
	loader *loader.Loader
	src    *loader.Source
	stage  string
}

// Load implements [devloop.Source].
func (p *graphProgram) Load(ctx context.Context, _ func(watch.Set)) (devloop.Loaded, error) {
	e := devloop.Loaded{Sources: watch.Set{Files: []string{p.src.File()}}}
	data, err := localfile.ReadAtMost(ctx, p.src.File(), loader.MaxInput)
	if err != nil {
		return e, err
	}
	src := *p.src
	src.Data = data
	if e.Graph, err = p.loader.ReadGraph(&src, p.stage, nil); err == nil {
		err = p.loader.Permit(ctx, grants.Document{Graph: e.Graph})
	}
	return e, err
}

// secretFiles are the files that secrets are read from.
func (d *dev) secretFiles(g *engine.Graph) []string {
	var files []string
	for _, s := range g.Secrets {
		switch {
		case s.File != "" && filepath.IsAbs(s.File):
			files = append(files, s.File)
		case s.File != "":
			files = append(files, filepath.Join(g.Dir, s.File))
		case s.Sealed && d.s.Stage.Stack != "":
			files = append(files, seal.SecretsPath(seal.Place{Beside: []string{g.Dir}, Stack: d.s.Stage.Stack, Stage: d.s.Stage.Name}))
		}
	}
	return files
}

// newDev makes what a dev session has of its objects, which print to l. The caller closes it.
func newDev(p *project.Project, l *terminal.Lines) *reconcile.Dev {
	return &reconcile.Dev{Dir: filepath.Join(p.Root, ".athanor", "dev"), Output: l.Line}
}

// AgainVariable tells a program that it takes the place of an older one in a dev session.
const AgainVariable = "ATHANOR_DEV_AGAIN"

// goProgram is a Go program: this process's own, or one that this process builds. Its newest source is built and
// evaluated in children.
type goProgram struct {
	loader *loader.Loader
	eval   stackprogram.Question
	// own: the program is that of this process.
	own, loaded bool
	sources     watch.Set
}

// Load implements [devloop.Source].
func (p *goProgram) Load(ctx context.Context, found func(watch.Set)) (devloop.Loaded, error) {
	listed := make(chan watch.Set, 1)
	go func() {
		sources := asset.GoSources(ctx, p.eval.Dir, ".")
		set := watch.Set{Files: sources.Files, Packages: sources.Packages, Trees: sources.Trees}
		found(set)
		listed <- set
	}()
	var e devloop.Loaded
	var err error
	e.Graph, e.Compiled, err = p.evaluate(ctx)
	e.Sources = <-listed
	if err != nil {
		e.Sources = e.Sources.Join(p.sources) // what is broken may hide what it imports
	}
	p.sources = e.Sources
	return e, err
}

// evaluate evaluates this process's own program the first time, and from then on the one that its source is now. It tells
// how long the compiler took.
func (p *goProgram) evaluate(ctx context.Context) (g *engine.Graph, compiled time.Duration, err error) {
	if p.own && !p.loaded {
		p.loaded = true
		g, err = p.loader.Evaluate(ctx, p.eval)
		return g, 0, err
	}
	began := time.Now()
	binary, err := p.loader.BuildLight(ctx, p.eval.Dir)
	compiled = time.Since(began)
	if binary != "" {
		g, err = p.loader.InChildren(ctx, binary, p.eval, p.loader.Err, nil)
		if _, must := errors.AsType[*loader.CommandError](err); !must {
			return g, compiled, err
		}
	}
	if err == nil || binary != "" {
		binary, err = p.loader.Build(ctx, p.eval.Dir)
		compiled = time.Since(began)
	}
	if err != nil {
		return nil, compiled, err
	}
	g, err = p.loader.InChildren(ctx, binary, p.eval, p.loader.Err, nil)
	if _, must := errors.AsType[*loader.CommandError](err); must {
		return nil, compiled, &devloop.HandOver{Binary: binary}
	}
	return g, compiled, err
}
