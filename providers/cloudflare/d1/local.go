package d1

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare/here"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Local are the variants that dev takes.
func Local() []reconcile.Any { return []reconcile.Any{reconcile.Erase(localDatabase)} }

// liveHere is a database of this machine as it was seen.
type liveHere struct {
	here.Live[DatabaseProps, Database]
	// done are the digests of the migrations that it has had, by file; nil when nobody could ask.
	done map[string]string
}

type localSite = reconcile.Site[DatabaseProps, Database]

// localDatabase has the same migrations, noted in the same tables, done one by one when they come.
var localDatabase = &reconcile.Kind[DatabaseProps, liveHere, Database]{
	Type: here.Type(databaseType), Stands: databaseType, Doc: "A database on this machine, with its migrations.", Recorded: true, Rerun: true, Source: source,
	Check: databaseKind.Check, Defaults: databaseKind.Defaults, Prepare: prepareMigrations, Files: databaseKind.Files, Tags: here.NoTags,
	Observe: func(ctx context.Context, site localSite) (live liveHere, err error) {
		if live.Live, err = here.Recorded(site, databaseKind.Defaults); err != nil || site.Dev == nil || live.Had.Migrations == "" && site.Want.Migrations == "" {
			return live, err
		}
		live.done, err = doneHere(ctx, here.At(site), live.Attrs.ID)
		return live, err
	},
	Create: func(ctx context.Context, site localSite) (Database, error) {
		out := Database{ID: ID(here.ID(site.Mark)), Name: cmp.Or(site.Want.Name, here.Name(site.Mark))}
		done, err := map[string]string{}, error(nil)
		if len(site.Assets) > 0 {
			done, err = doneHere(ctx, here.At(site), out.ID)
		}
		if err != nil {
			return out, err
		}
		return out, migrateHere(ctx, here.At(site), out.ID, site.Assets, done)
	},
	Compare: compareHere,
	Attrs:   func(live liveHere) Database { return live.Attrs },
	Delete: func(_ context.Context, site localSite) error {
		if site.Last == nil {
			return nil
		}
		return here.D1().Remove(site.Dev, site.Dir, site.Mark, string(site.Last.ID))
	},
	Identity: func(Database) string { return "" },
}

func compareHere(d *reconcile.Diff[liveHere], want DatabaseProps, live liveHere) {
	migrate := &reconcile.Operation[liveHere]{Name: "Migrate", Do: func(ctx context.Context, on reconcile.On[liveHere]) error {
		return migrateHere(ctx, here.On(on), live.Attrs.ID, on.Assets, live.done)
	}}
	if live.done != nil {
		for _, name := range slices.Sorted(maps.Keys(d.Assets())) {
			file, ok := strings.CutPrefix(name, migrationAsset)
			if asset, _ := d.Asset(name); ok {
				reconcile.Value(d, tree.Path("migrations").Key(file), asset.Digest, live.done[file], migrate)
			}
		}
	}
	here.Compare(d, want, live.Had, []string{"name", "jurisdiction"}, &reconcile.Operation[liveHere]{
		Name: "Keep", Do: func(context.Context, reconcile.On[liveHere]) error { return nil }, // it has no effect here
	})
}

// doneHere are the migrations that a database has had.
func doneHere(ctx context.Context, p here.Place, id ID) (map[string]string, error) {
	s, err := here.Of(p)
	if err != nil {
		return nil, err
	}
	done := map[string]string{}
	rows, err := s.Ask(ctx, string(id), "SELECT name FROM sqlite_master WHERE type = 'table' AND name = '"+digests+"'")
	if err != nil || len(rows[0]) == 0 {
		return done, err
	}
	if rows, err = s.Ask(ctx, string(id), "SELECT name, digest FROM "+digests); err != nil {
		return nil, err
	}
	for _, row := range rows[0] {
		name, _ := row["name"].(string)
		done[name], _ = row["digest"].(string)
	}
	return done, nil
}

// migrateHere does what a database has not had, each file with its note or not at all.
func migrateHere(ctx context.Context, p here.Place, id ID, assets map[string]reconcile.Asset, done map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(assets)) {
		file, ok := strings.CutPrefix(name, migrationAsset)
		if !ok || done[file] == assets[name].Digest {
			continue
		}
		if _, had := done[file]; had {
			return reconcile.WithHint(fmt.Errorf("%w: %s", errEdited, file),
				"put the file back as it was, or begin anew: `athanor destroy` of this stage deletes the database of this machine")
		}
		text, err := os.ReadFile(assets[name].Path)
		if err != nil {
			return err
		}
		if digest(text) != assets[name].Digest {
			return fmt.Errorf("%s was changed while it was to be done", file)
		}
		s, err := here.Of(p)
		if err != nil {
			return err
		}
		// The runtime wants a statement at the end, where a file may have a comment.
		if _, err := s.Do(ctx, string(id), tables+noteOf(file, assets[name].Digest), string(text)+"\n;SELECT 1"); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}
