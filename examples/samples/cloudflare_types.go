package samples

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic"
)

// Every type of Cloudflare's API
func cloudflareTypes1(s *athanor.Stack) error {
	widget := generic.NewResource(s, "login", "cloudflare.turnstile.Widget", generic.Props{
		"mode": "managed", "domains": []any{"shop.example.com"},
	})
	s.Output("sitekey", widget.Attr("sitekey"))
	return nil
}
