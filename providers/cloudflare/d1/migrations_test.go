package d1

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile"
)

// world is an account with a folder of migrations.
type world struct {
	*cloudflaretest.Server
	t    *testing.T
	dir  string
	kind reconcile.Any
	out  *reconcile.Outcome
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := &world{Server: cloudflaretest.Start(t), t: t, dir: t.TempDir(), kind: databaseKind.Erase()}
	w.WithDatabases(t)
	write(t, w.dir, files)
	return w
}

func (w *world) job() *reconcile.Job {
	w.t.Helper()
	job := w.Job(w.t, w.kind, obj{"migrations": "migrations"}, w.out)
	job.Dir = w.dir
	if err := w.kind.Prepare(w.t.Context(), job, reconcile.Workspace{Dir: w.dir, Cache: w.t.TempDir()}); err != nil {
		w.t.Fatal(err)
	}
	return job
}

func (w *world) settle() error {
	w.t.Helper()
	out, err := w.kind.Settle(w.t.Context(), w.job(), reconcile.Hooks{})
	if err == nil {
		w.out = &out
	}
	return err
}

// sql is what somebody else asks the only database, and the rows of the last statement.
func (w *world) sql(text string) string {
	w.t.Helper()
	all, _ := w.Do(w.t, http.MethodGet, base, nil).([]any)
	results, _ := w.Do(w.t, http.MethodPost, base+"/"+all[0].(obj)["uuid"].(string)+"/query", obj{"sql": text}).([]any)
	rows, _ := results[len(results)-1].(obj)["results"].([]any)
	return fmt.Sprint(rows)
}

const orders = "SELECT what FROM orders ORDER BY id"

// TestMigrations: what is new is done once, in order, each file by one call, and again nothing.
func TestMigrations(t *testing.T) {
	w := newWorld(t, shop)
	if err := w.settle(); err != nil {
		t.Fatal(err)
	}
	if have := w.sql(orders); have != "[map[what:it's; one] map[what:two]]" {
		t.Errorf("orders: %s", have)
	}
	if have := w.Wrote(); !slices.Equal(have, []string{"D1.CreateDatabase", "D1.QueryDatabase", "D1.QueryDatabase"}) {
		t.Errorf("two files make %v", have)
	}
	w.Reset()
	if err := w.settle(); err != nil || len(w.Wrote()) > 0 {
		t.Errorf("again: %v, wrote %v", err, w.Wrote())
	}
	write(t, w.dir, map[string]string{"0003_more.sql": "INSERT INTO orders (what) VALUES ('three');"})
	if err := os.Remove(filepath.Join(w.dir, "migrations", "0001_orders.sql")); err != nil {
		t.Fatal(err)
	}
	if err := w.settle(); err != nil || !strings.Contains(w.sql(orders), "three") || len(w.Wrote()) != 1 {
		t.Errorf("one more, and one file gone: %v, %s, wrote %v", err, w.sql(orders), w.Wrote())
	}
	if have := w.sql("SELECT name FROM d1_migrations ORDER BY id"); have != "[map[name:0001_orders.sql] map[name:0002_first.sql] map[name:0003_more.sql]]" {
		t.Errorf("noted: %s", have)
	}
}

// TestEdited: a file that is changed after it was done is shown, and refused; nothing else is done meanwhile.
func TestEdited(t *testing.T) {
	w := newWorld(t, shop)
	if err := w.settle(); err != nil {
		t.Fatal(err)
	}
	write(t, w.dir, map[string]string{"0001_orders.sql": "CREATE TABLE orders (id TEXT);", "0003_more.sql": "INSERT INTO orders (what) VALUES ('three');"})
	look, err := w.kind.Look(t.Context(), w.job())
	if err != nil || len(look.Steps) != 2 || look.Steps[0].Path != `migrations["0001_orders.sql"]` || look.Steps[0].Replaces {
		t.Errorf("steps %v, %v", look.Steps, err)
	}
	w.Reset()
	if err := w.settle(); !errors.Is(err, errEdited) || len(reconcile.Hints(err)) == 0 || len(w.Wrote()) > 0 {
		t.Errorf("%v, wrote %v", err, w.Wrote())
	}
}

