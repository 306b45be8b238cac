package workers

import (
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/d1"
	"github.com/athanor-dev/athanor/providers/cloudflare/hyperdrive"
	"github.com/athanor-dev/athanor/providers/cloudflare/kv"
	"github.com/athanor-dev/athanor/providers/cloudflare/queues"
	"github.com/athanor-dev/athanor/providers/cloudflare/r2"
	"github.com/athanor-dev/athanor/providers/cloudflare/workflows"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// Binding is what a Worker finds under a name in its environment: one of these, with what belongs to it. Files that code
// imports (WebAssembly, text, data) are modules of it and no bindings.
type Binding struct {
	// Text is plain text. Default: none.
	Text *string
	// JSON is any value that JSON has. A secret in it is refused, since everybody who sees the Worker could read it. Default: none.
	JSON any `json:"json"`
	// Secret is text that nobody can read back. Write-only: it is compared by what was written last. Default: none.
	Secret token.Secret
	// KV is the id of a namespace. Default: none.
	KV kv.ID `json:"kv"`
	// R2 is the name of a bucket. Default: none.
	R2 r2.Name `json:"r2"`
	// Jurisdiction of the bucket. Default: none, anywhere.
	Jurisdiction string
	// D1 is the id of a database. Default: none.
	D1 d1.ID `json:"d1"`
	// Queue is the name of a queue that messages are sent to. Default: none.
	Queue queues.Name
	// DurableObject is a class of Durable Objects. Default: none.
	DurableObject string
	// Workflow is the name of a workflow. Default: none.
	Workflow workflows.Name
	// Class is that of the workflow. Default: none.
	Class string
	// Script is the Worker that has the class of durableObject or workflow. Default: none, the Worker itself.
	Script Name
	// Service is another Worker. Default: none.
	Service Name
	// Entrypoint is the class of the other Worker that is called. Default: none, what it exports as its default.
	Entrypoint string
	// Vectorize is the name of an index. Default: none.
	Vectorize string
	// Hyperdrive is the id of a configuration. Default: none.
	Hyperdrive hyperdrive.ID
	// AI is Workers AI. Default: false.
	AI bool `json:"ai"`
	// AISearch is an instance of AI Search. Default: none.
	AISearch *AISearch `json:"aiSearch"`
	// AISearchNamespace is a namespace of AI Search. Default: none.
	AISearchNamespace string `json:"aiSearchNamespace"`
	// AnalyticsEngine is the name of a dataset. Default: none.
	AnalyticsEngine string
	// Artifacts is a namespace of Artifacts. Default: none.
	Artifacts string
	// Assets are the Worker's own static assets. Default: false.
	Assets bool
	// Browser is Browser Rendering. Default: false.
	Browser bool
	// DispatchNamespace is the name of a namespace of Workers for Platforms. Default: none.
	DispatchNamespace string
	// Outbound is the Worker that calls from the dispatch namespace go through. Default: none.
	Outbound *Outbound
	// Flagship is the id of an app of Flagship. Default: none.
	Flagship string
	// Images is Cloudflare Images. Default: false.
	Images bool
	// Media is Media Transformations. Default: false.
	Media bool
	// MTLS is the id of a certificate that the Worker shows. Default: none.
	MTLS string `json:"mtls"`
	// Pipeline is the id of a pipeline. Default: none.
	Pipeline string
	// RateLimit counts calls. Default: none.
	RateLimit *RateLimit
	// SecretKey is a key for Web Crypto. Default: none.
	SecretKey *SecretKey
	// SecretsStore is a secret of a Secrets Store. Default: none.
	SecretsStore *StoredSecret
	// SendEmail sends mail. Default: none.
	SendEmail *SendEmail
	// VersionMetadata is which version of the Worker runs. Default: false.
	VersionMetadata bool
	// VPCService is the id of a service in a private network. Default: none.
	VPCService string `json:"vpcService"`
	// VPCNetwork is a private network. Default: none.
	VPCNetwork *VPCNetwork `json:"vpcNetwork"`
	// WorkerLoader runs code that is loaded while the Worker runs. Default: false.
	WorkerLoader bool
}

// AISearch is an instance of AI Search.
type AISearch struct {
	// Instance is its name.
	Instance string `prop:"required"`
	// Namespace that it is in. Default: none, the account's own.
	Namespace string
}

// Outbound is a Worker that others' calls go through.
type Outbound struct {
	// Worker is its name.
	Worker Name `prop:"required"`
	// Entrypoint is the class that is called. Default: none.
	Entrypoint string
	// Params are the names of what is passed on to it. Default: none.
	Params []string
}

// RateLimit is how often something may be done.
type RateLimit struct {
	// Namespace tells counters apart: a number of the author's choice. Workers with the same share it.
	Namespace string `prop:"required"`
	// Limit is the number of calls in a period.
	Limit int `prop:"required,min=1"`
	// Period that is counted: 10s or 60s.
	Period time.Duration `prop:"required"`
}

// SecretKey is a key for Web Crypto.
type SecretKey struct {
	// Algorithm as crypto.subtle.importKey takes it: a name, or an object with one.
	Algorithm any `prop:"required"`
	// Format of the key: raw, pkcs8, spki or jwk.
	Format string `prop:"required,enum=raw|pkcs8|spki|jwk"`
	// Usages are what may be done with it, such as sign.
	Usages []string `prop:"required"`
	// Base64 is the key, but for jwk. Write-only: it is compared by what was written last. Default: none.
	Base64 token.Secret
	// JWK is the key for jwk, as the text of its JSON. Write-only: it is compared by what was written last. Default: none.
	JWK token.Secret `json:"jwk"`
}

// StoredSecret is a secret of a Secrets Store.
type StoredSecret struct {
	// Store is the id of the store.
	Store string `prop:"required"`
	// Name of the secret in it.
	Name string `prop:"required"`
}

// SendEmail says which mail may be sent.
type SendEmail struct {
	// Destination is the only address that mail goes to. Default: none, any that is verified.
	Destination string
	// Destinations are the addresses that mail may go to. Default: none.
	Destinations []string
	// Senders are the addresses that mail may come from. Default: none.
	Senders []string
}

// VPCNetwork is a private network: one of these.
type VPCNetwork struct {
	// Network is its id. Default: none.
	Network string
	// Tunnel is the id of a tunnel into it. Default: none.
	Tunnel string
}
