package d1

import (
	"context"
	"net/http"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// liveDatabase is a database as it was seen.
type liveDatabase struct {
	id, name, jurisdiction, replication string

	tables int64
	// done are the digests of the migrations that it has had, by file; "" for one that wrangler has done.
	done map[string]string
}

type (
	databaseSite = reconcile.Site[DatabaseProps, Database]
	databaseDiff = reconcile.Diff[liveDatabase]
)

var databaseKind = &reconcile.Kind[DatabaseProps, liveDatabase, Database]{
	Type: databaseType,
	Doc: "A database of Cloudflare D1 with its replication and its migrations. Its tables and rows are not managed beyond " +
		"that: a database with tables in it holds data, and deleting it needs leave. D1 has no tags, so that its name tells " +
		"whose it is.",

	Observe:  observeDatabase,
	Create:   createDatabase,
	Compare:  compareDatabase,
	Attrs:    func(live liveDatabase) Database { return Database{ID: ID(live.id), Name: live.name} },
	Delete:   deleteDatabase,
	Identity: func(d Database) string { return string(d.ID) },

	Naming: func(DatabaseProps, reconcile.Place) reconcile.Naming {
		return reconcile.Naming{Max: 64}
	},
	Given: func(want DatabaseProps) string { return want.Name },
	Defaults: func(want DatabaseProps) DatabaseProps {
		if want.ReadReplication == nil {
			want.ReadReplication = new(alone)
		}
		return want
	},
	Check:   checkDatabase,
	Prepare: prepareMigrations,
	AtBirth: []string{"id", "name"},
	Holds:   func(live liveDatabase) bool { return live.tables > 0 },
	List:    listDatabases,

	Source: source,
	Calls: []string{
		"D1.ListDatabases", "D1.GetDatabase", "D1.CreateDatabase", "D1.PatchDatabase", "D1.DeleteDatabase", "D1.QueryDatabase",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"D1 Read"},
		List:    []string{"D1 Read"},
		Create:  []string{"D1 Write"},
		Update:  []string{"D1 Write"},
		Delete:  []string{"D1 Write"},
	},
}

// alone is a database without copies.
const alone = "disabled"

var databaseName = props.Pattern(`^[A-Za-z0-9_-]{1,64}$`)

// checkDatabase finds what D1 would refuse.
func checkDatabase(want DatabaseProps) error {
	if want.Name == "" || token.Has(want.Name) || databaseName().MatchString(want.Name) {
		return nil
	}
	return props.Errors{{Path: "name", Problem: "want up to 64 letters, digits, - and _"}}
}

// compareDatabase states the replication and every migration, which are done in one go.
func compareDatabase(d *databaseDiff, want DatabaseProps, live liveDatabase) {
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", name, live.name)
	}
	reconcile.Fixed(d, "jurisdiction", want.Jurisdiction, live.jurisdiction)
	reconcile.Value(d, "readReplication", *want.ReadReplication, live.replication, &reconcile.Operation[liveDatabase]{
		Name: "PatchDatabase",
		Do: func(ctx context.Context, on reconcile.On[liveDatabase]) error {
			return cloudflare.NotYet(cloudflare.Call(ctx, on.Cloud, cloudflare.Request{
				Method: http.MethodPatch, Path: "/accounts/" + on.Place.Account + "/d1/database/" + on.Live.id,
				Body: map[string]any{"read_replication": map[string]any{"mode": *want.ReadReplication}},
			}, nil))
		},
	})
	files, have := map[string]string{}, map[string]string{}
	for name, asset := range d.Assets() {
		file, ok := strings.CutPrefix(name, migrationAsset)
		if !ok {
			continue
		}
		files[file] = asset.Digest
		if digest, done := live.done[file]; done {
			have[file] = digest
			if digest == "" { // by wrangler, which keeps no digest
				have[file] = asset.Digest
			}
		}
	}
	if d.Unknown("migrations", want.Migrations) {
		reconcile.Value(d, "migrations", want.Migrations, "", &reconcile.Operation[liveDatabase]{
			Name: "QueryDatabase", Do: func(context.Context, reconcile.On[liveDatabase]) error { return nil },
		})
		return
	}
	reconcile.Map(d, "migrations", files, have, "QueryDatabase", migrate)
}
