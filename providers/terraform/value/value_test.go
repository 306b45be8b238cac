package value_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/athanor-dev/athanor/providers/terraform/schema"
	"github.com/athanor-dev/athanor/providers/terraform/value"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// block has an attribute of each sort, and blocks in a list and in a set.
func block() *schema.Block {
	port := &schema.Block{Attributes: map[string]*schema.Attribute{
		"number": {Type: cty.Number, Required: true},
		"handle": {Type: cty.String, Computed: true},
	}}
	rules := &schema.Nested{Block: &schema.Block{Attributes: map[string]*schema.Attribute{
		"action": {Type: cty.String, Optional: true},
		"id":     {Type: cty.String, Computed: true},
	}}, Nesting: schema.List}
	return &schema.Block{
		Attributes: map[string]*schema.Attribute{
			"name":   {Type: cty.String, Required: true},
			"size":   {Type: cty.Number, Optional: true, Computed: true},
			"on":     {Type: cty.Bool, Optional: true},
			"labels": {Type: cty.Map(cty.String), Optional: true},
			"zones":  {Type: cty.Set(cty.String), Optional: true},
			"any":    {Type: cty.DynamicPseudoType, Optional: true},
			"id":     {Type: cty.String, Computed: true},
			"secret": {Type: cty.String, Optional: true, Sensitive: true},
			"once":   {Type: cty.String, Optional: true, WriteOnly: true},
			"rules":  {Type: rules.Type(), Optional: true, Computed: true, Nested: rules},
		},
		Blocks: map[string]*schema.Nested{
			"port": {Block: port, Nesting: schema.Set},
			"disk": {Block: &schema.Block{Attributes: map[string]*schema.Attribute{"gb": {Type: cty.Number, Optional: true}}}, Nesting: schema.List, Max: 2},
		},
	}
}

func known(tree.Path, any) bool { return false }

func config(t *testing.T, declared map[string]any) cty.Value {
	t.Helper()
	v, err := value.Config(block(), declared, known)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func object(t *testing.T, members map[string]cty.Value) cty.Value {
	t.Helper()
	all := block().Empty().AsValueMap()
	maps.Copy(all, members)
	return cty.ObjectVal(all)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	declared := map[string]any{
		"name": "a", "size": int64(3), "on": true, "labels": map[string]any{"x": "y"}, "zones": []any{"b", "a"},
		"any": map[string]any{"n": 1.5, "l": []any{"a", nil}}, "port": []any{map[string]any{"number": int64(80)}},
		"disk": map[string]any{"gb": "20"}, // one block without its list, and a number in quotes
	}
	got, ok := value.Tree(config(t, declared)).(map[string]any)
	want := map[string]any{
		"name": "a", "size": int64(3), "on": true, "labels": map[string]any{"x": "y"}, "zones": []any{"a", "b"},
		"any": map[string]any{"n": 1.5, "l": []any{"a", nil}}, "port": []any{map[string]any{"number": int64(80)}},
		"disk": []any{map[string]any{"gb": int64(20)}},
	}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestConfigRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		declared map[string]any
		at, want string
	}{
		{map[string]any{}, "name", "required"},
		{map[string]any{"name": "a", "nmae": "b"}, "nmae", "there is no such prop; did you mean name?"},
		{map[string]any{"name": "a", "id": "x"}, "id", "the provider sets it; it cannot be declared"},
		{map[string]any{"name": "a", "size": "many"}, "size", "want number"},
		{map[string]any{"name": []any{"a"}}, "name", "want string"},
		{map[string]any{"name": "a", "labels": []any{}}, "labels", "want map of string"},
		{map[string]any{"name": "a", "zones": []any{map[string]any{}}}, "zones[0]", "want string"},
		{map[string]any{"name": "a", "port": []any{map[string]any{}}}, "port[0].number", "required"},
		{map[string]any{"name": "a", "port": []any{"x"}}, "port[0]", "want an object"},
		{map[string]any{"name": "a", "disk": []any{map[string]any{}, map[string]any{}, map[string]any{}}}, "disk", "at most 2, have 3"},
		{map[string]any{"name": "a", "rules": "x"}, "rules", "want a list of objects"},
	} {
		_, err := value.Config(block(), c.declared, known)
		var errs props.Errors
		if !errors.As(err, &errs) || len(errs) != 1 || string(errs[0].Path) != c.at || errs[0].Problem != c.want {
			t.Errorf("%v: %v, want %s: %s", c.declared, err, c.at, c.want)
		}
	}
}

// TestUnknown says what is known of a declaration with references: an element of a set may be equal to another, so that nothing is
// known of the set.
func TestUnknown(t *testing.T) {
	t.Parallel()
	v, err := value.Config(block(), map[string]any{
		"name": "ref", "labels": map[string]any{"a": "ref", "b": "c"}, "zones": []any{"a", "ref"}, "disk": []any{map[string]any{"gb": "ref"}},
	}, func(_ tree.Path, v any) bool { return v == "ref" })
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"name", "zones"} {
		if v.GetAttr(name).IsKnown() {
			t.Errorf("%s is known", name)
		}
	}
	labels, disk := v.GetAttr("labels"), v.GetAttr("disk")
	if labels.Index(cty.StringVal("a")).IsKnown() || !labels.Index(cty.StringVal("b")).IsKnown() {
		t.Errorf("labels: %#v", labels)
	}
	if !disk.IsKnown() || disk.Index(cty.NumberIntVal(0)).GetAttr("gb").IsKnown() {
		t.Errorf("disk: %#v", disk)
	}
}

