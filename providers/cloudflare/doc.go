// Package cloudflare is the way into Cloudflare: tokens, accounts, zones, and what all its services have in common.
//
// It knows how a handle on an account is opened, how every call is named, counted, bounded and told apart from a read,
// what each error code means, how pages are read one by one, and where an owner tag is written when a service has no tags. It
// does not know any kind: the packages below it do, and the list of the providers puts them together.
//
// Calls are never repeated here, and never by the client: it would repeat POSTs, and wait for minutes on answers that
// stand. The runner of package reconcile repeats, once for all clouds, because only it can read what exists before it
// tries again.
package cloudflare
