// Package schema reads what a Terraform provider says of its types: attributes, blocks, and which of them are computed, sensitive
// or written only. It knows the shape of values. It does not know how values come from a program, nor what a provider does.
package schema

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/athanor-dev/athanor/providers/terraform/internal/tfplugin"
)

// Provider is all that a provider has.
type Provider struct {
	// Config is what it is configured with.
	Config *Type
	// Resources and Data are its types of resources and of data sources, by name.
	Resources, Data map[string]*Type
	// PlansDeletion says that it wants to plan a deletion before it does it.
	PlansDeletion bool
}

// Type is one type, or the configuration of the provider.
type Type struct {
	Name string
	// Version is that of the schema that values are written by.
	Version int64
	Block   *Block
	// Value is the type of its values.
	Value cty.Type
	// Mark tells the type and the version of values from all others. It is made when it is first asked for.
	Mark func() string
	// Identity is the type of what identifies an object of it, [cty.NilType] where the provider does not say.
	Identity        cty.Type
	IdentityVersion int64
}

// Nesting is how often a block or a nested object stands.
type Nesting int

// The nestings. A group stands once, and is there even where nobody declares it.
const (
	Single Nesting = iota + 1
	List
	Set
	Map
	Group
)

// Block is a set of attributes and blocks: a type as a whole, a block in it, or a nested attribute, which has no blocks.
type Block struct {
	Attributes map[string]*Attribute
	Blocks     map[string]*Nested
	Doc        string
	// Deprecated is why it should not be used, "" where it may.
	Deprecated string
}

// Nested is a block in a block, or the objects of an attribute.
type Nested struct {
	*Block
	Nesting Nesting
	// Min and Max bound how often a block stands; 0 is no bound. They mean nothing for an attribute.
	Min, Max int
}

// Attribute is one value.
type Attribute struct {
	Type cty.Type
	// Nested are the objects that it consists of, nil for a plain one.
	Nested                                             *Nested
	Doc, Deprecated                                    string
	Required, Optional, Computed, Sensitive, WriteOnly bool
}

// Read reads the answers of a provider of a version of the protocol. identities may be nil, for one that has none.
func Read(protocol int, schemas *tfplugin.GetProviderSchema_Response, identities *tfplugin.GetResourceIdentitySchemas_Response) (*Provider, error) {
	p := &Provider{
		Resources: map[string]*Type{}, Data: map[string]*Type{},
		PlansDeletion: schemas.GetServerCapabilities().GetPlanDestroy(),
	}
	r := reader{protocol}
	var err error
	if p.Config, err = r.whole("the provider's configuration", schemas.Provider); err != nil {
		return nil, err
	}
	for _, of := range []struct {
		from map[string]*tfplugin.Schema
		to   map[string]*Type
	}{{schemas.ResourceSchemas, p.Resources}, {schemas.DataSourceSchemas, p.Data}} {
		for name, s := range of.from {
			if of.to[name], err = r.whole(name, s); err != nil {
				return nil, err
			}
		}
	}
	for name, s := range identities.GetIdentitySchemas() {
		if t, ok := p.Resources[name]; ok {
			if err := t.identify(s); err != nil {
				return nil, fmt.Errorf("the identity of %s: %w", name, err)
			}
		}
	}
	return p, nil
}

// reader reads the schemas of one version of the protocol.
type reader struct{ protocol int }

func (r reader) whole(name string, s *tfplugin.Schema) (*Type, error) {
	b, err := r.block(s.GetBlock())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t := &Type{Name: name, Version: s.GetVersion(), Block: b, Value: b.Type()}
	t.Mark = sync.OnceValue(t.mark)
	return t, nil
}

// mark is a digest of what the state of an object is written by.
func (t *Type) mark() string {
	written, err := t.Value.MarshalJSON()
	if err != nil {
		return "" // it identifies nothing
	}
	sum := sha256.Sum256(fmt.Appendf(written, "%d", t.Version))
	return base64.RawStdEncoding.EncodeToString(sum[:9])
}

func (t *Type) identify(s *tfplugin.ResourceIdentitySchema) error {
	members := map[string]cty.Type{}
	for _, a := range s.IdentityAttributes {
		ty, err := typeOf(a.Type)
		if err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		members[a.Name] = ty
	}
	t.Identity, t.IdentityVersion = cty.Object(members), s.Version
	return nil
}

func (r reader) block(b *tfplugin.Schema_Block) (*Block, error) {
	out := &Block{Attributes: map[string]*Attribute{}, Blocks: map[string]*Nested{}, Doc: b.GetDescription()}
	if b.GetDeprecated() {
		out.Deprecated = orElse(b.GetDeprecationMessage(), "deprecated")
	}
	if err := r.attributes(out, b.GetAttributes()); err != nil {
		return nil, err
	}
	for _, n := range b.GetBlockTypes() {
		inner, err := r.block(n.Block)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.TypeName, err)
		}
		nesting := Nesting(n.Nesting)
		if nesting < Single || nesting > Group {
			return nil, fmt.Errorf("%s: there is no nesting %d", n.TypeName, n.Nesting)
		}
		out.Blocks[n.TypeName] = &Nested{Block: inner, Nesting: nesting, Min: int(n.MinItems), Max: int(n.MaxItems)}
	}
	return out, nil
}

func (r reader) attributes(into *Block, all []*tfplugin.Schema_Attribute) error {
	for _, a := range all {
		out := &Attribute{
			Doc: a.Description, Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive,
			WriteOnly: r.writeOnly(a),
		}
		if a.Deprecated {
			out.Deprecated = orElse(a.DeprecationMessage, "deprecated")
		}
		if err := r.typed(out, a); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		into.Attributes[a.Name] = out
	}
	return nil
}

