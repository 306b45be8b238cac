package d1

import (
	"cmp"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type obj = map[string]any

const base = "/accounts/ACCOUNT/d1/database"

// bases are the databases that others see, by what does not differ between two makings. What migrations have made is no
// part of it: it stays when they are no longer declared, and TestMigrations looks at it.
func bases(t kindtest.T, s *cloudflaretest.Server) []any {
	t.Helper()
	all := []any{}
	list, _ := s.Do(t, http.MethodGet, base+"?per_page=100", nil).([]any)
	for _, db := range list {
		db := maps.Clone(s.Do(t, http.MethodGet, base+"/"+db.(obj)["uuid"].(string), nil).(obj))
		for _, key := range []string{"uuid", "name", "num_tables", "file_size"} {
			delete(db, key)
		}
		all = append(all, db)
	}
	return all
}

// write puts files into the folder migrations.
func write(t kindtest.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, "migrations", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatalf("%v", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatalf("%v", err)
		}
	}
}

var shop = map[string]string{
	"0001_orders.sql": "CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT);\n-- the end",
	"0002_first.sql":  "INSERT INTO orders (what) VALUES ('it''s; one'); INSERT INTO orders (what) VALUES ('two')",
	"README.md":       "no SQL",
}

func TestDatabase(t *testing.T) {
	ws := cloudflaretest.Worlds{}
	kindtest.Run(t, kindtest.Suite{
		Kind: databaseKind.Erase(),
		World: func(t kindtest.T) kindtest.World {
			w := ws.Make(func(t kindtest.T, s *cloudflaretest.Server) { s.WithDatabases(t.(testing.TB)) }, bases)(t)
			write(t, w.Dir, shop)
			return w
		},
		Base:  obj{},
		Fault: cloudflaretest.FaultOf("D1"),
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{"name": "orders", "jurisdiction": "eu", "locationHint": "weur", "readReplication": "auto", "migrations": "migrations"}},
		},
		Hands: map[tree.Path]kindtest.Hand{
			"readReplication": ws.Sends(http.MethodPatch, func(to kindtest.Edited) string { return base + "/" + to.Attrs["id"].(string) }, func(to kindtest.Edited) any {
				return obj{"read_replication": obj{"mode": cmp.Or(to.Text(), "disabled")}}
			}),
			"": ws.Deletes(func(to kindtest.Edited) string { return base + "/" + to.Attrs["id"].(string) }),
		},
		Steady: map[tree.Path]string{
			"name":         "a database keeps its name for life",
			"jurisdiction": "a database keeps its jurisdiction for life",
			"migrations":   "it names a folder; what was done is history, and TestMigrations changes files and notes",
		},
		Silent: map[tree.Path]string{"locationHint": "it is heeded at creation alone"},
	})
}

func TestCheck(t *testing.T) {
	kind := databaseKind.Erase()
	for name, ok := range map[string]bool{"a_B-1": true, "a b": false, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false} {
		if err := kind.Decode(&reconcile.Job{Props: obj{"name": name}}); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
