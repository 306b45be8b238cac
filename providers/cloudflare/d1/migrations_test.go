package d1

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/wiretest"
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
	once := []string{"D1.ImportDatabase", "D1.UploadImport", "D1.ImportDatabase"}
	if have := w.Wrote(); !slices.Equal(have, slices.Concat([]string{"D1.CreateDatabase"}, once, once)) {
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
	if err := w.settle(); err != nil || !strings.Contains(w.sql(orders), "three") || !slices.Equal(w.Wrote(), once) {
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
	if err == nil || !strings.Contains(err.Error(), "2.sql") || !strings.Contains(err.Error(), "nowhere") || w.Count("D1.ImportDatabase") != 4 {
		t.Errorf("%v after %d calls", err, w.Count("D1.ImportDatabase"))
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

// TestStatements: what D1's /query cuts in the wrong places, or does half, is done whole.
func TestStatements(t *testing.T) {
	for name, text := range map[string]string{
		"a trigger":                              "CREATE TRIGGER t AFTER INSERT ON orders BEGIN\n  UPDATE orders SET what = 'seen' WHERE id = NEW.id;\nEND;",
		"a trigger with carriage returns":        "CREATE TRIGGER t AFTER INSERT ON orders\r\nBEGIN\r\n  UPDATE orders SET what = 'seen' WHERE id = NEW.id;\r\nEND;\r\n",
		"a trigger in small letters":             "create trigger t after insert on orders begin update orders set what = 'seen' where id = new.id; end",
		"a case without parentheses":             "CREATE TRIGGER t AFTER INSERT ON orders BEGIN\n  SELECT CASE WHEN NEW.id < 0 THEN RAISE(ABORT, 'no') END;\n  UPDATE orders SET what = 'seen' WHERE id = NEW.id;\nEND;",
		"semicolons in text, names and comments": "CREATE TABLE \"a;b\" (c TEXT DEFAULT ';'); -- one; two\n/* three; */ INSERT INTO \"a;b\" VALUES ('x;y'); " + "CREATE TRIGGER t AFTER INSERT ON orders BEGIN UPDATE orders SET what = 'seen' WHERE id = NEW.id; END;",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{"1.sql": "CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT)", "2.sql": text})
			if err := w.settle(); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(name, "carriage") || strings.Contains(name, "case") { // which is what an import is for
				w.sql("DROP TRIGGER t")
				all, _ := w.Do(t, http.MethodGet, base, nil).([]any)
				half := obj{"sql": "CREATE TABLE half (id INTEGER);" + text}
				status, said := w.TryWith(t, http.MethodPost, base+"/"+all[0].(obj)["uuid"].(string)+"/query", nil, half)
				if tables := w.sql("SELECT name FROM sqlite_master WHERE name IN ('half', 't')"); status != 400 ||
					!strings.Contains(fmt.Sprint(said["errors"]), "incomplete input") || tables != "[map[name:half]]" {
					t.Errorf("/query: %d %v, %s", status, said["errors"], tables)
				}
				w.sql(strings.NewReplacer("\r", "", "SELECT CASE", "SELECT (CASE", "END;\n  U", "END);\n  U").Replace(text))
			}
			w.sql("INSERT INTO orders (what) VALUES ('new')")
			if have := w.sql(orders); have != "[map[what:seen]]" {
				t.Errorf("orders: %s", have)
			}
		})
	}
}

// TestLong: an import that goes on after its answer is waited for, and one whose end nobody has seen is not done again.
func TestLong(t *testing.T) {
	w := newWorld(t, shop)
	w.ImportsTake(2)
	if err := w.settle(); err != nil || w.sql(orders) != "[map[what:it's; one] map[what:two]]" {
		t.Fatalf("%v, %s", err, w.sql(orders))
	}
	if have := w.Count("D1.ImportDatabase"); have != 2*(2+2) {
		t.Errorf("%d calls: each file is announced, imported and asked about twice", have)
	}
	write(t, w.dir, map[string]string{"0003_more.sql": "INSERT INTO orders (what) VALUES ('three');"})
	for _, kind := range []wiretest.Kind{cloudflaretest.ServerError, cloudflaretest.Throttle, cloudflaretest.DropAnswer} {
		w.Inject(cloudflaretest.Fault{Op: "D1.ImportDatabase", When: polls, Kind: kind})
	}
	if err := w.settle(); err != nil || strings.Count(w.sql(orders), "three") != 1 {
		t.Errorf("%v, %s", err, w.sql(orders))
	}
}

