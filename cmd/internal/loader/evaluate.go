package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/render"
	"github.com/athanor-dev/athanor/cmd/stackprogram"
	"github.com/athanor-dev/athanor/engine"
)

var errNoSecondEvaluation = errors.New("the program cannot be evaluated a second time")

// Evaluate runs this process's own program twice, with differently spelt tokens, the second time in a process of its own
// whose output is discarded, and compares.
func (l *Loader) Evaluate(ctx context.Context, q stackprogram.Question) (*engine.Graph, error) {
	l.EndFirstLine() // the program may print
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// The child goes first: a panic in a goroutine, and os.Exit, end the process that they are in, and only another one can say so.
	stop := render.Evaluating(l.Screen(l.Err), q.Dir)
	other := <-secondEvaluation(ctx, self, q)
	stop()
	if other.ended {
		return nil, other.err
	}
	first, err := diverted(l.Program, q, l.AsJSON)
	if err != nil {
		return nil, err
	}
	if other.err != nil {
		return nil, cli.Hint(notAgain(other.err), "it must do the same whenever it runs, whatever the letters of a reference are")
	}
	if err := athanor.Check(first, other.graph); err != nil {
		return nil, err
	}
	return first, nil
}

// diverted runs the program once. With divert, what it prints goes to standard error, so that standard output stays the
// command's own.
func diverted(p *stackprogram.Program, q stackprogram.Question, divert bool) (*engine.Graph, error) {
	if divert {
		out := os.Stdout
		os.Stdout = os.Stderr
		defer func() { os.Stdout = out }()
	}
	return p.Evaluate(q)
}

// evaluated is the end of an evaluation.
type evaluated struct {
	graph *engine.Graph
	err   error
	// ended: the program ended, or could not be asked, before it had declared its stack.
	ended bool
}

// notAgain says of an error that it is that of the second evaluation.
func notAgain(err error) error { return fmt.Errorf("%w: %w", errNoSecondEvaluation, err) }

// secondEvaluation evaluates a program in a child, with the other spelling of references.
func secondEvaluation(ctx context.Context, binary string, q stackprogram.Question) <-chan evaluated {
	end := make(chan evaluated, 1)
	q.Spelling = athanor.Shifted
	go func() {
		answer, _, err := stackprogram.Ask(ctx, exec.Command(binary), q)
		e := evaluated{err: err, ended: err != nil}
		if !e.ended {
			e.graph, e.err = graphOf(answer)
		}
		end <- e
	}()
	return end
}

// graphOf is the graph of an answer, or what is wrong with the program.
func graphOf(answer *stackprogram.Answer) (*engine.Graph, error) {
	if len(answer.Problems) == 0 {
		return engine.ReadGraph(answer.Graph)
	}
	bad := &engine.GraphError{}
	for _, p := range answer.Problems {
		bad.Problems = append(bad.Problems, engine.Problem{Address: p.Address, Source: p.Source, Err: p.Err()})
	}
	return nil, bad
}

// CommandError says that a Go program must be the command, and why; "" where that is as it should be.
type CommandError struct{ why string }

func (e *CommandError) Error() string { return cmp.Or(e.why, "the program is the command") }

// declared builds a Go program for its graph, and evaluates it. One that must be the command is a [*commandError].
func (l *Loader) declared(ctx context.Context, q stackprogram.Question) (*engine.Graph, error) {
	binary, err := l.BuildLight(ctx, q.Dir)
	if err != nil {
		return nil, err
	}
	if binary == "" {
		return nil, &CommandError{}
	}
	out, errs := os.Stdout, os.Stderr
	if l.AsJSON {
		out = errs
	}
	return l.InChildren(ctx, binary, q, out, errs)
}

// StackName is the name of the stack that a Go program declares; the program is not evaluated.
func (l *Loader) StackName(ctx context.Context, src *Source) (string, error) {
	binary, err := l.BuildLight(ctx, src.Dir)
	if err != nil {
		return "", err
	}
	if binary == "" {
		return "", &CommandError{}
	}
	return nameOf(ctx, l.Screen(l.Err), binary, src.Dir)
}

// nameOf asks a program for the name of its stack.
func nameOf(ctx context.Context, screen render.Screen, binary, dir string) (string, error) {
	defer render.Evaluating(screen, dir)()
	answer, _, err := stackprogram.Ask(ctx, exec.Command(binary), stackprogram.Question{Dir: dir, NameOnly: true})
	if err != nil {
		return "", err
	}
	return answer.Stack, nil
}

// InChildren evaluates a program twice, in children with differently spelt references, and compares. The first one stays
// when the program has functions, and runs them. What that one prints goes to out, and what it says of errors to errs, or
// into the error when that is nil.
func (l *Loader) InChildren(ctx context.Context, binary string, q stackprogram.Question, out, errs io.Writer) (*engine.Graph, error) {
	defer render.Evaluating(l.Screen(l.Err), q.Dir)()
	second := secondEvaluation(ctx, binary, q)
	cmd := exec.Command(binary)
	cmd.Stdout, cmd.Stderr = out, errs
	q.Pipes = true
	answer, child, err := stackprogram.Ask(ctx, cmd, q)
	l.running.Lock()
	l.children = append(slices.DeleteFunc(l.children, func(c *stackprogram.Child) bool { return !c.Runs() }), child)
	l.running.Unlock()
	other := <-second
	if err != nil {
		return nil, err
	}
	if why, must := l.mustBeCommand(answer, child); must {
		return nil, errors.Join(&CommandError{why}, child.Close())
	}
	g, err := graphOf(answer)
	switch {
	case err != nil:
		return nil, err
	case other.err != nil:
		return nil, notAgain(other.err)
	}
	g.Dir = q.Dir
	if child != nil {
		g.Funcs = child.Functions(answer)
	}
	return g, athanor.Check(g, other.graph)
}

// mustBeCommand reports whether this process cannot do what a program declares, and why when that is not the program's own
// kinds.
func (l *Loader) mustBeCommand(answer *stackprogram.Answer, child *stackprogram.Child) (why string, must bool) {
	if answer.Protocol != stackprogram.Protocol {
		return "the program is of another release of athanor", true
	}
	if answer.OwnKinds || answer.HasFunctions() && child == nil {
		return "", true
	}
	for _, kind := range slices.Sorted(maps.Keys(answer.Schemas)) {
		k, known := l.Catalog.Kind(kind)
		if !known {
			return "", true // the program itself says so, or knows it
		}
		p, attributes, err := k.Spec().Shape()
		if err != nil || stackprogram.Schema(p, attributes) != answer.Schemas[kind] {
			return fmt.Sprintf("the program is of another release of athanor, where %s differs", kind), true
		}
	}
	return "", false
}

// EndChildren ends the programs whose functions are called. Those of a process that has ended end by themselves.
func (l *Loader) EndChildren() error {
	l.running.Lock()
	defer l.running.Unlock()
	var errs []error
	for _, c := range l.children {
		errs = append(errs, c.Close())
	}
	l.children = nil
	return errors.Join(errs...)
}
