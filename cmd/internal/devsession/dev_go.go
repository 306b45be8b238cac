package devsession

import (
	"context"
	"errors"
	"time"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/cmd/devloop"
	"github.com/athanor-dev/athanor/cmd/internal/loader"
	"github.com/athanor-dev/athanor/cmd/internal/watch"
	"github.com/athanor-dev/athanor/cmd/stackprogram"
	"github.com/athanor-dev/athanor/engine"
)

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
