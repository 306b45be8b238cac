package value

import (
	"errors"

	"github.com/zclconf/go-cty/cty"

	"github.com/athanor-dev/athanor/providers/terraform/schema"
)

// Propose is the state that a provider is asked to plan: what is declared, and of what only the provider sets what it set before.
//
//   - An attribute is as declared; one that is null there and that the provider may set is as before.
//   - A nested attribute that is declared goes by member, as a block does. One that is left out, and that the provider may set, is
//     as before, unless what was there holds something that only a program could have said: then it was taken out of the program.
//   - Blocks of a list go by position, those of a map by key, those of a set by what is equal beside what the provider sets.
//
// Config may hold unknown values; prior holds none, and is null where there is nothing yet.
func Propose(b *schema.Block, prior, config cty.Value) cty.Value {
	if config.IsNull() && prior.IsNull() {
		return prior
	}
	if prior.IsNull() {
		prior = b.Empty()
	}
	if config.IsNull() || !config.IsKnown() {
		return prior
	}
	members := map[string]cty.Value{}
	for name, m := range b.Members() {
		p, c := prior.GetAttr(name), config.GetAttr(name)
		a := m.Attribute
		switch {
		case a != nil && a.Computed && c.IsNull() && (!a.Optional || m.Nested == nil || !couldBeDeclared(m.Nested.Block, p)):
			members[name] = p
		case m.Nested != nil:
			members[name] = proposeNested(m.Nested, p, c)
		default:
			members[name] = c
		}
	}
	return cty.ObjectVal(members)
}

// couldBeDeclared reports whether a value of a nested attribute holds something that its provider does not set.
func couldBeDeclared(b *schema.Block, v cty.Value) bool {
	found := false
	_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		a := b.At(path)
		found = found || a != nil && a.Nested == nil && !a.Computed && !v.IsNull()
		return !found, nil
	})
	return found
}

func proposeNested(n *schema.Nested, prior, config cty.Value) cty.Value {
	if !config.IsKnown() || config.IsNull() && n.Nesting != schema.Group {
		return config
	}
	there := !prior.IsNull() && prior.IsKnown()
	switch n.Nesting {
	case schema.List:
		return proposeList(n, prior, config, there)
	case schema.Map:
		members := config.AsValueMap()
		if len(members) == 0 {
			return config
		}
		before := map[string]cty.Value{}
		if there {
			before = prior.AsValueMap()
		}
		for key, c := range members {
			if p, ok := before[key]; ok {
				members[key] = proposeOne(n, p, c)
			}
		}
		if config.Type().IsObjectType() {
			return cty.ObjectVal(members)
		}
		return cty.MapVal(members)
	case schema.Set:
		return proposeSet(n, prior, config, there)
	}
	return proposeOne(n, prior, config)
}

// proposeOne is one block. An element that is no object yet stays as it is declared.
func proposeOne(n *schema.Nested, prior, config cty.Value) cty.Value {
	if !config.IsKnown() || config.IsNull() && n.Nesting != schema.Group {
		return config
	}
	return Propose(n.Block, prior, config)
}

func proposeList(n *schema.Nested, prior, config cty.Value, there bool) cty.Value {
	if config.LengthInt() == 0 {
		return config
	}
	var out []cty.Value
	for it := config.ElementIterator(); it.Next(); {
		i, c := it.Element()
		if there && prior.HasIndex(i).True() {
			c = proposeOne(n, prior.Index(i), c)
		}
		out = append(out, c)
	}
	if config.Type().IsTupleType() {
		return cty.TupleVal(out)
	}
	return cty.ListVal(out)
}

func proposeSet(n *schema.Nested, prior, config cty.Value, there bool) cty.Value {
	if config.LengthInt() == 0 {
		return config
	}
	var before, out []cty.Value
	if there {
		before = prior.AsValueSlice()
	}
	used := make([]bool, len(before))
	for _, c := range config.AsValueSlice() {
		p := cty.NullVal(config.Type().ElementType())
		for i, x := range before {
			if !used[i] && sameElement(n.Block, x, c) {
				p, used[i] = x, true
				break
			}
		}
		out = append(out, proposeOne(n, p, c))
	}
	return cty.SetVal(out)
}

var errOther = errors.New("another element")

// sameElement reports whether what was there is what is declared, with what the provider set.
func sameElement(b *schema.Block, prior, config cty.Value) bool {
	return cty.Walk(prior, func(path cty.Path, p cty.Value) (bool, error) {
		c, err := path.Apply(config)
		if err != nil {
			return false, errOther
		}
		if c.RawEquals(p) {
			return false, nil
		}
		if c.Type().IsSetType() {
			return false, errOther // which of its elements belong together, nobody knows
		}
		a := b.At(path)
		switch {
		case a == nil || a.Nested != nil:
			return true, nil
		case a.Computed && c.IsNull():
			return false, nil
		}
		return false, errOther
	}) == nil
}

// WithoutWriteOnly is a value without what is only written: that stands in a configuration, and in no state.
func WithoutWriteOnly(b *schema.Block, v cty.Value) cty.Value {
	out, err := cty.Transform(v, func(path cty.Path, v cty.Value) (cty.Value, error) {
		if a := b.At(path); a != nil && a.WriteOnly {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		return v // no step above fails
	}
	return out
}

// Repaired is a state as an old SDK meant it: where it answers that there is no list or set of blocks, there is an empty one, and
// where it does not know them, there is one of which nothing is known. It is for what is shown and kept, and is never sent back.
func Repaired(b *schema.Block, v cty.Value) cty.Value {
	if v.IsNull() || !v.IsKnown() || v.LengthInt() == 0 {
		return v
	}
	members := v.AsValueMap()
	for name, n := range b.Blocks {
		if one := n.Block.Type(); one.HasDynamicTypes() || n.Nesting != schema.List && n.Nesting != schema.Set {
			continue
		}
		switch x := members[name]; {
		case !x.IsKnown():
			members[name] = listOf(n, []cty.Value{unknownBlock(n.Block)})
		case x.IsNull() || x.LengthInt() == 0:
			members[name] = n.Empty()
		default:
			all := x.AsValueSlice()
			for i, e := range all {
				all[i] = Repaired(n.Block, e)
			}
			members[name] = listOf(n, all)
		}
	}
	return cty.ObjectVal(members)
}

func listOf(n *schema.Nested, all []cty.Value) cty.Value {
	if n.Nesting == schema.Set {
		return cty.SetVal(all)
	}
	return cty.ListVal(all)
}

func unknownBlock(b *schema.Block) cty.Value {
	members := map[string]cty.Value{}
	for name, a := range b.Attributes {
		members[name] = cty.UnknownVal(a.Type)
	}
	for name, n := range b.Blocks {
		members[name] = n.Empty()
	}
	return cty.ObjectVal(members)
}
