// Package cloudflaretest gives tests a Cloudflare: an HTTP server with the REST API of the services that athanor has
// kinds of, reached through a proxy that records every call and can break any of them.
//
// Nobody offers an emulator of that API, so this one is held to account by others. Every request and every answer is
// checked against the JSON Schemas of Cloudflare's own operations, and every error that it gives is one that they
// declare; where these descriptions are wrong, or silent, exceptions.go says so with the reason. wrangler, Cloudflare's
// own client, runs against the same server; what it uploads for a Worker is kept as [Golden]. What was uploaded runs for
// real by [Server.Run].
//
//	cloud := cloudflaretest.Start(t)
//	cloud.Setenv(t)
//	cloud.Inject(cloudflaretest.Fault{Op: "KV.CreateNamespace", Kind: cloudflaretest.DropAnswer})
//
// It knows what the API's documentation says the operations do, and keeps the state in memory, one account for each
// test. It does not know athanor's kinds.
package cloudflaretest
