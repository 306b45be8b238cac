package generic

import (
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	contract "github.com/athanor-dev/athanor/reconcile/kind"
)

// products are the products whose permissions the types of a group need, as tokens name them:
// https://developers.cloudflare.com/fundamentals/api/reference/permissions/
var products = map[string]string{
	"aigateway": "AI Gateway", "customhostnames": "SSL and Certificates", "customcertificates": "SSL and Certificates",
	"emailrouting": "Email Routing Rules", "firewall": "Firewall Services", "healthchecks": "Health Checks", "images": "Cloudflare Images",
	"loadbalancers": "Load Balancers", "logpush": "Logs", "pages": "Cloudflare Pages", "pipelines": "Pipelines", "r2": "Workers R2 Storage",
	"rules": "Account Filter Lists", "secretsstore": "Secrets Store", "ssl": "SSL and Certificates", "stream": "Stream", "turnstile": "Turnstile Sites",
	"vectorize": "Vectorize", "waitingrooms": "Waiting Rooms", "workersforplatforms": "Workers Scripts", "zaraz": "Zaraz",
}

// narrower are those of types whose group has several.
var narrower = map[string]string{
	"AccessServiceToken": "Access: Service Tokens", "Access": "Access: Apps and Policies", "Tunnel": "Cloudflare Tunnel",
	"Gateway": "Zero Trust", "Device": "Zero Trust", "Dlp": "Zero Trust", "Monitor": "Load Balancing: Monitors And Pools",
	"MonitorGroup": "Load Balancing: Monitors And Pools", "Pool": "Load Balancing: Monitors And Pools", "Address": "Email Routing Addresses",
}

// permissions are those that the calls need, as far as Cloudflare's names of them are known.
func permissions(t *schema.Type) contract.Permissions {
	group, noun, _ := strings.Cut(strings.TrimPrefix(t.Name, schema.Prefix), ".")
	product, longest := products[group], 0
	if group == "zerotrust" || group == "loadbalancers" || group == "emailrouting" {
		for prefix, name := range narrower {
			if strings.HasPrefix(noun, prefix) && len(prefix) > longest {
				product, longest = name, len(prefix)
			}
		}
	}
	if product == "" {
		return contract.Permissions{}
	}
	return cloudflare.ReadWrite(product)
}
