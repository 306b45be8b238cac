package grants

import (
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Unobserved lists what of a graph an untrusted plan does not observe, with the reason by address: what holds a secret,
// since its name or its query would be sent; what a program has to be built or run for; and what refers to either.
func Unobserved(g *engine.Graph, runs func(kind string, props map[string]any) bool) map[string]string {
	needs, why := map[string][]string{}, map[string]string{}
	note := func(address, kind string, values map[string]any, more []string) {
		f := found{}
		f.tree(values)
		needs[address] = slices.Concat(f.refs, more)
		switch {
		case f.secret:
			why[address] = "it holds a secret"
		case runs(kind, values):
			why[address] = "a program would have to be built or run for it"
		}
	}
	for i := range g.Resources {
		r := &g.Resources[i]
		note(r.Address, r.Kind, r.Props, r.Options.DependsOn)
	}
	for i := range g.Reads {
		note(g.Reads[i].Address, g.Reads[i].Kind, g.Reads[i].Query, nil)
	}
	for again := true; again; {
		again = false
		for _, address := range slices.Sorted(maps.Keys(needs)) {
			if why[address] != "" {
				continue
			}
			for _, need := range needs[address] {
				if why[need] != "" {
					why[address], again = "it needs "+need, true
					break
				}
			}
		}
	}
	return why
}

// Without is the graph without these addresses, and without the outputs and secrets that go with them.
func Without(g *engine.Graph, addresses map[string]string) *engine.Graph {
	out := *g
	out.Resources = slices.Clone(g.Resources)
	out.Reads = slices.Clone(g.Reads)
	out.Resources = slices.DeleteFunc(out.Resources, func(r engine.Resource) bool { return addresses[r.Address] != "" })
	out.Reads = slices.DeleteFunc(out.Reads, func(r engine.Read) bool { return addresses[r.Address] != "" })
	out.Outputs, out.Secrets = map[string]any{}, nil
	for name, v := range g.Outputs {
		f := found{}
		f.tree(v)
		if !f.secret && !slices.ContainsFunc(f.refs, func(a string) bool { return addresses[a] != "" }) {
			out.Outputs[name] = v
		}
	}
	return &out
}

// found is what tokens in a tree refer to.
type found struct {
	refs   []string
	secret bool
}

func (f *found) tree(v any) {
	tree.Walk(v, func(_ tree.Path, x any) bool {
		m, isMap := x.(map[string]any)
		for name := range m {
			f.text(name)
		}
		if text, ok := x.(string); ok && !isMap {
			f.text(text)
		}
		return true
	})
}

func (f *found) text(text string) {
	if !token.Has(text) {
		return
	}
	parts, err := token.Scan(text)
	if err != nil {
		f.secret = true // what cannot be read may be one
	}
	for _, p := range parts {
		if p.Expr == nil {
			continue
		}
		switch e := p.Expr; e.Op {
		case token.OpSecret, token.OpStack: // an output of another stack may be secret
			f.secret = true
		case token.OpRef:
			f.refs = append(f.refs, e.Ref.Address)
		case token.OpJSON, token.OpThen:
			f.tree(e.Input)
		case token.OpURL:
			for _, arg := range e.Args {
				f.tree(arg)
			}
		}
	}
}

// Runs reports whether the go command or another program is started to prepare a resource.
func Runs(kind string, props map[string]any) bool {
	pkg, _ := tree.Get(props, "code.go")
	text, _ := pkg.(string)
	return kind == "aws.lambda.Function" && strings.TrimSpace(text) != ""
}
