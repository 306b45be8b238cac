package workers

import (
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
)

// Name is that of a Worker, by which others call it and queues reach it.
type Name = cloudflare.WorkerName

// WorkerProps declare a Worker. Defaults and limits are those of
// https://developers.cloudflare.com/workers/platform/limits/
type WorkerProps struct {
	// Name of the Worker: up to 63 lower-case letters, digits and -, with neither end a -. Default: none, a name is
	// generated. Changing it replaces the Worker.
	Name string
	// Code that it runs. Default: none, for a Worker that has assets alone.
	Code *Code
	// CompatibilityDate says which behaviour of the runtime the code was written for, such as 2026-01-31. Without one the
	// code runs as the first Workers did. Default: none, with assets alone; else it is required.
	CompatibilityDate string `wire:"compatibility_date,call=PatchScriptScriptAndVersionSetting"`
	// CompatibilityFlags turn single behaviours on and off, such as nodejs_compat, which is on from the compatibility date 2026-08-04
	// on. The order does not count. Default: none.
	CompatibilityFlags []string `prop:"set" wire:"compatibility_flags,call=PatchScriptScriptAndVersionSetting"`
	// Env is what the code finds in its environment, by name: text, a number, a truth or a list as it is, secrets as they are
	// referred to, and {kv: …}, {r2: …}, {d1: …}, {queue: …}, {service: …} and the like, which have the fields of
	// bindings. Secrets cannot be read back, and are compared by what was written last. Values that the program does not name
	// are masked. Of what is on the Worker and not declared, secrets that no deploy of this stack has set stay, since
	// nobody could write them again; all else goes. Default: none.
	Env map[string]any `prop:"deferrable,masklive"`
	// Bindings are further entries of the environment, by name: those that are added to the Worker from elsewhere in the
	// program. Default: none.
	Bindings map[string]Binding `prop:"deferrable"`
	// DurableObjects are the classes of the code whose objects are kept. The migrations follow from those that are live.
	// Default: none.
	DurableObjects map[string]DurableObject
	// DeletedClasses gives leave to delete classes that durableObjects declares no longer, with all that their objects hold.
	// Without its name here such a class is refused. Default: none.
	DeletedClasses []string
	// DeletedSecrets gives leave to delete secrets that others have put on the Worker: without its name here such a secret
	// stays. Default: none.
	DeletedSecrets []string
	// Assets are static files that are served. Default: none.
	Assets *Assets
	// Limits of each call. Default: none, those of the account.
	Limits *Limits `wire:"limits,none,call=PatchScriptScriptAndVersionSetting"`
	// Placement says where the Worker runs. Default: none, near to the caller.
	Placement *Placement `wire:"placement,placement,call=PatchScriptScriptAndVersionSetting"`
	// Observability keeps logs and traces. Default: none is kept.
	Observability *Observability `wire:"observability,whole,call=PatchScriptSetting"`
	// Logpush sends traces to the account's Logpush jobs.
	Logpush bool `prop:"default=false" wire:"logpush,call=PatchScriptSetting"`
	// TailConsumers are Workers that get what becomes of each call. The order does not count. Default: none.
	TailConsumers []TailConsumer `prop:"deferrable,set" wire:"tail_consumers,tails,call=PatchScriptSetting"`
	// Crons are times at which the Worker is called, such as "*/5 * * * *", in UTC. The order does not count. Default: none.
	Crons []string
	// WorkersDev serves the Worker at NAME.SUBDOMAIN.workers.dev.
	WorkersDev bool `prop:"default=false" wire:"-,call=CreateScriptSubdomain"`
	// Previews serves each version at an address of its own under workers.dev.
	Previews bool `prop:"default=false" wire:"-,call=CreateScriptSubdomain"`
	// Domains are host names in zones of the account that are the Worker's alone. One that another Worker or a record of
	// DNS has is left there, and is an error. The order does not count. Default: none.
	Domains []string
	// Routes are patterns of addresses that the Worker answers, such as shop.example/api/*, with what is to be known of each.
	// One that another Worker has is left there, and is an error.
	// Those in zones that neither the program nor state names are not seen. Default: none.
	Routes map[string]Route
	// Traffic is the share of calls, in percent, that a new version gets; the rest stays with the version that had most.
	// A Worker's only version has all. Durable Objects cannot change while it is less than all.
	Traffic *int `prop:"min=0,max=100,default=100"`
	// Tags of the Worker, at most four, beside the owner tags. The order does not count. Default: none.
	Tags []string `prop:"set" wire:"-,call=PatchScriptSetting"`
	// ForceDestroy permits deleting the Worker with all that its Durable Objects hold.
	ForceDestroy bool `prop:"default=false"`
}

