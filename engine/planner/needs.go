package planner

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// anyName stands for a name that is not known yet.
const anyName = "*"

// Needs are what deploying the plan asks of the access control of providers: reading every object that is read,
// and doing what is planned, each on the object that it is done to. A plan that was read from a file has none.
func Needs(ctx context.Context, p *plan.Plan) []reconcile.Need {
	w := DraftOf(p)
	if w == nil {
		return nil
	}
	n := &needing{work: w, ctx: ctx, under: map[string]map[string][]reconcile.Any{}}
	n.ways(n.work.fresh || p.Destroy)
	for _, x := range slices.Concat(n.work.Reads, n.work.Declared, n.work.Leftover) {
		n.look(x)
	}
	for i := range p.Actions {
		n.act(&p.Actions[i])
	}
	return n.needs
}

// needing is one collection of needs.
type needing struct {
	work  *Draft
	ctx   context.Context
	needs []reconcile.Need
	// under has the kinds of a provider by the kind whose objects they belong to.
	under map[string]map[string][]reconcile.Any
}

// ways are what it takes to know every place, and to discover in it.
func (x *needing) ways(discovers bool) {
	seen := map[*observe.Way]bool{}
	for _, n := range slices.Concat(x.work.Reads, x.work.Declared, x.work.Leftover) {
		if discovers {
			x.children(n)
		}
		if n.Access == nil || seen[n.Access.Reached()] {
			continue
		}
		a := n.Access.Reached()
		seen[a] = true
		actions := slices.Clone(a.Provider.Permissions.Observe)
		if discovers && a.Provider.Discover != nil {
			actions = append(actions, a.Provider.Permissions.List...)
		}
		x.needs = append(x.needs, a.Provider.Permissions.Needs(a.Provider.Name, a.Place, nil, actions)...)
	}
}

// children are what it takes to list the objects that belong to a node's and carry owner tags which no listing shows.
func (x *needing) children(n *plan.Node) {
	if n.Access == nil || n.Spec == nil || n.Entry == nil {
		return
	}
	provider := &n.Access.Provider
	under, ok := x.under[provider.Name]
	if !ok {
		under = map[string][]reconcile.Any{}
		for _, k := range provider.Kinds {
			for _, parent := range k.Outline().Under {
				under[parent] = append(under[parent], k)
			}
		}
		x.under[provider.Name] = under
	}
	for _, k := range under[n.Spec.Type] {
		permissions := k.Spec().Permissions
		actions := slices.Concat(permissions.List, x.only(n, permissions.Observe))
		x.needs = append(x.needs, permissions.Needs(provider.Name, n.Access.Place, []string{anyName}, actions)...)
	}
}

// look is what looking at a node takes: by its name, and where no record tells it, by its listing.
func (x *needing) look(n *plan.Node) {
	if n.Spec == nil || n.Access == nil || n.Access.Err != nil {
		return
	}
	x.add(n, x.names(n), x.only(n, n.Spec.Permissions.Observe))
	x.depend(n, n.Spec.Permissions, n.Access.Provider.Name, n.Access.Place, reconcile.Observing, nil)
	if n.Entry.Live() == nil {
		x.add(n, x.names(n), n.Spec.Permissions.List)
		if n.Spec.Marked && !n.Spec.Named && !n.Spec.Lists {
			x.add(n, []string{anyName}, n.Access.Provider.Permissions.List) // it is sought by its owner tag
		}
	}
}

