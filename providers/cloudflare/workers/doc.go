// Package workers offers Workers of Cloudflare: code and static assets, and what they are bound to and called by.
//
// It knows how code becomes modules, what a Worker finds in its environment, how an upload is written, which of a
// Worker's versions gets which calls, and how classes of Durable Objects come and go. It does not know what code does,
// nor how the objects that it is bound to are made; how calls are made and judged is the business of package cloudflare.
//
// It calls without the client's types: those of an upload can say neither the names of parts nor all bindings, and those
// of the rest would add the whole of a package that is as large as all others of the client together.
package workers

import (
	"embed"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed worker_props.go binding_props.go assets_props.go code.go website_props.go
var source embed.FS

const workerType = cloudflare.WorkerType

// Service is what this package offers.
func Service() cloudflare.Service {
	return cloudflare.Service{
		Kinds:      []reconcile.Any{workerKind.Erase(), websiteKind().Erase()},
		Constructs: map[string]athanor.Construct{websiteType: websiteConstruct()},
	}
}

// NewWorker declares a Worker. Entries of env may be what constructors return: see [Env].
func NewWorker(s *athanor.Stack, name string, p WorkerProps, opts ...athanor.Option) Worker {
	p.Env = Env(p.Env).declared()
	return athanor.Declare(s, workerKind, name, p, opts...)
}

// ReadWorker uses a Worker that the stack does not own: by its name, or by WorkerProps that name it.
func ReadWorker(s *athanor.Stack, name string, by any) Worker {
	return athanor.Read(s, workerKind, name, by)
}
