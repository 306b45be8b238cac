// Package d1 offers databases of Cloudflare D1.
//
// It knows a database, its replication, and which migrations of a folder it has had. It does not know tables, nor what
// migrations do; how calls are made and judged is the business of package cloudflare.
package d1

import (
	"embed"

	sdk "github.com/cloudflare/cloudflare-go/v6/d1"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed database.go
var source embed.FS

const databaseType = "cloudflare.D1Database"

// Service is what this package offers.
func Service() cloudflare.Service {
	return cloudflare.Service{Kinds: []reconcile.Any{databaseKind.Erase()}}
}

// NewDatabase declares a database.
func NewDatabase(s *athanor.Stack, name string, p DatabaseProps, opts ...athanor.Option) Database {
	return athanor.Declare(s, databaseKind, name, p, opts...)
}

// ReadDatabase uses a database that the stack does not own: by its id, or by DatabaseProps that name it.
func ReadDatabase(s *athanor.Stack, name string, by any) Database {
	return athanor.Read(s, databaseKind, name, by)
}

func clientOf(cloud reconcile.Cloud) *sdk.DatabaseService {
	return cloudflare.ClientIn(cloud, sdk.NewDatabaseService)
}