// act is what one line of the plan takes.
func (x *needing) act(line *plan.Planned) {
	n := x.work.Nodes[line.Address]
	kind, ok := x.work.Planner.Catalog.Kind(line.Kind)
	if n == nil || !ok {
		return
	}
	p := kind.Spec().Permissions
	var actions []string
	var phase reconcile.Phase
	changes := inPlace(n, line)
	switch line.Action {
	case plan.Create:
		actions, phase = x.onlyOf(n, p, p.Create), reconcile.Creating
	case plan.Adopt, plan.Recover, plan.Update, plan.Move:
		for _, o := range changes {
			actions = append(actions, p.Called(o.Call)...)
		}
		phase = reconcile.Updating
	case plan.Replace:
		actions, phase = x.onlyOf(n, p, slices.Concat(p.Create, p.Delete)), reconcile.Creating|reconcile.Deleting
		if line.May { // it may turn out to change in place
			phase |= reconcile.Updating
			for _, o := range changes {
				actions = append(actions, p.Called(o.Call)...)
			}
		}
	case plan.Delete:
		actions, phase = x.onlyOf(n, p, slices.Concat(p.Observe, p.Delete)), reconcile.Observing|reconcile.Deleting
	case plan.Forget: // what is retained gets another owner tag
		if n.Entry != nil && n.Entry.Options().Retain {
			actions = p.Update
		}
	}
	names := x.names(n)
	if line.Action == plan.Delete {
		names = x.namesOf(n, line.Identity)
	}
	provider, _ := x.work.Planner.Catalog.ProviderOf(line.Kind)
	x.needs = append(x.needs, p.Needs(provider.Name, line.Place, names, actions)...)
	x.depend(n, p, provider.Name, line.Place, phase, changes)
}

// inPlace are the operations in place that a line announces. One without a call may be any.
func inPlace(n *plan.Node, line *plan.Planned) []operation.Operation {
	var all []operation.Operation
	for _, s := range line.Steps {
		for _, o := range s.Operations {
			switch o.Verb {
			case operation.Set, operation.Unset, operation.Release:
				all = append(all, o)
			case operation.Retag:
				for _, step := range n.Look().Steps {
					all = append(all, operation.Operation{Call: step.Call, Path: step.Path})
				}
			}
		}
	}
	return all
}

// only are actions without those whose props a node neither declares nor has in state.
func (x *needing) only(n *plan.Node, actions []string) []string {
	return x.onlyOf(n, n.Spec.Permissions, actions)
}

func (x *needing) onlyOf(n *plan.Node, p reconcile.Permissions, actions []string) []string {
	return slices.DeleteFunc(slices.Clone(actions), func(action string) bool {
		paths, limited := p.Only[action]
		return limited && len(x.valuesAt(n, paths)) == 0
	})
}

func (x *needing) add(n *plan.Node, names, actions []string) {
	x.needs = append(x.needs, n.Spec.Permissions.Needs(n.Access.Provider.Name, n.Access.Place, names, actions)...)
}

// depend is what the provider checks beside its operations.
func (x *needing) depend(
	n *plan.Node, p reconcile.Permissions, provider string, place reconcile.Place, phase reconcile.Phase, changes []operation.Operation,
) {
	for _, d := range p.Depends {
		changed := phase&reconcile.Updating != 0 &&
			slices.ContainsFunc(changes, func(o operation.Operation) bool { return d.By(o.Call, o.Path) })
		if !changed && !d.In(phase&^reconcile.Updating) {
			continue
		}
		values := []string{""}
		if d.Props != nil {
			values = x.valuesAt(n, d.Props)
		}
		if d.Under != "" && len(values) > 0 {
			values = eachUnder(values, x.valuesAt(n, []tree.Path{d.Under}))
		}
		x.needs = append(x.needs, d.Needs(provider, place, values)...)
	}
}

// eachUnder joins each value with each one under it.
func eachUnder(values, under []string) []string {
	var all []string
	for _, value := range values {
		for _, key := range under {
			all = append(all, value+"/"+key)
		}
	}
	return all
}

