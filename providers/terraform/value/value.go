// Package value turns what a program declares into the values of a Terraform provider, and back: trees into cty values by the
// schema of a type, those into the bytes of a call. It proposes the state that a provider is asked to plan, and finds what differs
// between two. It knows values and schemas. It does not know calls, nor whose an object is.
package value

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/msgpack"

	"github.com/athanor-dev/athanor/providers/terraform/internal/tfplugin"
	"github.com/athanor-dev/athanor/providers/terraform/schema"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Encode writes a value of a type for a call.
func Encode(v cty.Value, ty cty.Type) (*tfplugin.DynamicValue, error) {
	data, err := msgpack.Marshal(v, ty)
	if err != nil {
		return nil, err
	}
	return &tfplugin.DynamicValue{Msgpack: data}, nil
}

// Decode reads a value of a type out of an answer. No value is null.
func Decode(v *tfplugin.DynamicValue, ty cty.Type) (cty.Value, error) {
	if len(v.GetMsgpack()) == 0 {
		return cty.NullVal(ty), nil
	}
	return msgpack.Unmarshal(v.Msgpack, ty)
}

// Unknown reports whether the value at a path of what is declared is known only later.
type Unknown func(path tree.Path, v any) bool

// Config is what is declared, as the value that a provider is configured or asked with. Each path that no schema has, each value of
// another type, and each block that stands too often or not at all is one of its errors: a [props.Errors].
func Config(b *schema.Block, declared map[string]any, unknown Unknown) (cty.Value, error) {
	c := &configuring{unknown: unknown}
	v := c.block(b, "", declared)
	if len(c.errs) > 0 {
		return cty.NilVal, c.errs
	}
	return v, nil
}

type configuring struct {
	unknown Unknown
	errs    props.Errors
}

func (c *configuring) wrong(at tree.Path, format string, args ...any) {
	c.errs.Wrong(at, fmt.Sprintf(format, args...))
}

func (c *configuring) block(b *schema.Block, at tree.Path, declared map[string]any) cty.Value {
	members := map[string]cty.Value{}
	var names []string
	for name, m := range b.Members() {
		if m.Declarable() {
			names = append(names, name)
		}
		v, given := declared[name]
		members[name] = c.member(m, at.Key(name), v, given && v != nil)
	}
	for _, name := range tree.AppendKeys(nil, declared) {
		switch m := b.Member(name); {
		case !m.Known():
			c.unknownName(at.Key(name), name, names)
		case !m.Declarable() && declared[name] != nil:
			c.wrong(at.Key(name), "the provider sets it; it cannot be declared")
		}
	}
	return cty.ObjectVal(members)
}

func (c *configuring) unknownName(at tree.Path, name string, names []string) {
	if near, ok := props.Nearest(name, names); ok {
		c.wrong(at, "there is no such prop; did you mean %s?", near)
		return
	}
	c.wrong(at, "there is no such prop")
}

func (c *configuring) member(m schema.Member, at tree.Path, v any, given bool) cty.Value {
	switch {
	case !given && m.Attribute != nil:
		if m.Attribute.Required {
			c.wrong(at, "required")
		}
		return cty.NullVal(m.Attribute.Type)
	case !given:
		if m.Nested.Min > 0 {
			c.wrong(at, "required")
		}
		return m.Nested.Empty()
	case c.unknown(at, v):
		return cty.UnknownVal(m.Type())
	case m.Nested != nil:
		return c.nested(m, at, v)
	}
	return c.plain(m.Attribute.Type, at, v)
}

