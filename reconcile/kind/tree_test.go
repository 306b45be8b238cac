package kind_test

import (
	"testing"

	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestTree: what a program declares of any shape is sent and read as it is, and needs the codec.
func TestTree(t *testing.T) {
	type withCodec struct {
		Data map[string]any `wire:"data,tree"`
	}
	table, data := kind.TableOf[withCodec](kind.Tree()), map[string]any{"port": int64(5060), "tags": []any{"a", nil}}
	sent := kind.Document{}
	if err := table.Created(withCodec{data}, sent); err != nil || !tree.Equal(sent["data"], data) {
		t.Errorf("sent %v, %v", sent, err)
	}
	if have, err := table.Read(sent); err != nil || !tree.Equal(have.Data, data) {
		t.Errorf("read %v, %v", have, err)
	}
	type without struct {
		Data map[string]any `wire:"data"`
	}
	if err := kind.TableOf[without]().Validate(); err == nil {
		t.Error("a map of anything has a form of its own")
	}
}

// TestWhole: a map that is managed whole is one difference, and the word means nothing for anything else.
func TestWhole(t *testing.T) {
	type apart struct {
		Data map[string]any `wire:"data,tree"`
	}
	type whole struct {
		Data map[string]any `prop:"whole" wire:"data,tree"`
	}
	have, want := map[string]any{"port": int64(1)}, map[string]any{"port": int64(2)}
	set := kind.Set[BoxProps]("Set", nil)
	for expected, compare := range map[string]func(d *kind.Diff[BoxProps]){
		"data.port: have 1, want 2 Set": func(d *kind.Diff[BoxProps]) {
			kind.Compare(d, kind.TableOf[apart](kind.Tree()), apart{want}, apart{have}, set)
		},
		`data: have {"port":1}, want {"port":2} Set`: func(d *kind.Diff[BoxProps]) {
			kind.Compare(d, kind.TableOf[whole](kind.Tree()), whole{want}, whole{have}, set)
		},
	} {
		k := boxKind()
		k.Compare = func(d *kind.Diff[BoxProps], _, _ BoxProps) { compare(d) }
		if found := steps(t, k, map[string]any{}, BoxProps{}, nil); found != expected {
			t.Errorf("%s, want %s", found, expected)
		}
	}
	type text struct {
		Data string `prop:"whole" wire:"data"`
	}
	if err := kind.TableOf[text]().Validate(); err == nil {
		t.Error("text is compared whole")
	}
}
