package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/athanor-dev/athanor/cmd/internal/watch"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/engine"
)

// devProgram is what a dev session evaluates again and again.
type devProgram interface {
	// load evaluates the newest source. The error may be a *handOver.
	load(ctx context.Context) (*engine.Graph, error)
	// set is what the program itself is made of, as far as the last load could tell; there after one that failed, too.
	set() watch.Set
}

// handOver says that the new program cannot be a child: it must take the place of this process.
type handOver struct{ binary string }

func (h *handOver) Error() string { return "the new program takes over: " + h.binary }

// devProgram finds out how the target of a session is evaluated.
func (a *app) devProgram(s *session, src *source) (devProgram, error) {
	e := evaluation{Stage: s.stage.Name, Dir: src.dir, Config: s.config}
	switch {
	case src.stdin:
		return nil, hint(errors.New("target -: standard input cannot be watched"), "athanor dev FILE")
	case src.plan != nil:
		return nil, hint(fmt.Errorf("%s is a saved plan", src.name()), "dev plans by itself: name the program")
	case src.self:
		e.Stack = a.program.name
		return &goProgram{app: a, eval: e, own: true, kinds: len(a.program.kinds) > 0}, nil
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
	eval  evaluation
	files []string
}

func (p *yamlProgram) load(context.Context) (*engine.Graph, error) {
	s, err := yamlstack.Load(p.app.catalog, yamlstack.Input{
		Path: p.src.file(), Dir: p.eval.Dir, Stage: p.eval.Stage, Config: p.eval.Config,
	})
	files := append(s.Files, s.Missing...)
	if err != nil {
		files = append(files, p.files...) // what is broken may hide what it includes
	}
	p.files = files
	return s.Graph, err
}

func (p *yamlProgram) set() watch.Set { return watch.Set{}.Join(watch.Set{Files: p.files}) }

// graphProgram is a graph document.
type graphProgram struct {
	app   *app
	src   *source
	stage string
}

func (p *graphProgram) load(context.Context) (*engine.Graph, error) {
	data, err := os.ReadFile(p.src.file())
	if err != nil {
		return nil, err
	}
	src := *p.src
	src.data = data
	return p.app.readGraph(&src, p.stage, nil)
}

func (p *graphProgram) set() watch.Set { return watch.Set{Files: []string{p.src.file()}} }

// load evaluates the newest program, watches what it is made of, and makes sure that it is still the same stack.
func (d *dev) load(ctx context.Context) error {
	began := time.Now()
	d.loaded = began
	g, err := d.program.load(ctx)
	if err == nil && d.s.stage.Stack != "" && g.Stack != d.s.stage.Stack {
		err = hint(fmt.Errorf("the stack is called %s now, and was %s", g.Stack, d.s.stage.Stack), "end dev and start it again: that is another stack")
	}
	if err == nil {
		d.graph = g
		d.emit(devLine{Type: devBuilt, Elapsed: time.Since(began).Seconds()})
	}
	return errors.Join(err, d.watch(began))
}

// watch watches all that the stack is made of. What is new in it and was written since it was read counts as changed.
func (d *dev) watch(since time.Time) error {
	set := d.program.set()
	if d.graph != nil {
		set = set.Join(watch.Set{Files: d.secretFiles()})
	}
	d.made = set
	if d.s.engine != nil {
		set = set.Join(watch.Set{Trees: d.s.engine.Warm.Sources()})
	}
	if err := d.watcher.Watch(set, since); err != nil {
		return err
	}
	if n := len(set.Files) + len(set.Packages) + len(set.Trees); n != d.watched {
		d.watched = n
		d.emit(devLine{Type: devWatching, Count: n, Folders: d.watcher.Count()})
	}
	return nil
}

// secretFiles are the files that secrets are read from.
func (d *dev) secretFiles() []string {
	var files []string
	for _, s := range d.graph.Secrets {
		switch {
		case s.File != "" && filepath.IsAbs(s.File):
			files = append(files, s.File)
		case s.File != "":
			files = append(files, filepath.Join(d.graph.Dir, s.File))
		case s.Sealed && d.s.stage.Stack != "":
			if sealed, err := keyPlace(d.s.stage, d.graph.Dir).Secrets(); err == nil {
				files = append(files, sealed.Path)
			}
		}
	}
	return files
}
