package athanor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// Program declares a stack. It runs more than once, so it must do the same each time: no clock, no randomness,
// nothing that depends on who runs it but its config.
type Program = func(*Stack) error

// Spelling is how tokens are written. A program is evaluated once with each spelling, see [Check].
type Spelling = token.Spelling

// The spellings.
const (
	Plain   = token.Plain
	Shifted = token.Shifted
)

// Input is what a program is evaluated with.
type Input struct {
	// Stack and Stage name what is deployed.
	Stack, Stage string
	// Dir is the stack's directory, absolute; places of the program are shown as seen from there.
	Dir string
	// Config are the values given with --config.
	Config map[string]string
	// Spelling of tokens; Plain by default.
	Spelling Spelling
	// At returns the place that is being read of a program in another language than Go. Nil: the line of Go that runs.
	At func() string
	// Types is told the Go types of the props and the attributes of each kind that the program names; nil where nobody asks.
	Types func(kind string, props, attributes reflect.Type)
}

// Evaluate runs a program and gives the graph of what it declares, in the order of addresses. The error is an
// *engine.GraphError with every mistake in it.
func Evaluate(program Program, in Input) (*engine.Graph, error) {
	e := &evaluation{
		in: in, files: fileNames{in.Dir, in.At},
		declared: map[string]entry{}, forgotten: map[string]string{}, outputs: map[string]string{}, config: map[string]configEntry{},
		graph: &engine.Graph{
			Format: engine.GraphFormat, Stack: in.Stack, Stage: in.Stage, Dir: in.Dir,
			Resources: []engine.Resource{},
			Config:    map[string]any{}, Secrets: map[string]SecretSource{}, Outputs: map[string]any{},
			Funcs: engine.Funcs{Then: map[string]func(any) (any, error){}, Hooks: map[string]func(context.Context, HookInfo) error{}},
		},
	}
	if err := CheckStack(in.Stack); err != nil {
		e.failAt("", "", err)
	}
	e.declares(program)
	if len(e.problems) > 0 {
		return nil, &engine.GraphError{Problems: e.problems}
	}
	return e.graph, nil
}

// finish makes the graph of what was collected.
func (e *evaluation) finish() {
	g := e.graph
	e.bind()
	for a, at := range e.forgotten {
		if other, declared := e.declared[a]; declared {
			e.failAt(a, at, fmt.Errorf("forgotten and declared: %s", other.source))
		}
	}
	for _, err := range CheckConfig(e.in.Config, slices.Collect(maps.Keys(e.config))) {
		e.failAt("", "", err)
	}
	for i := range g.Resources {
		r := &g.Resources[i]
		r.Props, r.Settings = e.plain(r.Address, r.Source, r.Props), e.plain(r.Address, r.Source, r.Settings)
	}
	for i := range g.Reads {
		r := &g.Reads[i]
		r.Query, r.Settings = e.plain(r.Address, r.Source, r.Query), e.plain(r.Address, r.Source, r.Settings)
	}
	for name, v := range g.Outputs {
		m := e.plain("output "+name, e.outputs[name], map[string]any{"value": v})
		g.Outputs[name] = m["value"]
	}
	slices.SortFunc(g.Resources, func(a, b engine.Resource) int { return cmp.Compare(a.Address, b.Address) })
	slices.SortFunc(g.Reads, func(a, b engine.Read) int { return cmp.Compare(a.Address, b.Address) })
	slices.Sort(g.Forget)
	g.Program = needs(g.Funcs)
	slices.SortStableFunc(e.problems, func(a, b engine.Problem) int { return cmp.Compare(a.Address, b.Address) })
}

// plain spells all tokens plainly. A damaged one is a mistake.
func (e *evaluation) plain(address, source string, m map[string]any) map[string]any {
	if len(m) == 0 {
		return nil
	}
	t, err := token.Canonical(m)
	if err != nil {
		e.failAt(address, source, misuse(err))
		return m
	}
	return t.(map[string]any)
}

// needs says why a graph needs its program.
func needs(f engine.Funcs) []string {
	var why []string
	if len(f.Hooks) > 0 {
		why = append(why, "hook")
	}
	if len(f.Policies) > 0 {
		why = append(why, "policy")
	}
	if len(f.Then) > 0 {
		why = append(why, "then")
	}
	return why
}
