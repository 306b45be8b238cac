package workflows

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/providers/kindtest"
)

// The variant of this machine obeys the rules that every kind does.
func TestLocalWorkflow(t *testing.T) {
	kindtest.Run(t, kindtest.Suite{
		Kind:  Local()[0],
		World: func(t kindtest.T) kindtest.World { return kindtest.World{Cloud: here.Machine(), Dir: t.TempDir()} },
		Own:   []string{"id", "name"},
		Base:  map[string]any{"name": "pay", "script": "api", "class": "Checkout"},
		Variants: []kindtest.Variant{
			{Name: "all", Props: map[string]any{"name": "refund", "script": "shop", "class": "Refund", "maxSteps": int64(5), "schedules": []any{"* * * * *"}}},
			{Name: "bare", Props: map[string]any{"script": "api", "class": "Checkout"}},
		},
	})
}
