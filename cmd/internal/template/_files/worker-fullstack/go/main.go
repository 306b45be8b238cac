// Command STACKNAME is a web application on Cloudflare: pages in public, an API in TypeScript below /api, and a D1 database
// with migrations.
//
//	curl "$(athanor output url)/api/entries"
//	athanor logs web --follow
package main

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/providers/cloudflare/d1"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
)

func main() { cmd.Main(stack, cmd.Stack("STACKNAME")) }

func stack(s *athanor.Stack) error {
	db := d1.NewDatabase(s, "db", d1.DatabaseProps{Migrations: "migrations"})
	web := workers.NewWorker(s, "web", workers.WorkerProps{
		Code:              &workers.Code{Bundle: "src/index.ts"},
		Assets:            &workers.Assets{Directory: "public", RunWorkerFirstAt: []string{"/api/*"}},
		CompatibilityDate: "2026-01-31",
		WorkersDev:        true,
		Env:               workers.Env{"DB": db},
	})
	s.Output("url", web.URL)
	s.Output("worker", web.Name)
	return nil
}
