package page

import (
	"net/url"
	"strings"

	"github.com/athanor-dev/athanor/statestore"
)

// cloudflarePaths are the pages of Cloudflare's dashboard by kind, behind the account. {} is the identity of the object.
var cloudflarePaths = map[string]string{
	"cloudflare.Worker":      "workers/services/view/{}/production",
	"cloudflare.KVNamespace": "workers/kv/namespaces/{}",
	"cloudflare.D1Database":  "workers/d1/databases/{}",
	"cloudflare.R2Bucket":    "r2/default/buckets/{}",
	"cloudflare.Queue":       "workers/queues/view/{}",
}

// consoleURL is where the cloud's own console shows an object, with the name of the console; "" where that is unknown. AWS
// finds any object by its ARN.
func consoleURL(g statestore.Generation, attributes []value) (link, name string) {
	switch {
	case g.Identity == "" || g.Intent:
		return "", ""
	case g.Place.Provider == "aws":
		arn := g.Identity
		for _, a := range attributes {
			if a.Path == "arn" && !a.Secret {
				arn = a.Text
			}
		}
		if strings.HasPrefix(arn, "arn:aws:") {
			return "https://console.aws.amazon.com/go/view?" + url.Values{"arn": {arn}}.Encode(), "AWS console"
		}
		if g.Place.Region != "" {
			return "https://" + url.PathEscape(g.Place.Region) + ".console.aws.amazon.com/console/home?" + url.Values{"region": {g.Place.Region}}.Encode(), "AWS console"
		}
	case g.Place.Provider == "cloudflare" && g.Place.Account != "":
		path := strings.ReplaceAll(cloudflarePaths[g.Kind], "{}", url.PathEscape(g.Identity))
		return "https://dash.cloudflare.com/" + url.PathEscape(g.Place.Account) + "/" + path, "Cloudflare dashboard"
	}
	return "", ""
}