// nested is a value of blocks, or of an attribute that consists of objects. One block may be written without its list.
func (c *configuring) nested(m schema.Member, at tree.Path, v any) cty.Value {
	n := m.Nested
	switch n.Nesting {
	case schema.Map:
		entries, ok := v.(map[string]any)
		if !ok {
			c.wrong(at, "want a map of objects")
			return cty.NullVal(m.Type())
		}
		members := map[string]cty.Value{}
		for _, key := range tree.AppendKeys(nil, entries) {
			members[key] = c.element(n, at.Key(key), entries[key])
		}
		switch {
		case len(members) == 0 && m.Attribute != nil:
			return cty.MapValEmpty(n.Block.Type())
		case len(members) == 0:
			return n.Empty()
		case m.Type() == cty.DynamicPseudoType:
			return cty.ObjectVal(members)
		case !cty.CanMapVal(members):
			return c.mixed(m, at)
		}
		return cty.MapVal(members)
	case schema.List, schema.Set:
		list, ok := v.([]any)
		if !ok {
			if _, one := v.(map[string]any); !one || m.Attribute != nil {
				c.wrong(at, "want a list of objects")
				return cty.NullVal(m.Type())
			}
			list = []any{v}
		}
		if n.Max > 0 && len(list) > n.Max {
			c.wrong(at, "at most %d, have %d", n.Max, len(list))
		}
		if len(list) < n.Min {
			c.wrong(at, "at least %d, have %d", n.Min, len(list))
		}
		return c.list(m, at, list)
	}
	return c.element(n, at, v)
}

func (c *configuring) list(m schema.Member, at tree.Path, list []any) cty.Value {
	elements := make([]cty.Value, len(list))
	for i, e := range list {
		elements[i] = c.element(m.Nested, at.Index(i), e)
	}
	switch {
	case len(elements) == 0 && m.Attribute == nil:
		return m.Nested.Empty()
	case m.Type() == cty.DynamicPseudoType:
		return cty.TupleVal(elements)
	case m.Nested.Nesting == schema.Set && len(elements) == 0:
		return cty.SetValEmpty(m.Nested.Block.Type())
	case len(elements) == 0:
		return cty.ListValEmpty(m.Nested.Block.Type())
	case !cty.CanListVal(elements):
		return c.mixed(m, at)
	case m.Nested.Nesting == schema.Set:
		return cty.SetVal(elements)
	}
	return cty.ListVal(elements)
}

// mixed is about objects with values of any type, which are of one type each time.
func (c *configuring) mixed(m schema.Member, at tree.Path) cty.Value {
	c.wrong(at, "its objects have values of different types at one name, where the provider takes one type")
	return cty.NullVal(m.Type())
}

func (c *configuring) element(n *schema.Nested, at tree.Path, v any) cty.Value {
	if c.unknown(at, v) {
		return cty.UnknownVal(n.Block.Type())
	}
	members, ok := v.(map[string]any)
	if !ok {
		c.wrong(at, "want an object")
		return cty.NullVal(n.Block.Type())
	}
	return c.block(n.Block, at, members)
}

// plain is a value of an attribute that has no schema below it but its type.
func (c *configuring) plain(ty cty.Type, at tree.Path, v any) cty.Value {
	if v == nil {
		return cty.NullVal(ty)
	}
	if c.unknown(at, v) {
		return cty.UnknownVal(ty)
	}
	switch {
	case ty == cty.DynamicPseudoType:
		return c.any(at, v)
	case ty.IsPrimitiveType():
		return c.primitive(ty, at, v)
	case ty.IsObjectType():
		return c.object(ty, at, v)
	case ty.IsMapType():
		entries, ok := v.(map[string]any)
		if !ok {
			break
		}
		members := map[string]cty.Value{}
		for _, key := range tree.AppendKeys(nil, entries) {
			members[key] = c.plain(ty.ElementType(), at.Key(key), entries[key])
		}
		if len(members) == 0 {
			return cty.MapValEmpty(ty.ElementType())
		}
		return cty.MapVal(members)
	case ty.IsListType() || ty.IsSetType() || ty.IsTupleType():
		return c.sequence(ty, at, v)
	}
	c.wrong(at, "want %s", ty.FriendlyName())
	return cty.NullVal(ty)
}

func (c *configuring) sequence(ty cty.Type, at tree.Path, v any) cty.Value {
	list, ok := v.([]any)
	if !ok || ty.IsTupleType() && ty.Length() != len(list) {
		c.wrong(at, "want %s", ty.FriendlyName())
		return cty.NullVal(ty)
	}
	elements := make([]cty.Value, len(list))
	for i, e := range list {
		if ty.IsTupleType() {
			elements[i] = c.plain(ty.TupleElementType(i), at.Index(i), e)
			continue
		}
		elements[i] = c.plain(ty.ElementType(), at.Index(i), e)
	}
	switch {
	case ty.IsTupleType():
		return cty.TupleVal(elements)
	case ty.IsSetType() && slices.ContainsFunc(elements, func(v cty.Value) bool { return !v.IsWhollyKnown() }):
		return cty.UnknownVal(ty) // an element that is not known may be equal to another
	case ty.IsSetType() && len(elements) == 0:
		return cty.SetValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetVal(elements)
	case len(elements) == 0:
		return cty.ListValEmpty(ty.ElementType())
	}
	return cty.ListVal(elements)
}

