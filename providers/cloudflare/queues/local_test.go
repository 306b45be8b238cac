package queues

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/providers/cloudflare/here/heretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
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

// A consumer of this machine obeys them too. It is there before its Worker is, and as long as the session.
func TestLocalConsumer(t *testing.T) {
	kindtest.Run(t, kindtest.Suite{
		Kind:  Local()[1],
		World: heretest.Worlds(nil),
		Base:  map[string]any{"queue": "jobs", "script": "worker"},
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: map[string]any{
				"queue": "jobs", "script": "worker", "deadLetter": "mails", "batchSize": int64(100), "maxRetries": int64(0), "retryDelay": "30s",
				"maxConcurrency": int64(2), "maxWait": "1500ms",
			}},
			{Name: "another Worker", Props: map[string]any{"queue": "jobs", "script": "other"}},
			{Name: "another queue", Props: map[string]any{"queue": "mails", "script": "worker"}},
			{Name: "pulled", Props: map[string]any{"queue": "jobs", "type": "http_pull", "visibilityTimeout": "1m"}},
		},
		Silent: map[tree.Path]string{
			"type":              "pulling needs that there is no Worker; the variant pulled changes both",
			"visibilityTimeout": "it is for pulling alone; the variant pulled has it",
		},
	})
}