// DurableObject is a class whose objects are kept. They are stored in SQLite.
type DurableObject struct {
	// RenamedFrom is the class that it was: its objects are taken along. It may stay when that is done. Default: none.
	RenamedFrom string
	// From is the Worker that had the class, under its name in renamedFrom or else the same. It may stay when that is done.
	// A Worker of the same program that declares the class no longer needs this one in its dependsOn. Default: none, this
	// one.
	From Name
	// Container says that each object has a container beside it, which a cloudflare.Container of the class declares. Nothing tells whether a
	// Worker says so: what was written last is compared. Default: false.
	Container bool
	// KeyValue stores the objects without SQLite, which Cloudflare offers no longer for new accounts. It counts when the
	// class is made; after that it is not managed. Default: false.
	KeyValue bool
}

// Limits of each call.
type Limits struct {
	// CPU is the time that the code may compute, in whole milliseconds up to 5 minutes. Default: none, the account's.
	CPU *time.Duration `prop:"min=1ms,max=5m,unit=1ms" wire:"cpu_ms"`
	// Subrequests is how often the code may call others. Default: none, the account's.
	Subrequests *int `prop:"min=1" wire:"subrequests"`
}

// Placement says where a Worker runs: one of these.
type Placement struct {
	// Mode smart is near to what the Worker calls most. Default: none.
	Mode string `prop:"enum=smart" wire:"mode"`
	// Region is a place in a cloud, such as aws:eu-central-1. Default: none.
	Region string `wire:"region"`
	// Host is a server that is reached over TCP, such as db.example:5432. Default: none.
	Host string `wire:"host"`
	// Hostname is a server that is reached over HTTP. Default: none.
	Hostname string `wire:"hostname"`
}

// Observability is what is kept of calls.
type Observability struct {
	// Enabled keeps anything at all.
	Enabled *bool `prop:"default=true" wire:"enabled"`
	// SamplingRate is the share of calls, up to 1. Default: 1.
	SamplingRate *float64 `prop:"min=0,max=1" wire:"head_sampling_rate"`
	// Logs says what is kept of logs. Default: all, where anything is.
	Logs *Logs `wire:"logs"`
	// Traces says what is kept of traces. Default: none.
	Traces *Traces `wire:"traces"`
}

// Logs is what is kept of logs.
type Logs struct {
	// Enabled keeps logs.
	Enabled *bool `prop:"default=true" wire:"enabled"`
	// InvocationLogs are lines about each call, which Cloudflare writes.
	InvocationLogs *bool `prop:"default=true" wire:"invocation_logs"`
	// SamplingRate is the share of calls, up to 1. Default: 1.
	SamplingRate *float64 `prop:"min=0,max=1" wire:"head_sampling_rate"`
	// Persist keeps them at Cloudflare. Default: true.
	Persist *bool `wire:"persist"`
	// Destinations are names of others that get them. The order does not count. Default: none.
	Destinations []string `prop:"set" wire:"destinations"`
}

// Traces is what is kept of traces.
type Traces struct {
	// Enabled keeps traces.
	Enabled *bool `prop:"default=true" wire:"enabled"`
	// SamplingRate is the share of calls, up to 1. Default: 1.
	SamplingRate *float64 `prop:"min=0,max=1" wire:"head_sampling_rate"`
	// Persist keeps them at Cloudflare. Default: true.
	Persist *bool `wire:"persist"`
	// Destinations are names of others that get them. The order does not count. Default: none.
	Destinations []string `prop:"set" wire:"destinations"`
}

// TailConsumer is a Worker that gets what becomes of each call.
type TailConsumer struct {
	// Service is its name.
	Service Name `prop:"required"`
}

// Route is a pattern of addresses that a Worker answers.
type Route struct {
	// Zone that the pattern is in: its name or its id. Default: none, the zone is found by the name in the pattern.
	Zone string
}

// Worker is what others may refer to of a Worker.
type Worker struct {
	// Name of the Worker.
	Name Name `attr:"early"`
	// URL is its address under workers.dev; "" without one.
	URL string `attr:"mutable=workersDev"`
	// PreviewURL is the address of the version VersionID under workers.dev, whatever share of the calls that one gets; "" without
	// previews, and with Durable Objects, of which Cloudflare serves no previews.
	PreviewURL string `attr:"mutable"`
	// ETag tells one code from another.
	ETag string `json:"etag" attr:"mutable=code"`
	// VersionID is that of the newest version that gets calls.
	VersionID string `attr:"mutable"`
	// RouteZones are the ids of the zones that its routes are in.
	RouteZones []string `attr:"mutable=routes"`
}
