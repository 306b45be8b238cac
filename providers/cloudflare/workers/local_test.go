package workers

import (
	"flag"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/here/heretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var localWhole = flag.Bool("here.whole", false, "check all rules for what runs in Cloudflare's runtime on this machine (minutes)")

// tells answers with all that it is bound to: what is an object is told by its class.
const tells = `
const told = (value: any) => value !== null && typeof value === "object" && !Array.isArray(value) && value.constructor !== Object ? value.constructor.name : value;
export class Room {}
export class Desk {}
export default {
	fetch(_: Request, env: any): Response {
		return Response.json([VERSION, Object.entries(env).map(([name, value]) => [name, told(value)]).sort()]);
	},
};
`

// localSources are the files in the directory of every world.
var localSources = map[string]string{
	"src/one.ts": `const VERSION = "one";` + tells, "src/two.ts": `const VERSION = "two";` + tells,
	"dist/index.js":     `export default { fetch: () => new Response("dist") };`,
	"public/about.html": "<h1>about</h1>\n",
}

// TestLocalWorker: a Worker of this machine obeys the rules that every kind does. What there is of it is what answers over HTTP.
func TestLocalWorker(t *testing.T) {
	t.Parallel()
	worlds := heretest.Worlds(localSources)
	heretest.Run(t, kindtest.Suite{
		Kind: Local()[0],
		World: func(t kindtest.T) kindtest.World {
			t.Helper()
			w := worlds(t)
			w.Objects = func() []any { return heretest.Answers(t, w) }
			return w
		},
		Own:  []string{"url", "name"},
		Base: obj{"name": "api", "code": obj{"bundle": "src/one.ts"}, "compatibilityDate": date, "env": obj{"STAGE": "prod", "CACHE": obj{"kv": "local-kv"}}},
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"name": "other", "code": obj{"bundle": "src/two.ts", "minify": true}, "compatibilityDate": "2025-06-01",
				"compatibilityFlags": list{"nodejs_compat"}, "env": obj{"STAGE": "test", "KEY": obj{"secret": "hidden-value"}},
				"bindings": obj{"DB": obj{"d1": "local-db"}}, "durableObjects": obj{"Room": obj{}},
				"limits": obj{"cpu": "50ms"}, "placement": obj{"mode": "smart"}, "observability": obj{"enabled": true, "samplingRate": 0.5},
				"logpush": true, "tailConsumers": list{obj{"service": "logs"}}, "crons": list{"0 3 * * *"}, "workersDev": true, "previews": true,
				"domains": list{"api.shop.example"}, "routes": obj{"shop.example/api/*": obj{"zone": "shop.example"}}, "tags": list{"team-shop"},
				"forceDestroy": true, "traffic": int64(20), "deletedClasses": list{"Gone"}, "deletedSecrets": list{"TEAM"},
			}},
			{Name: "assets", Props: obj{
				"name": "api", "code": obj{"directory": "dist", "main": "index.js"}, "compatibilityDate": date, "assets": obj{"directory": "public", "runWorkerFirst": true},
				"bindings": obj{"ASSETS": obj{"assets": true}},
			}},
		},
		Secrets: []tree.Path{"env.STAGE"},
		Alias:   map[tree.Path]tree.Path{"assets": "code"}, // one digest is of both
	}, *localWhole)
}
