package kv

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/providers/kindtest"
)

// The variant of this machine obeys the rules that every kind does.
func TestLocalNamespace(t *testing.T) {
	kindtest.Run(t, kindtest.Suite{
		Kind:     Local()[0],
		World:    func(t kindtest.T) kindtest.World { return kindtest.World{Cloud: here.Machine(), Dir: t.TempDir()} },
		Own:      []string{"id", "title"},
		Base:     map[string]any{"title": "Orders"},
		Variants: []kindtest.Variant{{Name: "renamed", Props: map[string]any{"title": "Orders of the shop"}}, {Name: "bare", Props: map[string]any{}}},
	})
}
