package engine

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/observe"
	"github.com/athanor-dev/athanor/engine/plan/operation"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// anyName stands for a name that is not known yet.
const anyName = "*"

// Needs are what deploying the plan asks of the access control of providers: looking at everything that is looked at,
// and doing what is planned, each on the thing that it is done to. A plan that was read from a file has none.
func (p *Plan) Needs(ctx context.Context) []reconcile.Need {
	if p.work == nil {
		return nil
	}
	n := &needing{work: p.work, ctx: ctx}
	n.ways(n.work.fresh || p.Destroy)
	for _, x := range slices.Concat(n.work.reads, n.work.declared, n.work.leftover) {
		n.look(x)
	}
	for i := range p.Actions {
		n.act(&p.Actions[i])
	}
	return n.needs
}

// needing is one collection of needs.
type needing struct {
	work  *work
	ctx   context.Context
	needs []reconcile.Need
}

// ways are what it takes to know every place, and to discover in it.
func (x *needing) ways(discovers bool) {
	seen := map[*observe.Way]bool{}
	for _, n := range slices.Concat(x.work.reads, x.work.declared, x.work.leftover) {
		if discovers {
			x.children(n)
		}
		if n.access == nil || seen[n.access.Reached()] {
			continue
		}
		a := n.access.Reached()
		seen[a] = true
		actions := slices.Clone(a.Provider.Permissions.Observe)
		if discovers && a.Provider.Discover != nil {
			actions = append(actions, a.Provider.Permissions.List...)
		}
		x.needs = append(x.needs, a.Provider.Permissions.Needs(a.Provider.Name, a.Place, nil, actions)...)
	}
}

// children are what it takes to list the objects that belong to a node's and carry owner tags which no listing shows.
func (x *needing) children(n *node) {
	if n.access == nil || n.spec == nil || n.rec == nil {
		return
	}
	for _, k := range n.access.Provider.Kinds {
		if spec := k.Spec(); slices.Contains(spec.Under, n.spec.Type) {
			actions := slices.Concat(spec.Permissions.List, x.only(n, spec.Permissions.Observe))
			x.needs = append(x.needs, spec.Permissions.Needs(n.access.Provider.Name, n.access.Place, []string{anyName}, actions)...)
		}
	}
}

// look is what looking at a node takes: by its name, and where no record tells it, by its listing.
func (x *needing) look(n *node) {
	if n.spec == nil || n.access == nil || n.access.Err != nil {
		return
	}
	x.add(n, x.names(n), x.only(n, n.spec.Permissions.Observe))
	x.depend(n, n.spec.Permissions, n.access.Provider.Name, n.access.Place, reconcile.Observing, nil)
	if n.rec.Live() == nil {
		x.add(n, x.names(n), n.spec.Permissions.List)
		if n.spec.Marked && !n.spec.Named && !n.spec.Lists {
			x.add(n, []string{anyName}, n.access.Provider.Permissions.List) // it is sought by its mark
		}
	}
}

// act is what one line of the plan takes.
func (x *needing) act(line *Planned) {
	n := x.work.nodes[line.Address]
	kind, ok := x.work.e.Catalog.Kind(line.Kind)
	if n == nil || !ok {
		return
	}
	p := kind.Spec().Permissions
	var actions []string
	var phase reconcile.Phase
	changes := inPlace(n, line)
	switch line.Action {
	case Create:
		actions, phase = x.onlyOf(n, p, p.Create), reconcile.Creating
	case Adopt, Recover, Update, Move:
		for _, o := range changes {
			actions = append(actions, p.Called(o.Call)...)
		}
		phase = reconcile.Updating
	case Replace:
		actions, phase = x.onlyOf(n, p, slices.Concat(p.Create, p.Delete)), reconcile.Creating|reconcile.Deleting
		if line.May { // it may turn out to change in place
			phase |= reconcile.Updating
			for _, o := range changes {
				actions = append(actions, p.Called(o.Call)...)
			}
		}
	case Delete:
		actions, phase = x.onlyOf(n, p, slices.Concat(p.Observe, p.Delete)), reconcile.Observing|reconcile.Deleting
	case Forget: // what is retained gets another owner tag
		if n.rec != nil && n.rec.Options.Retain {
			actions = p.Update
		}
	}
	names := x.names(n)
	if line.Action == Delete {
		names = x.namesOf(n, line.Identity)
	}
	provider, _ := x.work.e.Catalog.ProviderOf(line.Kind)
	x.needs = append(x.needs, p.Needs(provider.Name, line.Place, names, actions)...)
	x.depend(n, p, provider.Name, line.Place, phase, changes)
}

