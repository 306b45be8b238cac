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