func (c *configuring) object(ty cty.Type, at tree.Path, v any) cty.Value {
	declared, ok := v.(map[string]any)
	if !ok {
		c.wrong(at, "want an object")
		return cty.NullVal(ty)
	}
	members := map[string]cty.Value{}
	var names []string
	for name, of := range ty.AttributeTypes() {
		members[name] = c.plain(of, at.Key(name), declared[name])
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range tree.AppendKeys(nil, declared) {
		if !ty.HasAttribute(name) {
			c.unknownName(at.Key(name), name, names)
		}
	}
	return cty.ObjectVal(members)
}

// primitive is a text, a number or a boolean; each may be written as another where that means the same, as providers allow.
func (c *configuring) primitive(ty cty.Type, at tree.Path, v any) cty.Value {
	var raw cty.Value
	switch v := v.(type) {
	case string:
		raw = cty.StringVal(v)
	case bool:
		raw = cty.BoolVal(v)
	case int64:
		raw = cty.NumberIntVal(v)
	case float64:
		raw = number(v)
	default:
		c.wrong(at, "want %s", ty.FriendlyName())
		return cty.NullVal(ty)
	}
	out, err := convert.Convert(raw, ty)
	if err != nil {
		c.wrong(at, "want %s", ty.FriendlyName())
		return cty.NullVal(ty)
	}
	return out
}

// number is the shortest decimal that means the float: it is what was written.
func number(f float64) cty.Value {
	v, err := cty.ParseNumberVal(strconv.FormatFloat(f, 'g', -1, 64))
	if err != nil {
		return cty.NumberFloatVal(f)
	}
	return v
}

// any is a value whose type nobody says.
func (c *configuring) any(at tree.Path, v any) cty.Value {
	if c.unknown(at, v) {
		return cty.DynamicVal
	}
	switch v := v.(type) {
	case nil:
		return cty.NullVal(cty.DynamicPseudoType)
	case map[string]any:
		members := map[string]cty.Value{}
		for _, key := range tree.AppendKeys(nil, v) {
			members[key] = c.any(at.Key(key), v[key])
		}
		return cty.ObjectVal(members)
	case []any:
		elements := make([]cty.Value, len(v))
		for i, e := range v {
			elements[i] = c.any(at.Index(i), e)
		}
		return cty.TupleVal(elements)
	case bool:
		return cty.BoolVal(v)
	case int64:
		return cty.NumberIntVal(v)
	case float64:
		return number(v)
	case string:
		return cty.StringVal(v)
	}
	c.wrong(at, "want a value")
	return cty.DynamicVal
}

// Tree is a value that is wholly known as a tree; null members of objects are left out. A number that no int64 or float64 holds is
// text.
func Tree(v cty.Value) any {
	v, _ = v.Unmark()
	ty := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
		return nil
	case ty == cty.String:
		return v.AsString()
	case ty == cty.Bool:
		return v.True()
	case ty == cty.Number:
		return numberTree(v.AsBigFloat())
	case ty.IsObjectType() || ty.IsMapType():
		members := map[string]any{}
		for it := v.ElementIterator(); it.Next(); {
			key, e := it.Element()
			if t := Tree(e); t != nil {
				members[key.AsString()] = t
			}
		}
		return members
	case ty.IsListType() || ty.IsSetType() || ty.IsTupleType():
		list := make([]any, 0, v.LengthInt())
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			list = append(list, Tree(e))
		}
		return list
	}
	return nil
}

func numberTree(f *big.Float) any {
	if i, acc := f.Int64(); acc == big.Exact {
		return i
	}
	near, _ := f.Float64()
	if text := f.Text('g', -1); tree.Exact(text, near) {
		return near
	}
	short := strconv.FormatFloat(near, 'g', -1, 64)
	if parsed, err := cty.ParseNumberVal(short); err == nil && parsed.AsBigFloat().Cmp(f) == 0 {
		return near
	}
	return f.Text('f', -1)
}
