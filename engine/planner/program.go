package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/values"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// Program reads a program into its index.
type Program struct {
	*plan.Basis
	Graph  *Graph
	values *values.Values
	// was is what was deployed of an address where that is compared, local a declaration as a dev session serves it. Nil where
	// there is none.
	was   func(address string) *plan.Deployed
	local func(*graph.Resource) *graph.Resource

	results   map[string]*token.Template // the outputs
	attrNames map[string][]string
	specs     map[string]*reconcile.Spec
}

// reset empties the index.
func (x *Program) reset() {
	x.Nodes, x.attrNames, x.specs = map[string]*plan.Node{}, map[string][]string{}, map[string]*reconcile.Spec{}
	x.Declared, x.Reads, x.Sorted, x.results, x.Forget = nil, nil, nil, nil, x.Graph.Forget
}

// read makes the nodes of the graph and finds everything that is wrong with it.
func (x *Program) read(ctx context.Context) (problems []plan.Problem) {
	x.reset()
	bad := func(addr, source string, err error) {
		problems = append(problems, plan.Problem{Address: addr, Source: source, Err: err})
	}
	all := make([]plan.Node, len(x.Graph.Resources)) // in one piece: there can be very many
	x.Nodes = make(map[string]*plan.Node, len(all)+len(x.Graph.Reads))
	x.Declared = make([]*plan.Node, 0, len(all))
	for i := range x.Graph.Resources {
		r := &x.Graph.Resources[i]
		n := &all[i]
		n.Address, n.Decl, n.Was = r.Address, r, x.was(r.Address)
		local := x.local(r)
		if local != nil {
			n.Decl = local
		}
		if err := x.declare(n, n.Decl.Kind, local != nil || n.Was != nil); err != nil {
			bad(r.Address, r.Source, err)
			continue
		}
		x.Declared = append(x.Declared, n)
	}
	for i := range x.Graph.Reads {
		r := &x.Graph.Reads[i]
		n := &plan.Node{Declaration: plan.Declaration{Address: r.Address, Read: r}}
		if err := x.declare(n, r.Kind, false); err != nil {
			bad(r.Address, r.Source, err)
			continue
		}
		x.Reads = append(x.Reads, n)
	}
	var job reconcile.Job // for each in its turn
	var tokens token.Parser
	for _, n := range slices.Concat(x.Reads, x.Declared) {
		for _, err := range x.refer(ctx, n, &job, &tokens) {
			bad(n.Address, n.Source(), err)
		}
	}
	x.results = make(map[string]*token.Template, len(x.Graph.Outputs))
	for name, v := range x.Graph.Outputs {
		t, err := x.template(ctx, v, &tokens)
		if err != nil {
			bad("output "+name, "", err)
		} else {
			x.refersTo(t.Refs())
		}
		x.results[name] = t
	}
	return problems
}

// declare enters one address. A kind that stands for another is declared by nobody but a dev session, or was deployed
// by one.
func (x *Program) declare(n *plan.Node, kind string, mayStand bool) error {
	if err := graph.CheckAddress(n.Address); err != nil {
		return err
	}
	if other, ok := x.Nodes[n.Address]; ok {
		return fmt.Errorf("declared twice: %s and %s", other.Source(), n.Source())
	}
	k, err := x.Catalog.Find(kind)
	if err != nil {
		return err
	}
	n.Kind, n.Spec = k, x.spec(k, kind)
	if stands := n.Spec.Stands; stands != "" && !mayStand {
		return reconcile.WithHint(fmt.Errorf("%s is how dev serves %s on this machine", kind, stands), "declare %s: dev takes the variant by itself", stands)
	}
	x.Nodes[n.Address] = n
	return nil
}

// spec is what a kind says of itself, asked once.
func (x *Program) spec(k reconcile.Any, kind string) *reconcile.Spec {
	s, ok := x.specs[kind]
	if !ok {
		s = k.Spec()
		x.specs[kind] = s
	}
	return s
}

