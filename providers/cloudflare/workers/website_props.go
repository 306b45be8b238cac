package workers

import (
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// WebsiteProps declare the project of a web framework: how it is built, and the Worker that serves it.
type WebsiteProps struct {
	// Framework says what build, serve and inputs are unless they are declared: how the framework builds for Workers, and where
	// it writes to: vite, which is any project with @cloudflare/vite-plugin, react-router, tanstack-start, astro or sveltekit.
	Framework *string `prop:"enum=vite|react-router|tanstack-start|astro|sveltekit,default=vite"`
	// Dir is the folder of the project, relative to the stack's directory. Default: "", the stack's directory.
	Dir string
	// Build is the command that builds the project, which sh -c runs in dir. It runs within the run, before what it wrote is
	// hashed: when an input changes, and in a checkout that is not built. `athanor dev` does not build.
	Build *string `prop:"default=npm run build"`
	// BuildEnv are variables of the build, and of the dev server. Default: none.
	BuildEnv map[string]string `prop:"masklive"`
	// Inputs are files and folders that the build reads, relative to dir. Default: dir, without what the framework writes and what
	// npm installs.
	Inputs []string
	// Serve is the command of the dev server that `athanor dev` runs in dir. It listens at $PORT of 127.0.0.1. Default: that of the framework.
	Serve string

	// Name, CompatibilityDate and all that follow are those of cloudflare.Worker.
	Name string
	// CompatibilityDate says which behaviour of the runtime the code was written for, such as 2026-01-31. Default: none, that
	// of the build's wrangler.json; astro and sveltekit write none, and require it.
	CompatibilityDate string
	// CompatibilityFlags turn single behaviours on and off. Default: none, those of the build's wrangler.json; nodejs_compat for
	// sveltekit, and disable_nodejs_process_v2 beside it for astro.
	CompatibilityFlags []string
	// Env is what the code finds in its environment, by name, as for cloudflare.Worker. Default: none.
	Env map[string]any `prop:"deferrable,masklive"`
	// Bindings are further entries of the environment, by name. Default: none.
	Bindings map[string]Binding `prop:"deferrable"`
	// DurableObjects are the classes of the code whose objects are kept. Default: none.
	DurableObjects map[string]DurableObject
	// DeletedClasses gives leave to delete classes that durableObjects declares no longer. Default: none.
	DeletedClasses []string
	// DeletedSecrets gives leave to delete secrets that others have put on the Worker. Default: none.
	DeletedSecrets []string
	// Limits of each call. Default: none, those of the account.
	Limits *Limits
	// Placement says where the Worker runs. Default: none, near to the caller.
	Placement *Placement
	// Observability keeps logs and traces. Default: none is kept.
	Observability *Observability
	// Logpush sends traces to the account's Logpush jobs.
	Logpush bool `prop:"default=false"`
	// TailConsumers are Workers that get what becomes of each call. The order does not count. Default: none.
	TailConsumers []TailConsumer `prop:"deferrable"`
	// Crons are times at which the Worker is called, in UTC. The order does not count. Default: none.
	Crons []string
	// WorkersDev serves the website at NAME.SUBDOMAIN.workers.dev.
	WorkersDev bool `prop:"default=false"`
	// Previews serves each version at an address of its own under workers.dev.
	Previews bool `prop:"default=false"`
	// Domains are host names in zones of the account that are the website's alone. The order does not count. Default: none.
	Domains []string
	// Routes are patterns of addresses that the website answers. Default: none.
	Routes map[string]Route
	// Traffic is the share of calls, in percent, that a new version gets; the rest stays with the version that had most.
	Traffic *int `prop:"min=0,max=100,default=100"`
	// Tags of the Worker, at most four, beside the owner tags. The order does not count. Default: none.
	Tags []string
	// ForceDestroy permits deleting the Worker with all that its Durable Objects hold.
	ForceDestroy bool `prop:"default=false"`
}

// framework is how one builds for Workers.
type framework struct {
	// serve is its dev server.
	serve string
	// writes are what the build writes, and ignores caches and what else of its own is no input, below the project's folder.
	writes, ignores []string
	// code, assets and flags are what the build wrote, and needs, where it writes no wrangler.json; none where it does.
	code   func(dir string) *Code
	assets string
	flags  []string
}

// vite is its dev server, which frameworks extend.
const vite = "npx vite dev --host 127.0.0.1 --port $PORT --strictPort"

// frameworks are those that are known, by what the prop says.
var frameworks = map[string]framework{
	"vite": {serve: vite, writes: []string{"dist", deployNote}},
	"react-router": {
		serve: "npx react-router dev --host 127.0.0.1 --port $PORT --strictPort", writes: []string{"build", deployNote}, ignores: []string{".react-router"},
	},
	// The tree of routes is among the sources, and written by each build and dev server.
	"tanstack-start": {serve: vite, writes: []string{"dist", deployNote}, ignores: []string{".tanstack", "src/routeTree.gen.ts"}},
	"astro": {
		serve: "npx astro dev --host 127.0.0.1 --port $PORT", writes: []string{"dist"}, ignores: []string{".astro"},
		code: func(dir string) *Code { return Directory(below(dir, "dist/_worker.js"), "index.js") }, assets: "dist",
		// Astro 5 takes a runtime with Node's whole process for Node, and answers with objects: https://github.com/withastro/astro/issues/14511.
		flags: []string{"nodejs_compat", "disable_nodejs_process_v2"},
	},
	"sveltekit": {
		serve: vite, writes: []string{".svelte-kit/cloudflare"}, ignores: []string{".svelte-kit"},
		code: func(dir string) *Code { return Bundle(below(dir, ".svelte-kit/cloudflare/_worker.js")) }, assets: ".svelte-kit/cloudflare",
		flags: []string{"nodejs_compat"},
	},
}

// ownFiles are what lies beside a project, and no build reads.
var ownFiles = []string{".wrangler", "athanor.yaml"}

// checkWebsite finds what the Worker could not say, since it is about props of the website.
func checkWebsite(want WebsiteProps) error {
	if _, known := frameworks[*websiteDefaults(want).Framework]; !known {
		var problems props.Errors
		problems.Wrong("framework", "want one of "+strings.Join(slices.Sorted(maps.Keys(frameworks)), ", "))
		return problems
	}
	problems := checkEnv(want.worker())
	if f := want.framework(); f.code != nil && want.CompatibilityDate == "" {
		problems.Wrong("compatibilityDate", "is required with "+*want.Framework+", whose build says none; today's is good for new code")
	}
	if date := want.CompatibilityDate; date != "" && !token.Has(date) && !dateForm().MatchString(date) {
		problems.Wrong("compatibilityDate", "want a date such as 2026-01-31")
	}
	return problems.OrNil()
}
