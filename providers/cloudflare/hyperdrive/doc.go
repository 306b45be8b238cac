// Package hyperdrive offers configurations of Cloudflare Hyperdrive, by which Workers reach databases.
//
// It knows how a database is reached, and what of its answers is kept. It does not know the database; how calls are made
// and judged is the business of package cloudflare.
package hyperdrive

import (
	"embed"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed config.go
var source embed.FS

const configType = "cloudflare.Hyperdrive"

// Service is what this package offers.
func Service() cloudflare.Service {
	return cloudflare.Service{Kinds: []reconcile.Any{configKind.Erase()}}
}

// NewConfig declares a configuration.
func NewConfig(s *athanor.Stack, name string, p ConfigProps, opts ...athanor.Option) Config {
	return athanor.Declare(s, configKind, name, p, opts...)
}

// ReadConfig uses a configuration that the stack does not own: by its id, or by ConfigProps that name it.
func ReadConfig(s *athanor.Stack, name string, by any) Config {
	return athanor.Read(s, configKind, name, by)
}
