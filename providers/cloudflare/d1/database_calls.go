package d1

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"

	sdk "github.com/cloudflare/cloudflare-go/v6/d1"
	"github.com/cloudflare/cloudflare-go/v6/packages/pagination"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

var (
	errNoName = errors.New("a database is found by its id or its name, and there is neither")
	uuid      = props.Pattern(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// wireDatabase is a database as D1 writes it.
type wireDatabase struct {
	UUID            string `json:"uuid"`
	Name            string `json:"name"`
	Jurisdiction    string `json:"jurisdiction"`
	Tables          int64  `json:"num_tables"`
	ReadReplication struct {
		Mode string `json:"mode"`
	} `json:"read_replication"`
}

// observeDatabase reads a database by its id, or finds it by its name, which only a listing shows. What it has had is
// read where something is to be done.
func observeDatabase(ctx context.Context, site databaseSite) (liveDatabase, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return liveDatabase{}, err
	}
	id, err := findDatabase(ctx, client, site)
	if err != nil {
		return liveDatabase{}, err
	}
	var p sdk.DatabaseGetParams
	p.AccountID.Value = site.Place.Account
	answer, err := client.Get(ctx, id, p)
	if err != nil {
		return liveDatabase{}, cloudflare.Absent(err)
	}
	var db wireDatabase
	if err := json.Unmarshal([]byte(answer.JSON.RawJSON()), &db); err != nil {
		return liveDatabase{}, err
	}
	live := liveDatabase{id: db.UUID, name: db.Name, jurisdiction: db.Jurisdiction, replication: db.ReadReplication.Mode, tables: db.Tables}
	if live.replication == "" {
		live.replication = alone
	}
	if site.Want.Migrations != "" {
		live.done, err = done(ctx, site.Cloud, site.Place.Account, live.id)
	}
	return live, cloudflare.Absent(err)
}

func findDatabase(ctx context.Context, client *sdk.DatabaseService, site databaseSite) (string, error) {
	name := site.Name
	switch {
	case site.Last != nil:
		return string(site.Last.ID), nil
	case uuid().MatchString(site.ID):
		return site.ID, nil
	case site.ID != "":
		name = site.ID
	}
	if name == "" {
		return "", errNoName
	}
	for db, err := range databases(ctx, client, site.Place.Account, name) {
		if err != nil {
			return "", err
		}
		if db.Name == name {
			return db.UUID, nil
		}
	}
	return "", fmt.Errorf("%w: no database is called %s", reconcile.ErrAbsent, name)
}

// databases are those of the account whose names have a text in them.
func databases(ctx context.Context, client *sdk.DatabaseService, account, text string) iter.Seq2[sdk.DatabaseListResponse, error] {
	return cloudflare.Pages(func(page int64) (*pagination.V4PagePaginationArray[sdk.DatabaseListResponse], error) {
		var p sdk.DatabaseListParams
		p.AccountID.Value = account
		p.Name.Value, p.Name.Present = text, text != ""
		p.Page.Value, p.Page.Present = float64(page), true
		p.PerPage.Value, p.PerPage.Present = 100, true
		return client.List(ctx, p)
	})
}

// createDatabase makes one. A name that there is already is refused; the look that follows tells whose it is.
func createDatabase(ctx context.Context, site databaseSite) (Database, error) {
	body := map[string]any{"name": site.Name, "read_replication": map[string]any{"mode": *site.Want.ReadReplication}}
	if site.Want.Jurisdiction != "" {
		body["jurisdiction"] = site.Want.Jurisdiction
	}
	if site.Want.LocationHint != "" {
		body["primary_location_hint"] = site.Want.LocationHint
	}
	var made wireDatabase
	err := cloudflare.Call(ctx, site.Cloud, cloudflare.Request{
		Method: http.MethodPost, Path: "/accounts/" + site.Place.Account + "/d1/database", Body: body,
	}, &made)
	return Database{ID: ID(made.UUID), Name: made.Name}, err
}

func deleteDatabase(ctx context.Context, site databaseSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	if !site.MayDelete {
		live, err := observeDatabase(ctx, site)
		if err != nil {
			return err
		}
		if live.tables > 0 {
			return fmt.Errorf("%w: %d tables", reconcile.ErrHoldsData, live.tables)
		}
	}
	var p sdk.DatabaseDeleteParams
	p.AccountID.Value = site.Place.Account
	_, err = client.Delete(ctx, string(site.Last.ID), p)
	return err
}

func listDatabases(ctx context.Context, scope reconcile.Scope) ([]reconcile.Found, error) {
	client, err := clientOf(scope.Cloud)
	if err != nil {
		return nil, err
	}
	var all []reconcile.Found
	for db, err := range databases(ctx, client, scope.Place.Account, scope.Prefix) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(db.Name, scope.Prefix) {
			all = append(all, reconcile.Found{Kind: databaseType, Place: scope.Place, Identity: db.UUID, Name: db.Name})
		}
	}
	return all, nil
}
