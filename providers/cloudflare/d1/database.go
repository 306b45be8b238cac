package d1

import (
	"context"
	"iter"
	"net/http"
	"strings"

	sdk "github.com/cloudflare/cloudflare-go/v6/d1"
	"github.com/cloudflare/cloudflare-go/v6/packages/pagination"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// ID is the identity of a database, by which Workers are bound to it.
type ID string

// DatabaseProps declare a database. Limits are those of https://developers.cloudflare.com/d1/platform/limits/
type DatabaseProps struct {
	// Name of the database: up to 64 letters, digits, - and _. Default: none, a name is generated. Changing it
	// replaces the database.
	Name string
	// Jurisdiction that the data never leaves. Default: none.
	Jurisdiction string `prop:"enum=eu|fedramp,immutable" wire:"jurisdiction"`
	// LocationHint is where most of the data will be written. D1 need not follow it, and heeds it at creation alone; after
	// that it is not managed. Default: none, near to where the database is created from.
	LocationHint string `prop:"enum=wnam|enam|weur|eeur|apac|oc"`
	// ReadReplication keeps copies near to readers.
	ReadReplication *string `prop:"enum=auto|disabled,default=disabled" wire:"read_replication.mode"`
	// Migrations is a folder with SQL files, from the stack's directory. Those that the database has not had are done in
	// the order of their names, each by an import that D1 does whole or not at all, and that blocks the database meanwhile. They are noted in the table d1_migrations, which is wrangler's,
	// and their digests in athanor_migrations: a file that is changed after it was done is an error. What was done stays
	// done when its file is deleted. Default: none.
	Migrations string
}

// Database is what others may refer to of a database.
type Database struct {
	// ID of the database.
	ID ID `attr:"early"`
	// Name of the database.
	Name string `attr:"early"`
}

// liveDatabase is an observed database.
type liveDatabase struct {
	attrs  Database
	have   DatabaseProps
	tables float64
	// done are the digests of the migrations that it has had, by file; "" for one that wrangler has done.
	done map[string]string
}

type databaseSite = kind.Site[DatabaseProps, Database]

var (
	databaseTable = kind.TableOf[DatabaseProps]()
	uuid          = props.Pattern(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

var databaseKind = &kind.Kind[DatabaseProps, liveDatabase, Database]{
	Type: databaseType,
	Doc: "A database of Cloudflare D1 with its replication and its migrations. Its tables and rows are not managed beyond " +
		"that: a database with tables in it holds data, and deleting it needs permission. D1 has no tags, so that the name " +
		"proves ownership.",

	Observe:    observeDatabase,
	Create:     createDatabase,
	Compare:    compareDatabase,
	Attributes: func(live liveDatabase) Database { return live.attrs },
	Delete:     deleteDatabase,
	Identity:   func(d Database) string { return string(d.ID) },

	Props: databaseTable,
	Named: &kind.Named[DatabaseProps, liveDatabase]{
		Given: func(want DatabaseProps) string { return want.Name },
		Rule:  func(DatabaseProps) kind.NameRule { return kind.NameRule{Max: 64, Marks: "-_"} },
		Live:  func(live liveDatabase) string { return live.attrs.Name },
	},
	HoldsData: &kind.HoldsData[DatabaseProps, liveDatabase]{Now: func(live liveDatabase) bool { return live.tables > 0 }},
	Prepare:   prepareMigrations,
	Files:     []tree.Path{"migrations"},
	List: func(ctx context.Context, scope kind.ListScope) ([]kind.Found, error) {
		return cloudflare.FoundIn(scope, databases(ctx, scope.Cloud, scope.Place, scope.Prefix), func(db sdk.DatabaseListResponse) kind.Found {
			return kind.Found{Kind: databaseType, Identity: db.UUID, Name: db.Name}
		})
	},
	API: kind.API{
		Source: source,
		Calls: []string{
			"D1.ListDatabases", "D1.GetDatabase", "D1.CreateDatabase", "D1.PatchDatabase", "D1.DeleteDatabase", "D1.QueryDatabase", "D1.ImportDatabase", "D1.UploadImport",
		},
		Permissions: cloudflare.ReadWrite("D1"),
	},
}

// compareDatabase states the table and every migration, which are done in one go.
func compareDatabase(d *kind.Diff[liveDatabase], want DatabaseProps, live liveDatabase) {
	kind.Compare(d, databaseTable, want, live.have, kind.Set("PatchDatabase", func(ctx context.Context, u kind.Update[liveDatabase]) error {
		body := kind.Document{}
		if err := databaseTable.Changed(want, u.Live.have, u.Changed, body); err != nil {
			return err
		}
		return cloudflare.NotYet(cloudflare.Call(ctx, u.Cloud, cloudflare.Request{
			Method: http.MethodPatch, Path: pathOf(u.Location) + "/" + string(u.Live.attrs.ID), Body: body,
		}, nil))
	}))
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
			Name: "ImportDatabase", Do: func(context.Context, kind.Update[liveDatabase]) error { return nil },
		})
		return
	}
	reconcile.Map(d, "migrations", files, have, "ImportDatabase", migrate)
}