// valuesAt are the texts at or below paths of a node's props, declared and in state. What is no text counts as "*", and what is
// false or empty as nothing.
func (x *needing) valuesAt(n *plan.Node, paths []tree.Path) []string {
	all := map[string]bool{}
	for _, props := range x.allProps(n) {
		tree.Walk(props, func(at tree.Path, v any) bool {
			if v == nil || v == "" || v == false || !slices.ContainsFunc(paths, func(path tree.Path) bool { return at.Within(path) }) {
				return true
			}
			switch v := v.(type) {
			case string:
				for _, text := range x.texts(v) {
					all[text] = true
				}
			case map[string]any:
				if len(v) == 0 {
					all[anyName] = true
				}
			case []any:
			default:
				all[anyName] = true
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(all))
}

// names are those that a node's object has or gets: as the author gave it, in state, or made up. Without state it is
// looked for in every slot, unless a listing shows them.
func (x *needing) names(n *plan.Node) []string {
	switch live, object := n.Present(), n.Object(); {
	case n.Spec.Permissions.Of != "":
		return x.texts(x.prop(n, n.Spec.Permissions.Of))
	case object == nil && live != nil:
		return x.namesOf(n, live.Identity)
	case object == nil:
		return []string{anyName}
	case object.Naming == nil || object.Named:
		return x.namesOf(n, n.Look().Identity)
	case live != nil && n.Plan != nil && (n.Plan.Action == plan.Replace || n.Plan.Action == plan.Create):
		return append(x.namesOf(n, live.Identity), x.slot(n, x.work.freeSlot(n)))
	case live != nil || n.Spec.Lists:
		return x.namesOf(n, n.Look().Identity)
	}
	var names []string
	for slot := range adopt.Slots {
		names = append(names, x.slot(n, slot))
	}
	return names
}

// slot is the name that a node's object would have in a slot.
func (x *needing) slot(n *plan.Node, slot int) string {
	return adopt.Name(*n.Object().Naming, n.Access.Place, x.work.Stage.Stack, x.work.Stage.Name, n.Birth(), slot)
}

// namesOf returns the name of a node's object with an identity, else that.
func (x *needing) namesOf(n *plan.Node, identity string) []string {
	if n.Spec != nil && n.Spec.Permissions.Of != "" {
		return x.texts(x.prop(n, n.Spec.Permissions.Of))
	}
	if n.Entry != nil {
		for _, g := range n.Entry.Generations {
			if g.Identity == identity && g.Name != "" {
				return []string{g.Name}
			}
		}
	}
	switch object := n.Object(); {
	case object != nil && object.Name != "":
		return x.texts(object.Name)
	case identity != "":
		return []string{identity}
	}
	return []string{anyName}
}

// allProps are those declared, with references in them, and those in state.
func (x *needing) allProps(n *plan.Node) []map[string]any {
	var all []map[string]any
	if n.Decl != nil && n.Object() != nil {
		all = append(all, x.work.declares(x.ctx)(n))
	}
	if n.Entry != nil && n.Entry.Props != nil {
		all = append(all, n.Entry.Props)
	}
	return all
}

// prop is the text of a prop.
func (x *needing) prop(n *plan.Node, path tree.Path) string {
	for _, props := range x.allProps(n) {
		if v, ok := tree.Get(props, path); ok {
			text, _ := v.(string)
			return text
		}
	}
	return ""
}

// texts are what a text with references may be: with what they lead to, as far as the plan tells.
func (x *needing) texts(text string) []string {
	if !token.Has(text) {
		return []string{text}
	}
	t, err := x.work.template(x.ctx, text, new(token.Parser))
	if err != nil {
		return []string{anyName}
	}
	all := map[string]bool{}
	for alternative := range adopt.Slots {
		out, err := t.Resolve(func(e token.Expr) (token.Value, error) {
			return token.Value{Any: x.reference(e, alternative)}, nil
		})
		if s, ok := out.Tree.(string); ok && err == nil {
			all[s] = true
		}
	}
	if len(all) == 0 {
		return []string{anyName}
	}
	return slices.Sorted(maps.Keys(all))
}

// reference is what one reference leads to: a value that is known, or the name or the ARN that its object will have,
// one of several where that is open.
func (x *needing) reference(e token.Expr, alternative int) string {
	if e.Op == token.OpSecret {
		return anyName
	}
	if e.Op == token.OpStack || e.Op == token.OpThen {
		if v, err := x.work.lookup(x.ctx, e, nil); err == nil && !v.Unknown && !v.Secret {
			if text, ok := v.Any.(string); ok {
				return text
			}
		}
		return anyName
	}
	if v, err := x.work.value(e.Ref); err == nil && !v.Unknown && !v.Secret {
		if text, ok := v.Any.(string); ok && text != "" {
			return text
		}
	}
	up := x.work.Nodes[e.Ref.Address]
	if up == nil || up.Spec == nil || up.Access == nil {
		return anyName
	}
	var choice []string
	switch names := x.names(up); strings.ToLower(string(e.Ref.Path)) {
	case "name":
		choice = names
	case "arn":
		if of := up.Spec.Permissions.Resource; of != nil {
			for _, name := range names {
				choice = append(choice, of(up.Access.Place, name)...)
			}
		}
	}
	if len(choice) == 0 {
		return anyName
	}
	return choice[min(alternative, len(choice)-1)]
}
