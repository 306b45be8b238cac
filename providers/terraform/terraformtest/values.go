package terraformtest

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/proto"

	"github.com/athanor-dev/athanor/providers/terraform/schema"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type message = proto.Message

// mapKey is the key of the only entry of each map of a sample.
const mapKey = "one-entry"

// declarable are the attributes that a program may declare, those of objects behind the object.
func declarable(b *schema.Block, at tree.Path) (all []Attribute) {
	for name, m := range b.Members() {
		if !m.Declarable() {
			continue
		}
		a := Attribute{Path: at.Key(name), Holder: m.Nested != nil}
		if m.Attribute != nil {
			a.Required = m.Attribute.Required
		} else {
			a.Required = m.Nested.Min > 0
		}
		if all = append(all, a); m.Nested != nil {
			all = append(all, declarable(m.Nested.Block, below(m.Nested, a.Path))...)
		}
	}
	return all
}

// below is the path of the objects of an attribute.
func below(n *schema.Nested, at tree.Path) tree.Path {
	if n.Nesting == schema.Single || n.Nesting == schema.Group {
		return at
	}
	return at.Any()
}

// builder makes an object of a schema: of says what each attribute is that holds no objects.
type builder func(m schema.Member, at tree.Path) cty.Value

func (of builder) object(b *schema.Block, at tree.Path, without []tree.Path) cty.Value {
	members := map[string]cty.Value{}
	for name, m := range b.Members() {
		path := at.Key(name)
		if slices.Contains(without, path) {
			members[name] = cty.NullVal(m.Type())
			continue
		}
		if m.Nested == nil || !m.Declarable() {
			members[name] = of(m, path)
			continue
		}
		members[name] = wrapped(m.Nested, of.object(m.Nested.Block, below(m.Nested, path), without))
	}
	return cty.ObjectVal(members)
}

// wrapped is the value of an attribute of objects that has one.
func wrapped(n *schema.Nested, v cty.Value) cty.Value {
	switch n.Nesting {
	case schema.List:
		return listOf(v)
	case schema.Set:
		return cty.SetVal([]cty.Value{v})
	case schema.Map:
		return mapOf(v)
	}
	return v
}

func listOf(v cty.Value) cty.Value {
	if v.Type().HasDynamicTypes() {
		return cty.TupleVal([]cty.Value{v})
	}
	return cty.ListVal([]cty.Value{v})
}

func mapOf(v cty.Value) cty.Value {
	if v.Type().HasDynamicTypes() {
		return cty.ObjectVal(map[string]cty.Value{mapKey: v})
	}
	return cty.MapVal(map[string]cty.Value{mapKey: v})
}

// samples makes values of a type of resources.
type samples struct {
	block *schema.Block
	// documents are the attributes whose texts are documents in JSON.
	documents map[tree.Path]bool
	// without are the attributes that are left out, with all in them.
	without []tree.Path
}

// leaves reports whether an attribute is left out.
func (s samples) leaves(path tree.Path) bool {
	return slices.ContainsFunc(s.without, func(w tree.Path) bool { return path == w || strings.HasPrefix(string(path), string(w)+".") })
}

// of is a sample of an attribute, of which there are two.
func (s samples) of(m schema.Member, path tree.Path, other bool) cty.Value {
	v := sample(m.Type(), other)
	if s.documents[path] && m.Type() == cty.String {
		return cty.StringVal(`"` + v.AsString() + `"`)
	}
	return v
}

// given declares all, with another value at the path.
func (s samples) given(changed tree.Path) cty.Value {
	return builder(func(m schema.Member, path tree.Path) cty.Value {
		if !m.Declarable() {
			return cty.NullVal(m.Type())
		}
		return s.of(m, path, path == changed)
	}).object(s.block, "", s.without)
}

// state is that of an object which was made as [samples.given] declares it.
func (s samples) state() cty.Value {
	return builder(func(m schema.Member, path tree.Path) cty.Value {
		if m.Attribute != nil && m.Attribute.WriteOnly {
			return cty.NullVal(m.Type())
		}
		return s.of(m, path, false)
	}).object(s.block, "", s.without)
}

// absurd declares words and numbers that no service takes.
func (s samples) absurd(low bool) cty.Value {
	return builder(func(m schema.Member, path tree.Path) cty.Value {
		number := int64(1 << 53)
		if low {
			number = -number
		}
		switch typ := m.Type(); {
		case !m.Declarable():
			return cty.NullVal(typ)
		case typ == cty.Number:
			return cty.NumberIntVal(number)
		case low && typ == cty.String:
			return cty.StringVal("")
		default:
			return s.of(m, path, false)
		}
	}).object(s.block, "", s.without)
}

// sample is a value of a type, of which there are two.
func sample(typ cty.Type, other bool) cty.Value {
	switch {
	case typ == cty.Bool:
		return cty.BoolVal(other)
	case typ == cty.Number && other:
		return cty.NumberIntVal(2)
	case typ == cty.Number:
		return cty.NumberIntVal(1)
	case (typ == cty.String || typ == cty.DynamicPseudoType) && other:
		return cty.StringVal("2026-02-01T00:00:00Z") // some are moments, and a moment is a text as any other
	case typ == cty.String || typ == cty.DynamicPseudoType:
		return cty.StringVal("2026-01-01T00:00:00Z")
	case typ.IsListType():
		return listOf(sample(typ.ElementType(), other))
	case typ.IsSetType():
		return cty.SetVal([]cty.Value{sample(typ.ElementType(), other)})
	case typ.IsMapType():
		return mapOf(sample(typ.ElementType(), other))
	case typ.IsObjectType():
		members := map[string]cty.Value{}
		for name, of := range typ.AttributeTypes() {
			members[name] = sample(of, other)
		}
		return cty.ObjectVal(members)
	}
	return cty.NullVal(typ)
}

// pattern is a path with * for each element.
func pattern(path tree.Path) (all tree.Path) {
	for _, step := range path.Steps() {
		if step.Any || step.Index >= 0 || step.Key == mapKey {
			all = all.Any()
		} else {
			all = all.Key(step.Key)
		}
	}
	return all
}