func pathOf(location kind.Location) string { return "/accounts/" + location.Account + "/d1/database" }

// observeDatabase reads a database by its id, or finds it by its name, which only a listing shows. What it has had is
// read where something is to be done.
func observeDatabase(ctx context.Context, s databaseSite) (live liveDatabase, err error) {
	id, name := cloudflare.KeyOf(s, func(d Database) string { return string(d.ID) }, uuid().MatchString)
	if id == "" {
		db, err := cloudflare.Called(databases(ctx, s.Cloud, s.Location, name),
			func(db sdk.DatabaseListResponse) string { return db.Name }, "database", name)
		if err != nil {
			return live, err
		}
		id = db.UUID
	}
	var p sdk.DatabaseGetParams
	p.AccountID.Value = s.Location.Account
	db, err := clientOf(s.Cloud).Get(ctx, id, p)
	if err != nil {
		return live, cloudflare.Absent(err)
	}
	live = liveDatabase{attrs: Database{ID: ID(db.UUID), Name: db.Name}, tables: db.NumTables}
	if live.have, err = databaseTable.Read(cloudflare.Document(db.JSON.RawJSON())); err == nil && s.Want.Migrations != "" {
		live.done, err = done(ctx, s.Cloud, s.Location.Account, db.UUID)
	}
	return live, cloudflare.Absent(err)
}

// databases are those of the account whose names have a text in them.
func databases(ctx context.Context, cloud kind.Cloud, location kind.Location, text string) iter.Seq2[sdk.DatabaseListResponse, error] {
	return cloudflare.Pages(func(page int64) (*pagination.V4PagePaginationArray[sdk.DatabaseListResponse], error) {
		var p sdk.DatabaseListParams
		p.AccountID.Value = location.Account
		p.Name.Value, p.Name.Present = text, text != ""
		p.Page.Value, p.Page.Present = float64(page), true
		p.PerPage.Value, p.PerPage.Present = 100, true
		return clientOf(cloud).List(ctx, p)
	})
}

// createDatabase makes one. A name that exists already is refused; the observation that follows shows whose it is.
func createDatabase(ctx context.Context, s databaseSite) (Database, error) {
	body := kind.Document{"name": s.Name}
	if s.Want.LocationHint != "" {
		body["primary_location_hint"] = s.Want.LocationHint
	}
	if err := databaseTable.Created(s.Want, body); err != nil {
		return Database{}, err
	}
	var made struct{ UUID, Name string }
	err := cloudflare.Call(ctx, s.Cloud, cloudflare.Request{Method: http.MethodPost, Path: pathOf(s.Location), Body: body}, &made)
	return Database{ID: ID(made.UUID), Name: made.Name}, err
}

func deleteDatabase(ctx context.Context, s databaseSite) error {
	var p sdk.DatabaseDeleteParams
	p.AccountID.Value = s.Location.Account
	_, err := clientOf(s.Cloud).Delete(ctx, string(s.Last.ID), p)
	return err
}
