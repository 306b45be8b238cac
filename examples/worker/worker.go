// Command worker is a service of short links on Cloudflare: a Worker in TypeScript with a namespace, a database and its
// migrations, a queue that it writes to and reads from, a secret, a time of day and a domain of its own.
//
//	athanor deploy examples/worker              # the Go program, built and run
//	athanor deploy examples/worker/worker.yaml  # the same graph from YAML
//	athanor logs web examples/worker --follow
//
// The domain is in a zone of the account: --config zone=ZONE names yours.
package main

import (
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/providers/cloudflare/d1"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/queues"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
	"github.com/athanor-dev/athanor/providers/random"
)

func main() { cmd.Main(Links) }

// Links declares the whole service.
func Links(s *athanor.Stack) error {
	zone := athanor.Config(s, "zone", athanor.Default("shop.example"))
	links := kv.NewNamespace(s, "links", kv.NamespaceProps{})
	db := d1.NewDatabase(s, "db", d1.DatabaseProps{Migrations: "migrations"})
	lost := queues.NewQueue(s, "lost", queues.QueueProps{})
	followed := queues.NewQueue(s, "followed", queues.QueueProps{})
	token := random.NewPassword(s, "token", random.PasswordProps{Length: new(32)})

	web := workers.NewWorker(s, "web", workers.WorkerProps{
		Code:              &workers.Code{Bundle: "src/index.ts"},
		CompatibilityDate: "2026-01-31",
		Env: workers.Env{
			"LINKS": links, "DB": db, "FOLLOWED": followed, "TOKEN": token.Value,
			"KEEP_DAYS": athanor.Config(s, "keep", athanor.Default(30)),
		},
		Crons:         []string{"17 3 * * *"},
		Domains:       []string{"go." + zone},
		Observability: &workers.Observability{},
	})
	queues.NewConsumer(s, "counter", queues.ConsumerProps{
		Queue: followed.ID, Script: web.Name, BatchSize: new(100), MaxWait: new(time.Second), DeadLetter: lost.Name,
	})

	s.Output("worker", web.Name)
	s.Output("url", "https://go."+zone)
	s.Output("token", token.Value)
	return nil
}
