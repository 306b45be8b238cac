package schema_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/athanor-dev/athanor/providers/terraform/internal/tfplugin"
	"github.com/athanor-dev/athanor/providers/terraform/schema"
	"github.com/athanor-dev/athanor/providers/terraform/value"
)

// TestObjectsWithAnyValue reads a list of objects, which hold a value of any type, as providers send it: an attribute is a list of one type, blocks
// are a tuple.
func TestObjectsWithAnyValue(t *testing.T) {
	t.Parallel()
	any := []*tfplugin.Schema_Attribute{{Name: "id", Type: []byte(`"string"`)}, {Name: "meta", Type: []byte(`"dynamic"`)}}
	p, err := schema.Read(6, &tfplugin.GetProviderSchema_Response{
		Provider: &tfplugin.Schema{Block: &tfplugin.Schema_Block{}},
		DataSourceSchemas: map[string]*tfplugin.Schema{"some": {Block: &tfplugin.Schema_Block{
			Attributes: []*tfplugin.Schema_Attribute{{
				Name: "result", Computed: true,
				NestedType: &tfplugin.Schema_Object{Nesting: tfplugin.Schema_Object_LIST, Attributes: any},
			}},
			BlockTypes: []*tfplugin.Schema_NestedBlock{{TypeName: "rule", Nesting: tfplugin.Schema_NestedBlock_LIST, Block: &tfplugin.Schema_Block{Attributes: any}}},
		}}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	one := cty.Object(map[string]cty.Type{"id": cty.String, "meta": cty.DynamicPseudoType})
	typ := p.Data["some"].Value
	if got := typ.AttributeType("result"); !got.Equals(cty.List(one)) {
		t.Errorf("the attribute is of type %s", got.FriendlyName())
	}
	if got := typ.AttributeType("rule"); got != cty.DynamicPseudoType {
		t.Errorf("the blocks are of type %s", got.FriendlyName())
	}
	// {result: [{id: "a", meta: null}], rule: [...]}: a null of any type is a null, and a list is no pair of a type and a value.
	sent := []byte("\x82\xa6result\x91\x82\xa2id\xa1a\xa4meta\xc0\xa4rule\xc0")
	got, err := value.Decode(&tfplugin.DynamicValue{Msgpack: sent}, typ)
	if err != nil {
		t.Fatal(err)
	}
	if id := got.GetAttr("result").Index(cty.Zero).GetAttr("id"); id.AsString() != "a" {
		t.Errorf("%#v", got)
	}
}
