// Command worker is a small web service on Cloudflare: a Worker in TypeScript takes orders and keeps them in a database, counts
// in a cache, and puts work into a queue that it empties itself; each night it looks after the table.
//
//	export CLOUDFLARE_API_TOKEN=… SHOP_KEY=…
//	athanor deploy examples/worker --config domain=orders.example.com
//	curl -H "Authorization: Bearer $SHOP_KEY" -d lamp https://orders.example.com/
//	athanor logs api examples/worker --follow
//
// worker.yaml declares the same.
package main

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/providers/cloudflare/d1"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/queues"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
)

func main() { cmd.Main(Orders) }

// Orders declares the whole service.
func Orders(s *athanor.Stack) error {
	cache := kv.NewNamespace(s, "cache", kv.NamespaceProps{})
	db := d1.NewDatabase(s, "db", d1.DatabaseProps{Migrations: "migrations"})
	failed := queues.NewQueue(s, "failed", queues.QueueProps{})
	jobs := queues.NewQueue(s, "jobs", queues.QueueProps{})

	api := workers.NewWorker(s, "api", workers.WorkerProps{
		Code: workers.Bundle("src/index.ts"), CompatibilityDate: "2026-01-31",
		Env: workers.Env{
			"CACHE": cache, "DB": db, "JOBS": jobs, "GREETING": athanor.Config(s, "greeting", athanor.Default("thank you for")),
			"KEY": s.Secret("key", athanor.FromEnv("SHOP_KEY")),
		},
		Crons:         []string{"0 3 * * *"},
		Domains:       []string{athanor.Config(s, "domain", athanor.Default("orders.example.com"))},
		Observability: &workers.Observability{},
	})
	queues.NewConsumer(s, "work", queues.ConsumerProps{Queue: jobs.ID, Script: api.Name, DeadLetter: failed.Name})

	s.Output("worker", api.Name)
	s.Output("version", api.VersionID)
	return nil
}
