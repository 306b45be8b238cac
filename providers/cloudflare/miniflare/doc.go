// Package miniflare runs Workers on this machine: in workerd, which is Cloudflare's own runtime, with KV, D1, R2, queues,
// Durable Objects and the like emulated by miniflare, Cloudflare's own emulator. Both come from npm.
//
//	server, err := miniflare.Start(ctx, miniflare.Options{Packages: []string{projectDir}, Data: dataDir})
//	url, err := server.Set(ctx, miniflare.Worker{Name: "shop", Main: "index.js", Modules: modules, Bindings: bindings})
//
// A Worker has an address of its own, which stays the same when it changes: the new version is started beside the old
// one, takes over, and only then the old one ends. A version that does not start leaves the old one in place. The runtime of the next version
// can be started ahead, where it waits for its code.
//
// Everything runs in one process group below this process and ends with it, however that comes.
//
// It knows how a Worker is described to Cloudflare's API, and how miniflare wants that said. It does not know resources,
// bundlers, or the cloud.
package miniflare
