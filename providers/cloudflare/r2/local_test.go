package r2

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/providers/kindtest"
)

// The variant of this machine obeys the rules that every kind does.
func TestLocalBucket(t *testing.T) {
	kindtest.Run(t, kindtest.Suite{
		Kind:  Local()[0],
		World: func(t kindtest.T) kindtest.World { return kindtest.World{Cloud: here.Machine(), Dir: t.TempDir()} },
		Own:   []string{"name"},
		Base:  map[string]any{"name": "orders"},
		Variants: []kindtest.Variant{
			{Name: "all", Props: map[string]any{
				"name": "orders", "jurisdiction": "eu", "locationHint": "weur", "storageClass": "InfrequentAccess", "publicDevelopmentUrl": true,
				"lifecycle": []any{}, "forceDestroy": true, "cors": []any{map[string]any{"origins": []any{"*"}, "methods": []any{"GET"}}},
				"domains":       map[string]any{"files.shop.example": map[string]any{"zone": "shop.example"}},
				"notifications": []any{map[string]any{"queue": "jobs", "actions": []any{"PutObject"}}},
			}},
			{Name: "bare", Props: map[string]any{}},
		},
	})
}
