// Package kv offers namespaces of Cloudflare Workers KV.
//
// It knows a namespace and whether there are keys in it. It does not know values; how calls are made and judged is the
// business of package cloudflare.
package kv

import (
	"embed"

	sdk "github.com/cloudflare/cloudflare-go/v6/kv"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed namespace.go
var source embed.FS

const namespaceType = "cloudflare.KVNamespace"

// Service is what this package offers.
func Service() cloudflare.Service {
	return cloudflare.Service{Kinds: []reconcile.Any{namespaceKind.Erase()}}
}

// NewNamespace declares a namespace.
func NewNamespace(s *athanor.Stack, name string, p NamespaceProps, opts ...athanor.Option) Namespace {
	return athanor.Declare(s, namespaceKind, name, p, opts...)
}

// ReadNamespace uses a namespace that the stack does not own: by its id, or by NamespaceProps that name it.
func ReadNamespace(s *athanor.Stack, name string, by any) Namespace {
	return athanor.Read(s, namespaceKind, name, by)
}

func clientOf(cloud reconcile.Cloud) *sdk.NamespaceService {
	return cloudflare.ClientIn(cloud, sdk.NewNamespaceService)
}
