package cloudflare

// WorkerName is the name of a Worker, by which others call it and queues reach it. It stands here since both refer to each
// other's services.
type WorkerName string

// WorkerType is the kind of a Worker, which states all domains of one and all of its routes that it names any of.
const WorkerType = "cloudflare.Worker"

// UniqueDomain names a domain as what leads to one Worker alone.
func UniqueDomain(hostname string) string { return "domain " + hostname }

// UniqueRoute names a route as what leads to one Worker alone, or to none.
func UniqueRoute(pattern string) string { return "route " + pattern }
