// Package stackprogram is what a stack program links where somebody else is the command: it answers what the program
// declares, and runs its functions. Package cmd holds the side that asks.
package stackprogram

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// The variables by which a program is asked: for what it is evaluated, as JSON, and where its package lies.
const (
	QuestionVariable = "ATHANOR_EVALUATE"
	DirVariable      = "ATHANOR_DIR"
)

// Program is a stack program.
type Program struct {
	Declare athanor.Program
	// Name is that of the stack, Dir where the program's package lies.
	Name, Dir string
	// OwnKinds: it has kinds that no other program knows.
	OwnKinds bool
}

// Option changes what Main makes of a program.
type Option func(*Program)

// Stack names the stack. The default is the name of the program's directory.
func Stack(name string) Option { return func(p *Program) { p.Name = name } }

// Main answers the command that has started this program, and does not return.
func Main(declare athanor.Program, options ...Option) {
	_, file, _, _ := runtime.Caller(1)
	p := New(declare, file)
	for _, o := range options {
		o(p)
	}
	question := Asked()
	if question == "" {
		fmt.Fprintln(os.Stderr, "error: this program was built to be asked by athanor\nhint: athanor deploy, or go run . deploy")
		os.Exit(1)
	}
	os.Exit(p.Answer(question))
}

// New is a program whose package has this file. Where it lies says who started it, else the folder of that file, else the
// working directory.
func New(declare athanor.Program, file string) *Program {
	dir := os.Getenv(DirVariable)
	if _, err := os.Stat(file); dir == "" && err == nil && filepath.IsAbs(file) {
		dir = filepath.Dir(file)
	}
	if dir == "" {
		dir = "."
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
	}
	return &Program{Declare: declare, Name: filepath.Base(dir), Dir: dir}
}

// Asked is what this program is asked, "" when it is the command. It is asked once: what it starts may be a stack program
// too, and is another one.
func Asked() string {
	question := os.Getenv(QuestionVariable)
	for _, name := range []string{QuestionVariable, DirVariable} {
		if err := os.Unsetenv(name); err != nil {
			fmt.Fprintln(os.Stderr, "warning:", err)
		}
	}
	return question
}

// Question is what a program is evaluated for.
type Question struct {
	Protocol int
	// Stack is its name, "" for the program's own.
	Stack, Stage, Dir string
	Config            map[string]string
	Spelling          athanor.Spelling
	// File is where the answer goes.
	File string
	// NameOnly: the program is not evaluated.
	NameOnly bool
	// Pipes: the program has the two of its caller, see [Ask]. It ends with its caller, and runs its functions until then.
	Pipes bool
}

// Protocol is the version of questions, answers and calls.
const Protocol = 1

// Answer is how a program answers: with a graph, or with what is wrong.
type Answer struct {
	Protocol int             `json:"protocol"`
	Stack    string          `json:"stack"`
	Graph    json.RawMessage `json:"graph,omitempty"`
	Problems []Problem       `json:"problems,omitempty"`
	// OwnKinds: the program has kinds of its own.
	OwnKinds bool `json:"ownKinds,omitempty"`
	// Schemas are digests of the schemas of the kinds that it names with Go types.
	Schemas map[string]string `json:"schemas,omitempty"`
	// Then, Hooks and Policies are the functions: ids, and how many.
	Then     []string `json:"then,omitempty"`
	Hooks    []string `json:"hooks,omitempty"`
	Policies int      `json:"policies,omitempty"`
}

// HasFunctions reports whether the program has functions that are called later.
func (a *Answer) HasFunctions() bool { return len(a.Then)+len(a.Hooks)+a.Policies > 0 }

// Problem is an error as the pipes carry it.
type Problem struct {
	Address string   `json:"address,omitempty"`
	Source  string   `json:"source,omitempty"`
	Text    string   `json:"text"`
	Hints   []string `json:"hints,omitempty"`
}

// Err is the error of a problem.
func (p Problem) Err() error {
	err := errors.New(p.Text)
	for _, h := range p.Hints {
		err = reconcile.WithHint(err, "%s", h)
	}
	return err
}

