package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/devloop"
	"github.com/athanor-dev/athanor/cmd/internal/grants"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/cmd/internal/terminal"
	"github.com/athanor-dev/athanor/cmd/internal/watch"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/cmd/stackprogram"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// devProgram finds out how the target of a session is evaluated.
func (a *app) devProgram(s *session, src *source) (devloop.Source, error) {
	e := stackprogram.Question{Stage: s.stage.Name, Dir: src.dir, Config: s.config}
	switch {
	case src.stdin:
		return nil, cli.Hint(errors.New("target -: standard input cannot be watched"), "athanor dev FILE")
	case src.plan != nil:
		return nil, cli.Hint(fmt.Errorf("%s is a saved plan", src.name()), "dev plans by itself: name the program")
	case src.self:
		e.Stack = a.program.Name
		return &goProgram{app: a, eval: e, own: true}, nil
	case src.goMain:
		return &goProgram{app: a, eval: e}, nil
	case src.graph:
		return &graphProgram{a, src, s.stage.Name}, nil
	}
	return &yamlProgram{app: a, src: src, eval: e}, nil
}

// yamlProgram is a YAML file with what it includes.
type yamlProgram struct {
	app   *app
	src   *source
	eval  stackprogram.Question
	files []string
}

// Load implements [devloop.Source].
func (p *yamlProgram) Load(ctx context.Context, _ func(watch.Set)) (devloop.Loaded, error) {
	s, err := p.app.loadYAML(ctx, yamlstack.Input{
		Path: p.src.file(), Dir: p.eval.Dir, Stage: p.eval.Stage, Config: p.eval.Config,
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
	app   *app
	src   *source
	stage string
}

// Load implements [devloop.Source].
func (p *graphProgram) Load(ctx context.Context, _ func(watch.Set)) (devloop.Loaded, error) {
	e := devloop.Loaded{Sources: watch.Set{Files: []string{p.src.file()}}}
	data, err := localfile.ReadAtMost(ctx, p.src.file(), maxInput)
	if err != nil {
		return e, err
	}
	src := *p.src
	src.data = data
	if e.Graph, err = p.app.readGraph(&src, p.stage, nil); err == nil {
		err = p.app.permit(ctx, grants.Document{Graph: e.Graph})
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
		case s.Sealed && d.s.stage.Stack != "":
			files = append(files, seal.SecretsPath(seal.Place{Beside: []string{g.Dir}, Stack: d.s.stage.Stack, Stage: d.s.stage.Name}))
		}
	}
	return files
}

// newDev makes what a dev session has of its objects, which print to l. The caller closes it.
func newDev(p *project.Project, l *terminal.Lines) *reconcile.Dev {
	return &reconcile.Dev{Dir: filepath.Join(p.Root, ".athanor", "dev"), Output: l.Line}
}