// TestCut: a process that ends while an import goes on leaves it to the next one, which does nothing again.
func TestCut(t *testing.T) {
	w := newWorld(t, shop)
	w.ImportsTake(3)
	ctx, stop := context.WithCancel(t.Context())
	w.Inject(cloudflaretest.Fault{Op: "D1.ImportDatabase", Kind: cloudflaretest.CutBefore, When: func(c cloudflaretest.Call) bool {
		if !polls(c) {
			return false
		}
		stop()
		return true
	}})
	if _, err := w.kind.Settle(ctx, w.job(), reconcile.Hooks{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if err := w.settle(); err != nil || w.sql(orders) != "[map[what:it's; one] map[what:two]]" {
		t.Errorf("%v, %s", err, w.sql(orders))
	}
}

// TestSignedURL: the URL of the upload, which gives its owner the right to it, is in no error, and the token does not go there.
func TestSignedURL(t *testing.T) {
	for name, fault := range map[string]cloudflaretest.Fault{
		"refused": {Kind: cloudflaretest.Refuse, Status: http.StatusForbidden, Code: "1"},
		"cut":     {Kind: cloudflaretest.CutBefore},
	} {
		w := newWorld(t, shop)
		fault.Op, fault.Times = "D1.UploadImport", -1
		w.Inject(fault)
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		_, err := w.kind.Settle(ctx, w.job(), reconcile.Hooks{})
		stop()
		if err == nil || strings.Contains(err.Error(), "Signature") || strings.Contains(err.Error(), "d1-sql-imports") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFaults breaks a migration in every way: it is done once.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault cloudflaretest.Fault
	}{
		{"the answer to an import is lost", cloudflaretest.Fault{Op: "D1.ImportDatabase", When: ingests, Kind: cloudflaretest.DropAnswer}},
		{"an import never arrives", cloudflaretest.Fault{Op: "D1.ImportDatabase", When: ingests, Kind: cloudflaretest.CutBefore}},
		{"an import meets an error of the edge", cloudflaretest.Fault{Op: "D1.ImportDatabase", When: ingests, Nth: 2, Kind: cloudflaretest.ServerError}},
		{"the answer to an announcement is lost", cloudflaretest.Fault{Op: "D1.ImportDatabase", Kind: cloudflaretest.DropAnswer}},
		{"an upload never arrives", cloudflaretest.Fault{Op: "D1.UploadImport", Kind: cloudflaretest.CutBefore}},
		{"the answer to an upload is lost", cloudflaretest.Fault{Op: "D1.UploadImport", Kind: cloudflaretest.DropAnswer}},
		{"what was done cannot be read at first", cloudflaretest.Fault{Op: "D1.QueryDatabase", Kind: cloudflaretest.Throttle, Times: 2}},
		{"the answer of the creation is lost", cloudflaretest.Fault{Op: "D1.CreateDatabase", Kind: cloudflaretest.DropAnswer}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, shop)
			armed := w.Inject(c.fault)
			if err := w.settle(); err != nil || armed.Fired() == 0 {
				t.Fatalf("%v, fired %d", err, armed.Fired())
			}
			if have := w.sql(orders); have != "[map[what:it's; one] map[what:two]]" || w.Count("D1.UploadImport") > 4 {
				t.Errorf("wrote %v; orders %s", w.Wrote(), have)
			}
		})
	}
}

// polls reports the call that asks about an import.
func polls(c cloudflaretest.Call) bool { return strings.Contains(string(c.Body), `"poll"`) }

// ingests reports the call that imports what was uploaded.
func ingests(c cloudflaretest.Call) bool { return strings.Contains(string(c.Body), `"ingest"`) }

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
