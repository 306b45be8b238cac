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
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Local are the variants that dev takes.
func Local() []reconcile.Any { return []reconcile.Any{localDatabase.Erase()} }

// keptHere is a database of this machine. Read are the digests of the migrations that it has had, by file; nil when nobody
// could ask.
type keptHere = kind.Kept[DatabaseProps, Database]

// localDatabase has the same migrations, noted in the same tables, done one by one when they come.
var localDatabase = &kind.StateKind[DatabaseProps, Database]{
	Type: here.Type(databaseType), LocalVariantOf: databaseType, Lifetime: kind.Rerun, Doc: "A database on this machine, with its migrations.",
	Props: databaseTable, Default: databaseKind.WithDefaults, Check: databaseKind.CheckAll, Prepare: prepareMigrations, Files: databaseKind.Files,
	API: kind.API{Source: source, Calls: []string{"miniflare.Ask", "miniflare.Do"}},
	Read: func(ctx context.Context, s databaseSite, live *keptHere) error {
		if s.Dev == nil || live.Props.Migrations == "" && s.Want.Migrations == "" {
			return nil
		}
		done, err := doneHere(ctx, s.Facts, live.Attributes.ID)
		live.Read = done
		return err
	},
	Create: func(ctx context.Context, s databaseSite) (Database, error) {
		out := Database{ID: ID(here.ID(s.Owner)), Name: cmp.Or(s.Want.Name, here.Name(s.Owner))}
		done, err := map[string]string{}, error(nil)
		if len(s.Assets) > 0 {
			done, err = doneHere(ctx, s.Facts, out.ID)
		}
		if err != nil {
			return out, err
		}
		return out, migrateHere(ctx, s.Facts, out.ID, done)
	},
	Compare: compareHere,
	Delete: func(_ context.Context, s databaseSite) error {
		return here.D1().Remove(s.Dev, s.Dir, s.Owner, string(s.Last.ID))
	},
}

func compareHere(d *kind.Diff[keptHere], want DatabaseProps, live keptHere) {
	if done, asked := live.Read.(map[string]string); asked {
		migrate := kind.Set("Migrate", func(ctx context.Context, u kind.Update[keptHere]) error {
			return migrateHere(ctx, u.Facts, live.Attributes.ID, done)
		})
		for _, name := range slices.Sorted(maps.Keys(d.Assets())) {
			file, ok := strings.CutPrefix(name, migrationAsset)
			if asset, _ := d.Asset(name); ok {
				reconcile.Value(d, tree.Path("migrations").Key(file), asset.Digest, done[file], migrate)
			}
		}
	}
	here.Compare(d, want, live.Props, []string{"name", "jurisdiction"}, kind.Set("Keep",
		func(context.Context, kind.Update[keptHere]) error { return nil })) // it has no effect here
}

// doneHere are the migrations that a database has had.
func doneHere(ctx context.Context, scope kind.Facts, id ID) (map[string]string, error) {
	s, err := here.Of(scope)
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
func migrateHere(ctx context.Context, scope kind.Facts, id ID, done map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(scope.Assets)) {
		file, ok := strings.CutPrefix(name, migrationAsset)
		if !ok || done[file] == scope.Assets[name].Digest {
			continue
		}
		if _, had := done[file]; had {
			return reconcile.WithHint(fmt.Errorf("%w: %s", errEdited, file),
				"put the file back as it was, or begin anew: `athanor destroy` of this stage deletes the database of this machine")
		}
		text, err := os.ReadFile(scope.Assets[name].Path)
		if err != nil {
			return err
		}
		if digest(text) != scope.Assets[name].Digest {
			return fmt.Errorf("%s was changed while it was to be done", file)
		}
		s, err := here.Of(scope)
		if err != nil {
			return err
		}
		// The runtime wants a statement at the end, where a file may have a comment.
		if _, err := s.Do(ctx, string(id), tables+noteOf(file, scope.Assets[name].Digest), string(text)+"\n;SELECT 1"); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}