func problem(err error) Problem { return Problem{Text: err.Error(), Hints: reconcile.Hints(err)} }

// problems are the single problems of an error.
func problems(err error) []Problem {
	graph, ok := errors.AsType[*engine.GraphError](err)
	if !ok {
		return []Problem{problem(err)}
	}
	var list []Problem
	for _, p := range graph.Problems {
		one := problem(p.Err)
		one.Address, one.Source = p.Address, p.Source
		list = append(list, one)
	}
	return list
}

// Evaluate runs the program once.
func (p *Program) Evaluate(q Question) (*engine.Graph, error) {
	g, _, err := p.evaluate(q)
	return g, err
}

func (p *Program) evaluate(q Question) (*engine.Graph, map[string]string, error) {
	types := map[string][2]reflect.Type{}
	g, err := athanor.Evaluate(p.Declare, athanor.Input{
		Stack: q.Stack, Stage: q.Stage, Dir: q.Dir, Config: q.Config, Spelling: q.Spelling,
		Types: func(kind string, props, attributes reflect.Type) { types[kind] = [2]reflect.Type{props, attributes} },
	})
	if err != nil {
		return nil, nil, err
	}
	schemas := map[string]string{}
	for kind, of := range types {
		p, badProps := props.Fields(of[0], nil)
		a, badAttributes := props.Fields(of[1], nil)
		schemas[kind] = ""
		if badProps == nil && badAttributes == nil {
			schemas[kind] = Schema(p, a)
		}
	}
	return g, schemas, nil
}

// Schema is the digest of a kind's schema: what its props and attributes are called, hold and accept, without their
// documentation.
func Schema(props, attributes []props.Field) string {
	data, err := json.Marshal([2]any{props, attributes})
	if err != nil {
		return "" // fields are plain data
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Answer answers a question and gives the exit code.
func (p *Program) Answer(question string) int {
	var q Question
	err := json.Unmarshal([]byte(question), &q)
	if err == nil {
		err = p.answer(q)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (p *Program) answer(q Question) error {
	var s *server
	if q.Pipes {
		s = serve()
	}
	if q.Stack == "" {
		q.Stack = p.Name
	}
	a, funcs, err := p.evaluation(q)
	if err != nil {
		return err
	}
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := os.WriteFile(q.File, data, 0o600); err != nil {
		return err
	}
	if s == nil || !a.HasFunctions() {
		return nil
	}
	return s.run(funcs)
}

// Evaluation is the answer to a question.
func (p *Program) Evaluation(q Question) (*Answer, error) {
	a, _, err := p.evaluation(q)
	return a, err
}

func (p *Program) evaluation(q Question) (*Answer, engine.Funcs, error) {
	a := &Answer{Protocol: Protocol, Stack: q.Stack, OwnKinds: p.OwnKinds}
	if q.NameOnly {
		return a, engine.Funcs{}, nil
	}
	g, schemas, err := p.evaluate(q)
	if err != nil {
		a.Problems = problems(err)
		return a, engine.Funcs{}, nil
	}
	f := g.Funcs
	a.Schemas, a.Then, a.Hooks, a.Policies = schemas, slices.Sorted(maps.Keys(f.Then)), slices.Sorted(maps.Keys(f.Hooks)), len(f.Policies)
	a.Graph, err = json.Marshal(g)
	return a, f, err
}

// errNoStack is the error about a program that is none of ours.
var errNoStack = errors.New("the program ended without an answer: it declares no stack")

// readAnswer reads an answer. Of one in another protocol it tells the protocol alone.
func readAnswer(file io.Reader) (*Answer, error) {
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, reconcile.WithHint(errNoStack, "its main must call cmd.Main; `athanor init DIRECTORY --go` writes a program that does")
	}
	var probe struct{ Protocol int }
	err = json.Unmarshal(data, &probe)
	a := &Answer{Protocol: probe.Protocol}
	if err == nil && probe.Protocol == Protocol {
		err = json.Unmarshal(data, a)
	}
	if err != nil {
		return nil, fmt.Errorf("the program's answer: %w", err)
	}
	return a, nil
}