func (r reader) typed(out *Attribute, a *tfplugin.Schema_Attribute) (err error) {
	if a.NestedType == nil {
		out.Type, err = typeOf(a.Type)
		return err
	}
	nesting := Nesting(a.NestedType.Nesting)
	if nesting < Single || nesting > Map {
		return fmt.Errorf("there is no nesting %d", a.NestedType.Nesting)
	}
	inner := &Block{Attributes: map[string]*Attribute{}}
	if err := r.attributes(inner, a.NestedType.Attributes); err != nil {
		return err
	}
	out.Nested = &Nested{Block: inner, Nesting: nesting}
	out.Type = out.Nested.values()
	return nil
}

// writeOnly is field 11 of an attribute, and field 10 in version 5 of the protocol, where version 6 has the nested type: there it
// is no message, and so left unread.
func (r reader) writeOnly(a *tfplugin.Schema_Attribute) bool {
	if r.protocol != 5 {
		return a.WriteOnly
	}
	return hasTrue(a.ProtoReflect().GetUnknown(), 10)
}

// typeOf reads a type from its form in JSON.
func typeOf(data []byte) (ty cty.Type, err error) {
	if err = json.Unmarshal(data, &ty); err != nil {
		return cty.NilType, fmt.Errorf("its type: %w", err)
	}
	return ty, nil
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// Type is the type of the values that are as the block says.
func (b *Block) Type() cty.Type {
	members := map[string]cty.Type{}
	for name, a := range b.Attributes {
		members[name] = a.Type
	}
	for name, n := range b.Blocks {
		members[name] = n.Type()
	}
	return cty.Object(members)
}

// Type is the type of the values of all its blocks together. Of a list or map of blocks that hold values of any type, each has a
// type of its own.
func (n *Nested) Type() cty.Type {
	one := n.Block.Type()
	switch n.Nesting {
	case List:
		if one.HasDynamicTypes() {
			return cty.DynamicPseudoType
		}
		return cty.List(one)
	case Set:
		return cty.Set(one)
	case Map:
		if one.HasDynamicTypes() {
			return cty.DynamicPseudoType
		}
		return cty.Map(one)
	}
	return one
}

// values is the type of an attribute that consists of these objects: unlike blocks, they are elements of one type also where it holds values of any type.
func (n *Nested) values() cty.Type {
	one := n.Block.Type()
	switch n.Nesting {
	case List:
		return cty.List(one)
	case Set:
		return cty.Set(one)
	case Map:
		return cty.Map(one)
	}
	return one
}

// Empty is a value in which nothing is declared: its attributes are null, and there are no blocks.
func (b *Block) Empty() cty.Value {
	members := map[string]cty.Value{}
	for name, a := range b.Attributes {
		members[name] = cty.NullVal(a.Type)
	}
	for name, n := range b.Blocks {
		members[name] = n.Empty()
	}
	return cty.ObjectVal(members)
}

// Empty is the value of no such block.
func (n *Nested) Empty() cty.Value {
	one := n.Block.Type()
	switch n.Nesting {
	case List:
		if one.HasDynamicTypes() {
			return cty.EmptyTupleVal
		}
		return cty.ListValEmpty(one)
	case Set:
		return cty.SetValEmpty(one)
	case Map:
		if one.HasDynamicTypes() {
			return cty.EmptyObjectVal
		}
		return cty.MapValEmpty(one)
	case Group:
		return n.Block.Empty()
	}
	return cty.NullVal(one)
}

// At is the attribute at a path, or the one that holds it; nil where there are only blocks, or nothing.
func (b *Block) At(path cty.Path) *Attribute {
	for i, step := range path {
		name, ok := step.(cty.GetAttrStep)
		if !ok {
			continue // an element of what came before
		}
		if a := b.Attributes[name.Name]; a != nil {
			if a.Nested == nil {
				return a
			}
			if inner := a.Nested.At(path[i+1:]); inner != nil {
				return inner
			}
			return a
		}
		n := b.Blocks[name.Name]
		if n == nil {
			return nil
		}
		b = n.Block
	}
	return nil
}

// Members are the attributes and the blocks, by name.
func (b *Block) Members() iter.Seq2[string, Member] {
	return func(yield func(string, Member) bool) {
		names := slices.AppendSeq(slices.Collect(maps.Keys(b.Attributes)), maps.Keys(b.Blocks))
		slices.Sort(names)
		for _, name := range names {
			if !yield(name, b.Member(name)) {
				return
			}
		}
	}
}

// Member is an attribute or a block. Nested is set for blocks and for attributes that consist of objects.
type Member struct {
	Attribute *Attribute
	Nested    *Nested
}

// Member is the attribute or the block of a name, the zero value where there is none.
func (b *Block) Member(name string) Member {
	if a := b.Attributes[name]; a != nil {
		return Member{a, a.Nested}
	}
	return Member{Nested: b.Blocks[name]}
}

// Known reports whether there is one.
func (m Member) Known() bool { return m.Attribute != nil || m.Nested != nil }

// Declarable reports whether a program may say it.
func (m Member) Declarable() bool {
	return m.Attribute == nil && m.Nested != nil || m.Attribute != nil && (m.Attribute.Required || m.Attribute.Optional)
}

// Type is that of its values.
func (m Member) Type() cty.Type {
	if m.Attribute != nil {
		return m.Attribute.Type
	}
	return m.Nested.Type()
}
