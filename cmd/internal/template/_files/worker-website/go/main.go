// Command STACKNAME is a website on Cloudflare: pages and an API in web, built by Vite, and a KV namespace. A deploy builds it; its
// packages come first.
//
//	npm install --prefix web
//	athanor dev                                          # Vite's own dev server, with the namespace on this machine
//	curl --data Ada "$(athanor output url)/api/guests"
package main

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/cmd"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/workers"
)

func main() { cmd.Main(stack, cmd.Stack("STACKNAME")) }

func stack(s *athanor.Stack) error {
	guests := kv.NewNamespace(s, "guests", kv.NamespaceProps{})
	site := workers.NewWebsite(s, "site", workers.WebsiteProps{
		Dir:        "web",
		WorkersDev: true,
		Env:        workers.Env{"GUESTS": guests},
	})
	s.Output("url", site.URL)
	s.Output("worker", site.Name)
	return nil
}