// TestBroken: a file with a mistake has no effect at all, fails at once with the database's own words, and the files before
// it stay done.
func TestBroken(t *testing.T) {
	w := newWorld(t, map[string]string{
		"1.sql": "CREATE TABLE orders (what TEXT)", "2.sql": "INSERT INTO orders VALUES ('half'); INSERT INTO nowhere VALUES (1);", "3.sql": "INSERT INTO orders VALUES ('third')",
	})
	err := w.settle()
	if err == nil || !strings.Contains(err.Error(), "2.sql") || !strings.Contains(err.Error(), "nowhere") || w.Count("D1.QueryDatabase") > 6 {
		t.Errorf("%v after %d queries", err, w.Count("D1.QueryDatabase"))
	}
	if have := w.sql("SELECT what FROM orders"); have != "[]" {
		t.Errorf("orders: %s", have)
	}
	write(t, w.dir, map[string]string{"2.sql": "INSERT INTO orders VALUES ('whole')"})
	if err := w.settle(); err != nil || w.sql("SELECT what FROM orders") != "[map[what:whole] map[what:third]]" {
		t.Errorf("put right: %v, %s", err, w.sql("SELECT what FROM orders"))
	}
}

// TestByWrangler: what wrangler has done is not done again, whatever its file is now, and wrangler sees what is done here.
func TestByWrangler(t *testing.T) {
	w := newWorld(t, nil)
	w.Settled(t, w.kind, obj{}, nil)
	w.sql(`CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT); CREATE TABLE d1_migrations(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE,
		applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL); INSERT INTO d1_migrations (name) VALUES ('0001_orders.sql')`)
	write(t, w.dir, shop)
	if err := w.settle(); err != nil || w.sql(orders) != "[map[what:it's; one] map[what:two]]" {
		t.Errorf("%v, %s", err, w.sql(orders))
	}
}

// TestFaults breaks a migration in every way: it is done once.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault cloudflaretest.Fault
		wrote int
	}{
		{"the answer to a migration is lost", cloudflaretest.Fault{Op: "D1.QueryDatabase", When: cloudflaretest.Mutating, Kind: cloudflaretest.DropAnswer}, 3},
		{"a migration never arrives", cloudflaretest.Fault{Op: "D1.QueryDatabase", When: cloudflaretest.Mutating, Kind: cloudflaretest.CutBefore}, 4},
		{"a migration meets an error of the edge", cloudflaretest.Fault{Op: "D1.QueryDatabase", When: cloudflaretest.Mutating, Nth: 2, Kind: cloudflaretest.ServerError}, 4},
		{"what was done cannot be read at first", cloudflaretest.Fault{Op: "D1.QueryDatabase", Kind: cloudflaretest.Throttle, Times: 2}, 3},
		{"the answer of the creation is lost", cloudflaretest.Fault{Op: "D1.CreateDatabase", Kind: cloudflaretest.DropAnswer}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, shop)
			armed := w.Inject(c.fault)
			if err := w.settle(); err != nil || armed.Fired() == 0 {
				t.Fatalf("%v, fired %d", err, armed.Fired())
			}
			if have := w.sql(orders); len(w.Wrote()) != c.wrote || have != "[map[what:it's; one] map[what:two]]" {
				t.Errorf("wrote %v, want %d calls; orders %s", w.Wrote(), c.wrote, have)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	w := newWorld(t, shop)
	if err := w.settle(); err != nil {
		t.Fatal(err)
	}
	look, err := w.kind.Look(t.Context(), w.job())
	if err != nil || !look.Holds {
		t.Errorf("a database with tables holds data: %v, %v", look.Holds, err)
	}
	job := w.Job(t, w.kind, nil, w.out)
	if err := w.kind.Delete(t.Context(), job); !errors.Is(err, reconcile.ErrHoldsData) {
		t.Fatalf("deleted without leave: %v", err)
	}
	job.MayDelete = true
	if err := w.kind.Delete(t.Context(), job); err != nil || len(bases(t, w.Server)) != 0 {
		t.Errorf("with leave: %v", err)
	}
}

func TestNoFolder(t *testing.T) {
	w := newWorld(t, nil)
	job := w.Job(t, w.kind, obj{"migrations": "migrations"}, nil)
	if err := w.kind.Prepare(t.Context(), job, reconcile.Workspace{Dir: w.dir, Cache: t.TempDir()}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
