package terraform

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/athanor-dev/athanor/providers/terraform/schema"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// fields are what may be declared of a type, and what an object of it tells.
func (k *kind) fields() (declared, told []props.Field) {
	for name, m := range k.Block.Members() {
		f := field(tree.Path("").Key(name), m)
		if m.Declarable() {
			declared = append(declared, f)
		}
		if a := m.Attribute; a == nil || !a.WriteOnly {
			f.Required = false
			told = append(told, f)
		}
	}
	return declared, told
}

// field describes an attribute or a block.
func field(at tree.Path, m schema.Member) props.Field {
	f := props.Field{Path: at, TakesRef: true}
	if a := m.Attribute; a != nil {
		f.Required, f.Doc, f.Secret = a.Required, a.Doc, a.Sensitive
		if a.Nested == nil {
			f.Type = typeName(a.Type)
			return f
		}
	} else {
		f.Doc, f.Required = m.Nested.Doc, m.Nested.Min > 0
	}
	below := at
	switch m.Nested.Nesting {
	case schema.List, schema.Set:
		f.Type, below = "list of object", at.Any()
	case schema.Map:
		f.Type, below = "map of object", at.Any()
	default:
		f.Type = "object"
	}
	for name, inner := range m.Nested.Members() {
		if inner.Declarable() || m.Attribute != nil {
			f.Fields = append(f.Fields, field(below.Key(name), inner))
		}
	}
	return f
}

// typeName is a type in the words of fields.
func typeName(ty cty.Type) string {
	switch {
	case ty == cty.String:
		return "string"
	case ty == cty.Number:
		return "number"
	case ty == cty.Bool:
		return "bool"
	case ty.IsListType() || ty.IsSetType():
		return "list of " + typeName(ty.ElementType())
	case ty.IsMapType():
		return "map of " + typeName(ty.ElementType())
	case ty.IsObjectType():
		return "object"
	}
	return "any"
}

// configSecrets are the paths of what is secret of a configuration that comes with an object.
func (k *kind) configSecrets() []tree.Path {
	if k.provider == nil {
		return nil
	}
	fields, _ := (&kind{Type: k.provider}).fields()
	at, all := tree.Path("").Key(configProp), []tree.Path(nil)
	for _, p := range secrets(fields) {
		all = append(all, at.Join(p))
	}
	return all
}

// secrets are the paths of fields that are secret.
func secrets(fields []props.Field) []tree.Path {
	var all []tree.Path
	for _, f := range fields {
		if f.Secret {
			all = append(all, f.Path)
			continue
		}
		all = slices.Concat(all, secrets(f.Fields))
	}
	return all
}
