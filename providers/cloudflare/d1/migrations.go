package d1

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

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

// migrate does what the database has not had, file by file in the order of their names. Each file is one call, which
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
		// The note comes first: a file need not end its last statement, and may end in a comment.
		if err := query(ctx, on.Cloud, on.Location.Account, string(on.Live.attrs.ID), tables+noteOf(name, files[name])+string(text), nil); err != nil {
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

func query(ctx context.Context, cloud reconcile.Cloud, account, id, sql string, into any) error {
	return cloudflare.Call(ctx, cloud, cloudflare.Request{
		Method: http.MethodPost, Path: "/accounts/" + account + "/d1/database/" + id + "/query", Body: map[string]any{"sql": sql},
	}, into)
}