// TestPropose holds the proposed state to the rules of the protocol. The state before is what a provider would have made of another
// declaration.
func TestPropose(t *testing.T) {
	t.Parallel()
	port := func(number int64, handle string) cty.Value {
		h := cty.NullVal(cty.String)
		if handle != "" {
			h = cty.StringVal(handle)
		}
		return cty.ObjectVal(map[string]cty.Value{"number": cty.NumberIntVal(number), "handle": h})
	}
	rule := func(action, id cty.Value) cty.Value {
		return cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"action": action, "id": id})})
	}
	null := cty.NullVal(cty.String)
	prior := func(members map[string]cty.Value) cty.Value {
		all := map[string]cty.Value{"name": cty.StringVal("a"), "id": cty.StringVal("i-1"), "size": cty.NumberIntVal(7)}
		maps.Copy(all, members)
		return object(t, all)
	}
	for _, c := range []struct {
		name     string
		prior    cty.Value
		declared map[string]any
		at       string
		want     cty.Value
	}{
		{"a new one has nothing", cty.NullVal(block().Type()), map[string]any{"name": "a"}, "id", null},
		{"what only the provider sets is as before", prior(nil), map[string]any{"name": "a"}, "id", cty.StringVal("i-1")},
		{"what it may set is as before", prior(nil), map[string]any{"name": "a"}, "size", cty.NumberIntVal(7)},
		{"unless it is declared", prior(nil), map[string]any{"name": "a", "size": int64(8)}, "size", cty.NumberIntVal(8)},
		{"what only a program sets is gone with it", prior(map[string]cty.Value{"on": cty.True}), map[string]any{"name": "a"}, "on", cty.NullVal(cty.Bool)},
		{
			"elements of a set keep what was set for them", prior(map[string]cty.Value{"port": cty.SetVal([]cty.Value{port(80, "h80"), port(22, "h22")})}),
			map[string]any{"name": "a", "port": []any{map[string]any{"number": int64(80)}, map[string]any{"number": int64(443)}}},
			"port", cty.SetVal([]cty.Value{port(80, "h80"), port(443, "")}),
		},
		{
			"nested objects that a program said are gone with it", prior(map[string]cty.Value{"rules": rule(cty.StringVal("deny"), cty.StringVal("r-1"))}),
			map[string]any{"name": "a"},
			"rules", cty.NullVal(block().Attributes["rules"].Type),
		},
		{
			"those that the provider made stay", prior(map[string]cty.Value{"rules": rule(null, cty.StringVal("r-1"))}),
			map[string]any{"name": "a"},
			"rules", rule(null, cty.StringVal("r-1")),
		},
		{
			"members go by position", prior(map[string]cty.Value{"rules": rule(cty.StringVal("deny"), cty.StringVal("r-1"))}),
			map[string]any{"name": "a", "rules": []any{map[string]any{"action": "allow"}}},
			"rules", rule(cty.StringVal("allow"), cty.StringVal("r-1")),
		},
	} {
		got := value.Propose(block(), c.prior, config(t, c.declared)).GetAttr(c.at)
		if !got.RawEquals(c.want) {
			t.Errorf("%s: %#v, want %#v", c.name, got, c.want)
		}
	}
	if got := value.Propose(block(), prior(nil), cty.NullVal(block().Type())); !got.RawEquals(prior(nil)) {
		t.Errorf("nothing declared: %#v", got)
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	have := object(t, map[string]cty.Value{
		"name": cty.StringVal("a"), "secret": cty.StringVal("old"), "on": cty.False, "labels": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("1"), "b": cty.StringVal("2")}),
	})
	want := object(t, map[string]cty.Value{
		"name": cty.StringVal("b"), "secret": cty.StringVal("new"), "labels": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("1"), "c": cty.StringVal("3")}),
		"id": cty.UnknownVal(cty.String),
	})
	for _, alike := range []bool{false, true} {
		var got []string
		for _, d := range value.Differences(block(), have, want, alike) {
			text := string(d.At())
			if d.Sensitive {
				text += " (sensitive)"
			}
			got = append(got, text)
		}
		expected := []string{"id", "labels.c", "labels.b", "name", "on", "secret (sensitive)"}
		if alike { // false and null are the same to an old SDK
			expected = []string{"id", "labels.c", "labels.b", "name", "secret (sensitive)"}
		}
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Errorf("alike %t (-want +got)\n%s", alike, diff)
		}
	}
}

// TestRepaired makes of the blocks that an old SDK leaves out, or does not know, what it means.
func TestRepaired(t *testing.T) {
	t.Parallel()
	of := block().Blocks["disk"].Type()
	got := value.Repaired(block(), object(t, map[string]cty.Value{"disk": cty.NullVal(of), "port": cty.UnknownVal(block().Blocks["port"].Type())}))
	if disk := got.GetAttr("disk"); disk.IsNull() || disk.LengthInt() != 0 {
		t.Errorf("disk: %#v", disk)
	}
	if port := got.GetAttr("port"); !port.IsKnown() || port.LengthInt() != 1 {
		t.Errorf("port: %#v", port)
	}
}

func TestWriteOnly(t *testing.T) {
	t.Parallel()
	v := config(t, map[string]any{"name": "a", "once": "s3cret"})
	if got := value.WithoutWriteOnly(block(), v); !got.GetAttr("once").IsNull() || got.GetAttr("name").IsNull() {
		t.Errorf("%#v", got)
	}
}
