package queues

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/providers/kindtest"
)

// The variant of this machine obeys the rules that every kind does.
func TestLocalQueue(t *testing.T) {
	kindtest.Run(t, kindtest.Suite{
		Kind:  Local()[0],
		World: func(t kindtest.T) kindtest.World { return kindtest.World{Cloud: here.Machine(), Dir: t.TempDir()} },
		Own:   []string{"id", "name"},
		Base:  map[string]any{"name": "orders"},
		Variants: []kindtest.Variant{
			{Name: "all", Props: map[string]any{"name": "jobs", "deliveryDelay": "5s", "deliveryPaused": true, "messageRetention": "1h"}},
			{Name: "bare", Props: map[string]any{}},
		},
	})
}
