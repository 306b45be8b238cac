package cloudflare

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
)

// defaultRegistry is where Cloudflare keeps the images of all accounts: each has a folder with its id.
const defaultRegistry = "registry.cloudflare.com"

// Registry is the host of the registry of images that an account's containers run: CLOUDFLARE_CONTAINER_REGISTRY, as wrangler has it, else
// the host of the API where that is none of Cloudflare's, so that who plays Cloudflare gets the images too, else Cloudflare's own.
func Registry(cloud reconcile.Cloud) string {
	c, ok := cloud.(*Cloud)
	if !ok {
		return defaultRegistry
	}
	host := defaultRegistry
	if way, err := c.way(); err == nil {
		if u, err := url.Parse(way.endpoint); err == nil && !strings.HasSuffix("."+u.Hostname(), ".cloudflare.com") {
			host = u.Host
		}
	}
	return cmp.Or(c.getenv("CLOUDFLARE_CONTAINER_REGISTRY"), host)
}
