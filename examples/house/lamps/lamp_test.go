package lamps

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/rest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestLamp checks every rule of a kind.
func TestLamp(t *testing.T) {
	house := func(url string) reconcile.Cloud { return &rest.Service{Name: "house", URL: url} }
	path := func(lamp map[string]any) string { return "/lamps/" + lamp["name"].(string) }
	kindtest.Run(t, kindtest.Documents(t, lampTable, house, path, kindtest.Suite{
		Kind: lampKind.Erase(),
		Base: map[string]any{"color": "red", "glow": "1m", "socket": "a"},
		Variants: []kindtest.Variant{
			{Name: "plain", Props: map[string]any{"socket": "a"}},
			{Name: "elsewhere", Props: map[string]any{"color": "red", "glow": "1m", "socket": "b"}},
			{Name: "named", Props: map[string]any{"name": "stairs", "color": "red", "glow": "1m", "socket": "a"}},
		},
		Steady: map[tree.Path]string{"name": "a lamp keeps its name for life"},
	}))
}

// TestGolden has a lamp as the manual of the house, page 12, writes it.
func TestGolden(t *testing.T) {
	kindtest.Golden(t, lampTable, map[string]any{"color": "red", "glow": "1m", "socket": "a"}, kind.Document{},
		kind.Document{"color": "red", "glow_seconds": 60, "socket": "a"})
	kindtest.Golden(t, lampTable, map[string]any{"socket": "a"}, kind.Document{},
		kind.Document{"color": "white", "glow_seconds": 30, "socket": "a"})
}
