package samples

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare/dns"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/queues"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
)

// Cloudflare
func cloudflare1(s *athanor.Stack) error {
	cache := kv.NewNamespace(s, "cache", kv.NamespaceProps{}) // providers/cloudflare/kv
	jobs := queues.NewQueue(s, "jobs", queues.QueueProps{})   // providers/cloudflare/queues
	dns.NewRecord(s, "www", dns.RecordProps{Zone: "shop.example", Name: "www", Type: "A", Content: "192.0.2.1"})
	workers.NewWorker(s, "api", workers.WorkerProps{ // providers/cloudflare/workers
		Code: workers.Bundle("src/index.ts"), CompatibilityDate: "2026-01-31",
		Env: workers.Env{"CACHE": cache, "JOBS": jobs, "STAGE": s.Stage(), "KEY": s.Secret("key")},
	})
	return nil
}