// inPlace are the operations in place that a line announces. One without a call may be any.
func inPlace(n *node, line *Planned) []operation.Operation {
	var all []operation.Operation
	for _, s := range line.Steps {
		for _, o := range s.Operations {
			switch o.Verb {
			case operation.Set, operation.Unset, operation.Release:
				all = append(all, o)
			case operation.Retag:
				for _, step := range n.look.Steps {
					all = append(all, operation.Operation{Call: step.Call, Path: step.Path})
				}
			}
		}
	}
	return all
}

// only are actions without those whose props a node neither declares nor has in state.
func (x *needing) only(n *node, actions []string) []string {
	return x.onlyOf(n, n.spec.Permissions, actions)
}

func (x *needing) onlyOf(n *node, p reconcile.Permissions, actions []string) []string {
	return slices.DeleteFunc(slices.Clone(actions), func(action string) bool {
		paths, limited := p.Only[action]
		return limited && len(x.valuesAt(n, paths)) == 0
	})
}

func (x *needing) add(n *node, names, actions []string) {
	x.needs = append(x.needs, n.spec.Permissions.Needs(n.access.Provider.Name, n.access.Place, names, actions)...)
}

// depend is what the provider checks beside its operations.
func (x *needing) depend(
	n *node, p reconcile.Permissions, provider string, place reconcile.Place, phase reconcile.Phase, changes []operation.Operation,
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
func (x *needing) valuesAt(n *node, paths []tree.Path) []string {
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

// names are those that a node's thing has or gets: as the author gave it, on record, or made up. Without a record it is
// looked for in every slot, unless a listing shows them.
func (x *needing) names(n *node) []string {
	switch live := n.present(); {
	case n.spec.Permissions.Of != "":
		return x.texts(x.prop(n, n.spec.Permissions.Of))
	case n.job == nil && live != nil:
		return x.namesOf(n, live.Identity)
	case n.job == nil:
		return []string{anyName}
	case n.job.Naming == nil || n.job.Named:
		return x.namesOf(n, n.look.Identity)
	case live != nil && n.plan != nil && (n.plan.Action == Replace || n.plan.Action == Create):
		return append(x.namesOf(n, live.Identity), x.slot(n, x.work.freeSlot(n)))
	case live != nil || n.spec.Lists:
		return x.namesOf(n, n.look.Identity)
	}
	var names []string
	for slot := range adopt.Slots {
		names = append(names, x.slot(n, slot))
	}
	return names
}

// slot is the name that a node's thing would have in a slot.
func (x *needing) slot(n *node, slot int) string {
	return adopt.Name(*n.job.Naming, n.job.Place, x.work.stage.Stack, x.work.stage.Name, n.birth(), slot)
}

// namesOf are the name of a node's thing with an identity, else that.
func (x *needing) namesOf(n *node, identity string) []string {
	if n.spec != nil && n.spec.Permissions.Of != "" {
		return x.texts(x.prop(n, n.spec.Permissions.Of))
	}
	if n.rec != nil {
		for _, g := range n.rec.Generations {
			if g.Identity == identity && g.Name != "" {
				return []string{g.Name}
			}
		}
	}
	switch {
	case n.job != nil && n.job.Name != "":
		return x.texts(n.job.Name)
	case identity != "":
		return []string{identity}
	}
	return []string{anyName}
}

// allProps are those declared, with references in them, and those in state.
func (x *needing) allProps(n *node) []map[string]any {
	var all []map[string]any
	if n.job != nil && n.job.Props != nil {
		all = append(all, n.job.Props)
	}
	if n.rec != nil && n.rec.Props != nil {
		all = append(all, n.rec.Props)
	}
	return all
}

// prop is the text of a prop.
func (x *needing) prop(n *node, path tree.Path) string {
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

// reference is what one reference leads to: a value that is known, or the name or the ARN that its thing will have, one
// of several where that is open.
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
	up := x.work.nodes[e.Ref.Address]
	if up == nil || up.spec == nil || up.access == nil {
		return anyName
	}
	var choice []string
	switch names := x.names(up); strings.ToLower(string(e.Ref.Path)) {
	case "name":
		choice = names
	case "arn":
		if of := up.spec.Permissions.Resource; of != nil {
			for _, name := range names {
				choice = append(choice, of(up.access.Place, name)...)
			}
		}
	}
	if len(choice) == 0 {
		return anyName
	}
	return choice[min(alternative, len(choice)-1)]
}
