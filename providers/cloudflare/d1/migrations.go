package d1

import (
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // D1 compares files by it
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

const (
	// migrationAsset begins the names of the assets that are migrations.
	migrationAsset = "migrations/"
	// noted is wrangler's table of what was done, so that both can be used on one database.
	noted = "d1_migrations"
	// digests is the table of what it was.
	digests = "athanor_migrations"
)

// tables make both. The first is word for word what wrangler makes.
const tables = `CREATE TABLE IF NOT EXISTS ` + noted + `(
		id         INTEGER PRIMARY KEY AUTOINCREMENT,
		name       TEXT UNIQUE,
		applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
);
CREATE TABLE IF NOT EXISTS ` + digests + `(name TEXT PRIMARY KEY, digest TEXT NOT NULL);
`

// prepareMigrations reads the folder.
func prepareMigrations(ctx context.Context, work reconcile.Workspace, want DatabaseProps) (map[string]reconcile.Asset, error) {
	if want.Migrations == "" || token.Has(want.Migrations) {
		return nil, nil // there are none, or the folder is known only later
	}
	dir := want.Migrations
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(work.Dir, dir)
	}
	work.Reads(dir)
	entries, err := localfile.ReadDir(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	assets := map[string]reconcile.Asset{}
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".sql") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		text, err := localfile.ReadFile(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("migrations: %w", err)
		}
		assets[migrationAsset+e.Name()] = reconcile.Asset{Digest: digest(text), Path: path, Size: int64(len(text))}
	}
	return assets, nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// errEdited refuses to go on where what was done is no longer what is there to read.
var errEdited = errors.New("the migration was changed after it was done")

// migrate does what the database has not had, file by file in the order of their names. Each file is one import, which
// D1 does whole or not at all, together with the note that it was done.
func migrate(ctx context.Context, on reconcile.Update[liveDatabase], files map[string]string, _ []string) error {
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if _, done := on.Live.done[name]; done {
			return cloudflare.Invalid(reconcile.WithHint(fmt.Errorf("%w: %s", errEdited, name),
				"put the file back as it was, and write what is to change into a new one"))
		}
	}
	for _, name := range names {
		text, err := localfile.ReadFile(ctx, on.Assets[migrationAsset+name].Path)
		if err != nil {
			return err
		}
		if digest(text) != files[name] {
			return fmt.Errorf("%s was changed while it was to be done", name)
		}
		base := target{on.Cloud, on.Location.Account, string(on.Live.attrs.ID)}
		// The note comes first: a file need not end its last statement, and may end in a comment.
		if err := base.imports(ctx, name, []byte(tables+noteOf(name, files[name])+string(text))); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// noteOf notes that a migration was done.
func noteOf(name, digest string) string {
	return fmt.Sprintf("INSERT INTO %s (name) VALUES (%s);\nINSERT INTO %s (name, digest) VALUES (%s, %s);\n",
		noted, quoted(name), digests, quoted(name), quoted(digest))
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// done are the migrations that a database has had.
func done(ctx context.Context, cloud reconcile.Cloud, account, id string) (map[string]string, error) {
	ctx = cloudflare.Reading(ctx)
	var found []struct{ Results []struct{ Name string } }
	err := query(ctx, cloud, account, id, "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('"+noted+"', '"+digests+"')", &found)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var sql string
	switch names := found[0].Results; len(names) {
	case 0:
		return nil, nil
	case 1:
		sql = "SELECT name, '' AS digest FROM " + names[0].Name
	default:
		sql = "SELECT m.name AS name, coalesce(d.digest, '') AS digest FROM " + noted + " m LEFT JOIN " + digests + " d ON d.name = m.name"
	}
	var rows []struct {
		Results []struct{ Name, Digest string }
	}
	if err := query(ctx, cloud, account, id, sql, &rows); err != nil || len(rows) == 0 {
		return nil, err
	}
	all := map[string]string{}
	for _, r := range rows[0].Results {
		all[r.Name] = r.Digest
	}
	return all, nil
}

// target is the database that is migrated.
type target struct {
	cloud       reconcile.Cloud
	account, id string
}

// imported is what D1 says of an import. UploadURL is where the file is to go, "" when D1 has it and has begun.
type imported struct {
	Success       bool
	Status, Error string
	Filename      string
	UploadURL     string `json:"upload_url"`
	Bookmark      string `json:"at_bookmark"`
}

const (
	firstPoll = 200 * time.Millisecond
	lastPoll  = 5 * time.Second
)

var (
	errDamaged   = errors.New("the file arrived damaged")
	errImporting = errors.New("the import is not finished")
)

// imports does a file of SQL by D1's import, as `wrangler d1 execute --file` does: /query cuts triggers in pieces that have carriage
// returns or a CASE (workers-sdk#14991, #4326), and does what comes before a mistake. A database is blocked while it imports.
func (t target) imports(ctx context.Context, name string, text []byte) error {
	sum := md5.Sum(text)
	etag := hex.EncodeToString(sum[:])
	state, err := t.call(ctx, map[string]any{"action": "init", "etag": etag})
	if err == nil && state.UploadURL != "" {
		state, err = t.upload(ctx, state, etag, text)
	}
	if err != nil {
		return err
	}
	reading := cloudflare.Reading(ctx)
	err = reconcile.Until(reading, t.cloud, firstPoll, lastPoll, errImporting, func(ctx context.Context) (ended bool, again time.Duration, err error) {
		if !state.Success || state.Status == "complete" || state.Status == "error" {
			return true, 0, nil
		}
		now, err := t.call(ctx, map[string]any{"action": "poll", "current_bookmark": state.Bookmark})
		if err == nil {
			state = now
		}
		return false, 0, err
	})
	if err != nil || state.Success && state.Status == "complete" {
		return err
	}
	// D1 forgets an import that has ended, and a call that was repeated finds the note of the first: the database knows.
	had, err := done(ctx, t.cloud, t.account, t.id)
	if _, noted := had[name]; err != nil || noted {
		return err
	}
	return cloudflare.Invalid(fmt.Errorf("%s: %s", "ImportDatabase", cmp.Or(state.Error, "the import ended without a reason")))
}

// uploadImport is the call that sends a file to where D1 says.
func uploadImport() cloudflare.Operation {
	return cloudflare.Operation{Service: "D1", Name: "UploadImport", Method: http.MethodPut}
}

// upload sends the file, and lets D1 begin.
func (t target) upload(ctx context.Context, announced imported, etag string, text []byte) (imported, error) {
	arrived, err := cloudflare.PutSigned(ctx, t.cloud, uploadImport(), announced.UploadURL, text)
	if err != nil {
		return imported{}, err
	}
	if arrived != etag {
		return imported{}, reconcile.WithClass(fmt.Errorf("%s: %w", uploadImport().Name, errDamaged), reconcile.Transient)
	}
	return t.call(ctx, map[string]any{"action": "ingest", "etag": etag, "filename": announced.Filename})
}

func (t target) call(ctx context.Context, body map[string]any) (state imported, err error) {
	err = cloudflare.Call(ctx, t.cloud, cloudflare.Request{
		Method: http.MethodPost, Path: "/accounts/" + t.account + "/d1/database/" + t.id + "/import", Body: body,
	}, &state)
	return state, err
}

// query asks a database, which must not be told to change anything: see imports.
func query(ctx context.Context, cloud reconcile.Cloud, account, id, sql string, into any) error {
	return cloudflare.Call(ctx, cloud, cloudflare.Request{
		Method: http.MethodPost, Path: "/accounts/" + account + "/d1/database/" + id + "/query", Body: map[string]any{"sql": sql},
	}, into)
}
