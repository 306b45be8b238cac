// Package containers offers Containers of Cloudflare.
//
// It knows the application that runs images of containers for the objects of one class of Durable Objects, and how its instances get
// another image. It does not know the class, which a Worker declares, nor the single instances; how calls are made and judged is
// the business of package cloudflare.
package containers

import (
	"embed"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed container_props.go
var source embed.FS

const containerType = "cloudflare.Container"

// Service is what this package offers.
func Service() cloudflare.Service {
	return cloudflare.Service{Kinds: []reconcile.Any{containerKind.Erase()}}
}

// NewContainer declares a container.
func NewContainer(s *athanor.Stack, name string, p ContainerProps, opts ...athanor.Option) Container {
	return athanor.Declare(s, containerKind, name, p, opts...)
}

// ReadContainer uses a container that the stack does not own: by its id or its name.
func ReadContainer(s *athanor.Stack, name string, by any) Container {
	return athanor.Read(s, containerKind, name, by)
}