// refer finds what a node refers to, and checks its props as far as they are known. The job is for its use.
func (x *Program) refer(ctx context.Context, n *plan.Node, job *reconcile.Job, tokens *token.Parser) []error {
	declared := n.DeclaredProps()
	var err error
	if n.Was != nil && n.Was.Literal {
		n.Props = token.Literal(declared, n.Was.Secret)
	} else if n.Props, err = x.template(ctx, declared, tokens); err != nil {
		return []error{err}
	}
	uses := n.Uses()
	var errs []error
	switch {
	case n.Was != nil: // it was deployed like this: what is wrong with it now is said where it is looked at
		n.Needs = n.Was.Needs
	case n.Decl != nil:
		o := &n.Decl.Options
		n.Needs = slices.Grow(n.Needs, len(uses)+len(o.DependsOn))
		for _, a := range o.DependsOn {
			if _, ok := x.Nodes[a]; !ok {
				errs = append(errs, fmt.Errorf("dependsOn: nothing is declared as %q", a))
			}
		}
		n.Needs = append(n.Needs, o.DependsOn...)
		*job = reconcile.Job{Address: n.Address, Props: declared, Dir: x.Graph.Dir}
		if err := n.Kind.Decode(job); err != nil {
			errs = append(errs, err)
		}
	}
	x.refersTo(uses)
	for _, u := range uses {
		n.Needs = append(n.Needs, u.Ref.Address)
	}
	slices.Sort(n.Needs)
	n.Needs = slices.Compact(n.Needs)
	return errs
}

// refersTo notes which nodes references lead to.
func (x *Program) refersTo(uses []token.Use) {
	for _, u := range uses {
		if up := x.Nodes[u.Ref.Address]; up != nil {
			up.Referred = true
		}
	}
}

// template reads the tokens of a tree, each checked: the address is declared and has such an attribute. Secrets and
// outputs of other stacks are checked too.
func (x *Program) template(ctx context.Context, v any, tokens *token.Parser) (*token.Template, error) {
	t, err := tokens.Parse(v)
	if err != nil {
		return nil, err
	}
	for _, u := range t.Refs() {
		if err := x.checkRef(u); err != nil {
			return nil, err
		}
	}
	for _, name := range t.Secrets() {
		if _, ok := x.Graph.Secrets[name]; !ok {
			return nil, fmt.Errorf("no secret %q is declared", name)
		}
	}
	for _, o := range t.Outputs() {
		if _, err := x.values.Output(ctx, o.Stack, o.Path); err != nil {
			return nil, fmt.Errorf("%s: %w", o.At, err)
		}
	}
	return t, nil
}

func (x *Program) checkRef(u token.Use) error {
	up, ok := x.Nodes[u.Ref.Address]
	if !ok {
		return plan.WithNearest(fmt.Errorf("%s: nothing is declared as %q", u.At, u.Ref.Address), u.Ref.Address, slices.Sorted(maps.Keys(x.Nodes)), "")
	}
	first, below := u.Ref.Path.First()
	if !below {
		return nil
	}
	name := first.Key
	if names := x.attributes(up.Kind); !slices.Contains(names, name) {
		return plan.WithNearest(fmt.Errorf("%s: %s has no attribute %q", u.At, up.Spec.Type, name), name, names, "it has "+strings.Join(names, ", "))
	}
	return nil
}

// attributes are the names that a kind's attributes have.
func (x *Program) attributes(k reconcile.Any) []string {
	kind := k.Spec().Type
	if names, ok := x.attrNames[kind]; ok {
		return names
	}
	var names []string
	if _, attrs, err := k.Spec().Shape(); err == nil {
		for _, f := range attrs {
			names = append(names, f.Path.Steps()[0].Key)
		}
		slices.Sort(names)
	}
	x.attrNames[kind] = names
	return names
}
