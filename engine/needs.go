package engine

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/engine/observe"
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
	n.ways()
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
func (x *needing) ways() {
	seen := map[*observe.Way]bool{}
	for _, n := range slices.Concat(x.work.reads, x.work.declared, x.work.leftover) {
		if n.access == nil || seen[n.access.Reached()] {
			continue
		}
		a := n.access.Reached()
		seen[a] = true
		actions := slices.Clone(a.Provider.Permissions.Observe)
		if x.work.fresh && a.Provider.Discover != nil {
			actions = append(actions, a.Provider.Permissions.List...)
		}
		x.needs = append(x.needs, a.Provider.Permissions.Needs(a.Provider.Name, a.Place, nil, actions)...)
	}
}

// look is what looking at a node takes: by its name, and where no record tells it, by its listing.
func (x *needing) look(n *node) {
	if n.spec == nil || n.access == nil || n.access.Err != nil {
		return
	}
	x.add(n, x.names(n), n.spec.Permissions.Observe)
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
	switch line.Action {
	case Create:
		actions = p.Create
	case Adopt, Recover, Update, Move:
		actions = p.Update
	case Replace:
		actions = slices.Concat(p.Create, p.Delete)
	case Delete:
		actions = slices.Concat(p.Observe, p.Delete)
	case Forget: // what is retained is marked as such
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
	if line.Action == Create || line.Action == Replace || line.Action == Update {
		x.pass(n, provider.Name, p.Passes)
	}
}

func (x *needing) add(n *node, names, actions []string) {
	x.needs = append(x.needs, n.spec.Permissions.Needs(n.access.Provider.Name, n.access.Place, names, actions)...)
}

// pass is what it takes to hand on what props name, such as roles.
func (x *needing) pass(n *node, provider string, passes map[string][]tree.Path) {
	for _, action := range slices.Sorted(maps.Keys(passes)) {
		tree.Walk(x.props(n), func(at tree.Path, v any) bool {
			text, _ := v.(string)
			if text != "" && slices.ContainsFunc(passes[action], func(path tree.Path) bool { return at.Within(path) }) {
				x.needs = append(x.needs, reconcile.Need{Provider: provider, Actions: []string{action}, Resources: x.texts(text)})
			}
			return true
		})
	}
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

// props are those declared, with references in them, or on record for what is no longer.
func (x *needing) props(n *node) map[string]any {
	switch {
	case n.job != nil && n.job.Props != nil:
		return n.job.Props
	case n.rec != nil:
		return n.rec.Props
	}
	return nil
}

// prop is the text of a prop.
func (x *needing) prop(n *node, path tree.Path) string {
	v, _ := tree.Get(x.props(n), path)
	text, _ := v.(string)
	return text
}

// texts are what a text with references may be: with what they lead to, as far as the plan tells.
func (x *needing) texts(text string) []string {
	if !token.Has(text) {
		return []string{text}
	}
	t, err := x.work.template(x.ctx, text)
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
