package lamps

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// TestLamp checks every rule of a kind. The bodies are those of the manual of the house, page 12.
func TestLamp(t *testing.T) {
	kindtest.Run(t, kindtest.Documents(t, lampKind, Provider, kindtest.Suite{
		Base: map[string]any{"color": "red", "glow": "1m", "socket": "a"},
		Variants: []kindtest.Variant{
			{Name: "plain", Props: map[string]any{"socket": "a"}},
			{Name: "elsewhere", Props: map[string]any{"name": "stairs", "color": "red", "glow": "1m", "socket": "b"}},
		},
	}, map[string]kind.Document{
		"":      {"color": "red", "glow_seconds": 60, "socket": "a"},
		"plain": {"color": "white", "glow_seconds": 30, "socket": "a"},
	}))
}
