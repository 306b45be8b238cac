package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/cmd/devloop"
	"github.com/athanor-dev/athanor/cmd/internal/watch"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/engine"
)

// againVariable tells a program that it takes the place of an older one in a dev session.
const againVariable = "ATHANOR_DEV_AGAIN"

// goProgram is a Go program: this process's own, or one that this process builds. Its newest source is built and
// evaluated in children.
type goProgram struct {
	app  *app
	eval evaluation
	// own: the program is that of this process; kinds: with kinds of its own.
	own, kinds bool
	loaded     bool
	sources    watch.Set
}

// Load implements [devloop.Source].
func (p *goProgram) Load(ctx context.Context, found func(watch.Set)) (devloop.Loaded, error) {
	listed := make(chan watch.Set, 1)
	go func() {
		set := watch.Set(asset.GoSources(ctx, p.eval.Dir, "."))
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
		g, err = p.app.evaluate(ctx, p.eval)
		return g, 0, err
	}
	began := time.Now()
	binary, err := p.app.build(ctx, p.eval.Dir)
	compiled = time.Since(began)
	if err != nil {
		return nil, compiled, err
	}
	g, kinds, err := p.inChildren(ctx, binary)
	if err != nil {
		return nil, compiled, err
	}
	if kinds || p.kinds || len(g.Program) > 0 || !p.knows(g) {
		return nil, compiled, &devloop.HandOver{Binary: binary}
	}
	return g, compiled, nil
}

// knows reports that this process has all kinds of a graph.
func (p *goProgram) knows(g *engine.Graph) bool {
	for i := range g.Resources {
		if _, ok := p.app.catalog.Kind(g.Resources[i].Kind); !ok {
			return false
		}
	}
	return true
}

// answerDocument is how a program that was built answers a dev session: a graph, or what is wrong.
type answerDocument struct {
	Graph    json.RawMessage  `json:"graph,omitempty"`
	Problems []render.Problem `json:"problems,omitempty"`
	// Kinds: the program has kinds of its own.
	Kinds bool `json:"kinds,omitempty"`
}

// inChildren evaluates a program twice, with differently spelt references, and compares.
func (p *goProgram) inChildren(ctx context.Context, binary string) (*engine.Graph, bool, error) {
	type answer struct {
		graph *engine.Graph
		kinds bool
		err   error
	}
	evaluate := func(spelling athanor.Spelling) (a answer) {
		e := p.eval
		e.Dev, e.Spelling = true, spelling
		cmd := exec.CommandContext(ctx, binary)
		cmd.Env = []string{dirVariable + "=" + p.eval.Dir}
		if spelling == athanor.Plain {
			cmd.Stdout = p.app.err
		}
		data, err := answerOf(cmd, e)
		if err != nil {
			return answer{err: err}
		}
		a.graph, a.kinds, a.err = readAnswer(data)
		if a.graph != nil {
			a.graph.Dir = p.eval.Dir
		}
		return a
	}
	second := make(chan answer, 1)
	go func() { second <- evaluate(athanor.Shifted) }()
	first := evaluate(athanor.Plain)
	other := <-second
	switch {
	case first.err != nil:
		return nil, false, first.err
	case other.err != nil:
		return nil, false, fmt.Errorf("%w: %w", errNoSecondEvaluation, other.err)
	}
	return first.graph, first.kinds, athanor.Check(first.graph, other.graph)
}

func readAnswer(data []byte) (*engine.Graph, bool, error) {
	var doc answerDocument
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, false, fmt.Errorf("the program's answer: %w", err)
	}
	if len(doc.Problems) == 0 {
		g, err := engine.ReadGraph(doc.Graph)
		return g, doc.Kinds, err
	}
	bad := &engine.GraphError{}
	for _, p := range doc.Problems {
		err := errors.New(p.Error)
		for _, h := range p.Hints {
			err = hint(err, h)
		}
		bad.Problems = append(bad.Problems, engine.Problem{Address: p.Address, Source: p.Source, Err: err})
	}
	return nil, false, bad
}

// writeForDev answers a dev session, in the child.
func (p *program) writeForDev(e evaluation) error {
	if e.Stack == "" {
		e.Stack = p.name
	}
	doc := answerDocument{Kinds: len(p.kinds) > 0}
	g, err := p.evaluate(e, e.Spelling, false)
	switch {
	case err == nil:
		if doc.Graph, err = json.Marshal(g); err != nil {
			return err
		}
	case len(render.Problems(err)) > 0:
		doc.Problems = render.Errors{}.Lines(err)
	default:
		doc.Problems = []render.Problem{{Error: err.Error(), Hints: render.Hints(err)}}
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return os.WriteFile(e.Answer, data, 0o600)
}
