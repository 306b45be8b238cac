package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/internal/watch"
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

func (p *goProgram) load(ctx context.Context) (*engine.Graph, error) {
	listed := make(chan watch.Set, 1)
	go func() { listed <- goSources(ctx, p.eval.Dir) }()
	g, err := p.evaluate(ctx)
	now := <-listed
	if err != nil {
		now = now.Join(p.sources) // what is broken may hide what it imports
	}
	p.sources = now
	return g, err
}

func (p *goProgram) set() watch.Set { return p.sources }

// evaluate evaluates this process's own program the first time, and from then on the one that its source is now.
func (p *goProgram) evaluate(ctx context.Context) (*engine.Graph, error) {
	if p.own && !p.loaded {
		p.loaded = true
		return p.app.evaluate(ctx, p.eval)
	}
	binary, err := p.app.build(ctx, p.eval.Dir)
	if err != nil {
		return nil, err
	}
	g, kinds, err := p.inChildren(ctx, binary)
	if err != nil {
		return nil, err
	}
	if kinds || p.kinds || len(g.Program) > 0 || !p.knows(g) {
		return nil, &handOver{binary}
	}
	return g, nil
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
	Graph    json.RawMessage `json:"graph,omitempty"`
	Problems []problem       `json:"problems,omitempty"`
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
	case len(problemsOf(err)) > 0:
		doc.Problems = (&app{}).jsonProblems(err)
	default:
		doc.Problems = []problem{{Error: err.Error(), Hints: hintsOf(err)}}
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return os.WriteFile(e.Answer, data, 0o600)
}

// listedPackage is what the go command tells of a package.
type listedPackage struct {
	Dir           string
	Standard      bool
	EmbedPatterns []string
	EmbedFiles    []string
	Module        *struct {
		Main    bool
		GoMod   string
		Version string
		Replace *struct{ Version string }
	}
}

// goSources is what a program is made of: its package, those that it imports of this module and of others that lie on this
// machine, what they embed, and the files that say which modules there are. What cannot be told is left out.
func goSources(ctx context.Context, dir string) watch.Set {
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-deps", "-json=Dir,Standard,EmbedPatterns,EmbedFiles,Module", ".")
	cmd.Dir = dir
	set := watch.Set{Packages: []string{dir}}
	out, _ := cmd.Output() // with -e it tells what it can
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if dec.Decode(&p) != nil {
			break
		}
		if p.Standard || p.Dir == "" || p.Module == nil || p.Module.Version != "" && (p.Module.Replace == nil || p.Module.Replace.Version != "") {
			continue
		}
		set.Packages = append(set.Packages, p.Dir)
		if mod := p.Module.GoMod; mod != "" {
			set.Files = append(set.Files, mod, strings.TrimSuffix(mod, ".mod")+".sum", filepath.Join(filepath.Dir(mod), "go.work"))
		}
		for _, f := range p.EmbedFiles {
			set.Files = append(set.Files, filepath.Join(p.Dir, filepath.FromSlash(f)))
		}
		for _, pattern := range p.EmbedPatterns {
			if root := embedRoot(pattern); root != "" {
				set.Trees = append(set.Trees, filepath.Join(p.Dir, filepath.FromSlash(root)))
			}
		}
	}
	return watch.Set{}.Join(set)
}

// embedRoot is the folder or file that an embedding pattern is about, "" for the package's own folder: much may lie there
// that is not embedded, so that of it only the files that are there count.
func embedRoot(pattern string) string {
	pattern = strings.TrimPrefix(pattern, "all:")
	i := strings.IndexAny(pattern, "*?[")
	if i < 0 {
		return pattern
	}
	return strings.TrimSuffix(pattern[:strings.LastIndexByte(pattern[:i], '/')+1], "/")
}
