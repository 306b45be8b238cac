// Command STACKNAME is a Worker of Cloudflare in TypeScript that keeps notes in a namespace of Workers KV.
//
//	curl -X PUT -d 'hello' "$(athanor output url)/greeting"
//	athanor logs web --follow
package main

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
)

func main() { cmd.Main(stack, cmd.Stack("STACKNAME")) }

func stack(s *athanor.Stack) error {
	notes := kv.NewNamespace(s, "notes", kv.NamespaceProps{})
	web := workers.NewWorker(s, "web", workers.WorkerProps{
		Code:              &workers.Code{Bundle: "src/index.ts"},
		CompatibilityDate: "2026-01-31",
		WorkersDev:        true,
		Env:               workers.Env{"NOTES": notes},
	})
	s.Output("url", web.URL)
	s.Output("worker", web.Name)
	return nil
}
