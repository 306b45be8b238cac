package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/engine/graph"
	"github.com/athanor-dev/athanor/engine/redact"
	"github.com/athanor-dev/athanor/engine/values"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// index is a program as a graph of nodes: what each refers to, and the order in which one comes after what it needs. Once it is
// read and arranged nothing of it changes but that nodes of what is no longer declared come to it.
type index struct {
	catalog *reconcile.Catalog
	graph   *Graph
	values  *values.Values
	redact  *redact.Redactor
	// was is what was deployed of an address where that is compared, local a declaration as a dev session serves it. Nil where
	// there is none.
	was   func(address string) *deployed
	local func(*graph.Resource) *graph.Resource

	nodes     map[string]*node
	results   map[string]*token.Template // the outputs
	declared  []*node
	reads     []*node
	sorted    []*node // reads and declared, upstreams first
	attrNames map[string][]string
	specs     map[string]*reconcile.Spec
}

// reset empties an index.
func (x *index) reset() {
	x.nodes, x.attrNames, x.specs = map[string]*node{}, map[string][]string{}, map[string]*reconcile.Spec{}
	x.declared, x.reads, x.sorted, x.results = nil, nil, nil, nil
}

// read makes the nodes of the graph and finds everything that is wrong with it.
func (x *index) read(ctx context.Context) (problems []Problem) {
	x.reset()
	bad := func(addr, source string, err error) {
		problems = append(problems, Problem{Address: addr, Source: source, Err: err})
	}
	all := make([]node, len(x.graph.Resources)) // in one piece: there can be very many
	x.declared = make([]*node, 0, len(all))
	for i := range x.graph.Resources {
		r := &x.graph.Resources[i]
		n := &all[i]
		n.addr, n.decl, n.was = r.Address, r, x.was(r.Address)
		local := x.local(r)
		if local != nil {
			n.decl = local
		}
		if err := x.declare(n, n.decl.Kind, local != nil || n.was != nil); err != nil {
			bad(r.Address, r.Source, err)
			continue
		}
		x.declared = append(x.declared, n)
	}
	for i := range x.graph.Reads {
		r := &x.graph.Reads[i]
		n := &node{declaration: declaration{addr: r.Address, read: r}}
		if err := x.declare(n, r.Kind, false); err != nil {
			bad(r.Address, r.Source, err)
			continue
		}
		x.reads = append(x.reads, n)
	}
	var job reconcile.Job // for each in its turn
	var tokens token.Parser
	for _, n := range slices.Concat(x.reads, x.declared) {
		for _, err := range x.refer(ctx, n, &job, &tokens) {
			bad(n.addr, n.source(), err)
		}
	}
	x.results = make(map[string]*token.Template, len(x.graph.Outputs))
	for name, v := range x.graph.Outputs {
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

func (n *declaration) source() string {
	switch {
	case n.decl != nil:
		return n.decl.Source
	case n.read != nil:
		return n.read.Source
	default:
		return ""
	}
}

// declare enters one address. A kind that stands for another is declared by nobody but a dev session, or was deployed
// by one.
func (x *index) declare(n *node, kind string, mayStand bool) error {
	if err := graph.CheckAddress(n.addr); err != nil {
		return err
	}
	if other, ok := x.nodes[n.addr]; ok {
		return fmt.Errorf("declared twice: %s and %s", other.source(), n.source())
	}
	k, err := x.catalog.Find(kind)
	if err != nil {
		return err
	}
	n.kind, n.spec = k, x.spec(k, kind)
	if stands := n.spec.Stands; stands != "" && !mayStand {
		return reconcile.WithHint(fmt.Errorf("%s is how dev serves %s on this machine", kind, stands), "declare %s: dev takes the variant by itself", stands)
	}
	x.nodes[n.addr] = n
	return nil
}

// spec is what a kind says of itself, asked once.
func (x *index) spec(k reconcile.Any, kind string) *reconcile.Spec {
	s, ok := x.specs[kind]
	if !ok {
		s = k.Spec()
		x.specs[kind] = s
	}
	return s
}

// refer finds what a node refers to, and checks its props as far as they are known. The job is for its use.
func (x *index) refer(ctx context.Context, n *node, job *reconcile.Job, tokens *token.Parser) []error {
	declared := n.declaredProps()
	var err error
	if n.was != nil && n.was.literal {
		n.props = token.Literal(declared, n.was.secret)
	} else if n.props, err = x.template(ctx, declared, tokens); err != nil {
		return []error{err}
	}
	n.uses = n.props.Refs()
	var errs []error
	switch {
	case n.was != nil: // it was deployed like this: what is wrong with it now is said where it is looked at
		n.needs = n.was.needs
	case n.decl != nil:
		o := &n.decl.Options
		n.needs = slices.Grow(n.needs, len(n.uses)+len(o.DependsOn))
		for _, a := range o.DependsOn {
			if _, ok := x.nodes[a]; !ok {
				errs = append(errs, fmt.Errorf("dependsOn: nothing is declared as %q", a))
			}
		}
		n.needs = append(n.needs, o.DependsOn...)
		*job = reconcile.Job{Address: n.addr, Props: declared, Dir: x.graph.Dir}
		if err := n.kind.Decode(job); err != nil {
			errs = append(errs, err)
		}
	}
	x.refersTo(n.uses)
	for _, u := range n.uses {
		n.needs = append(n.needs, u.Ref.Address)
	}
	slices.Sort(n.needs)
	n.needs = slices.Compact(n.needs)
	return errs
}

// refersTo notes which nodes references lead to.
func (x *index) refersTo(uses []token.Use) {
	for _, u := range uses {
		if up := x.nodes[u.Ref.Address]; up != nil {
			up.referred = true
		}
	}
}

func (n *declaration) declaredProps() map[string]any {
	var p map[string]any
	switch {
	case n.decl != nil:
		p = n.decl.Props
	case n.read != nil:
		p = n.read.Query
	}
	if p == nil {
		p = map[string]any{}
	}
	return p
}

// template reads the tokens of a tree, each checked: the address is declared and has such an attribute. Secrets and
// outputs of other stacks are checked too.
func (x *index) template(ctx context.Context, v any, tokens *token.Parser) (*token.Template, error) {
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
		if _, ok := x.graph.Secrets[name]; !ok {
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

func (x *index) checkRef(u token.Use) error {
	up, ok := x.nodes[u.Ref.Address]
	if !ok {
		err := fmt.Errorf("%s: nothing is declared as %q", u.At, u.Ref.Address)
		if near, ok := props.Nearest(u.Ref.Address, slices.Sorted(maps.Keys(x.nodes))); ok {
			return reconcile.WithHint(err, "did you mean %s?", near)
		}
		return err
	}
	first, below := u.Ref.Path.First()
	if !below {
		return nil
	}
	name := first.Key
	if names := x.attributes(up.kind); !slices.Contains(names, name) {
		err := fmt.Errorf("%s: %s has no attribute %q", u.At, up.spec.Type, name)
		if near, ok := props.Nearest(name, names); ok {
			return reconcile.WithHint(err, "did you mean %s?", near)
		}
		return reconcile.WithHint(err, "it has %s", strings.Join(names, ", "))
	}
	return nil
}

// clashes finds two addresses that give one name to things of one kind in one place.
func (j *jobs) clashes(ctx context.Context) error {
	type name struct {
		kind  string
		place reconcile.Place
		name  string
	}
	given := map[name]*node{}
	var problems []Problem
	for _, n := range j.declared {
		if !n.spec.Named || n.err != nil {
			continue
		}
		job, err := j.declaredJob(ctx, n, target{number: 1})
		if err != nil || !job.Named || !known(job.Name) {
			continue // what is wrong with it is said where it is looked at
		}
		id := name{n.spec.Type, n.access.Place, job.Name}
		if other := given[id]; other != nil {
			problems = append(problems, Problem{
				Address: n.addr, Source: n.source(),
				Err: fmt.Errorf("%s names the same %s: %s", other.addr, n.spec.Type, job.Name),
			})
			continue
		}
		given[id] = n
	}
	if len(problems) > 0 {
		return &GraphError{problems}
	}
	return nil
}

// attributes are the names that a kind's attributes have.
func (x *index) attributes(k reconcile.Any) []string {
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
