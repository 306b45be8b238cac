package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// DirectoryProps declare a folder and the files in it.
type DirectoryProps struct {
	// Path is where the folder lies: relative to the stack's directory, absolute, or outside it with "..".
	// Missing parent folders are made. Changing it replaces the folder: the new one is written before the
	// old one is removed.
	Path string `prop:"required,immutable"`
	// Source is a folder whose files are copied, relative to the stack's directory: all of them, empty
	// folders too, executable where the source is. A symbolic link in it is an error. Not together with
	// files. Default: none.
	Source string
	// Files are the text of each file by its name, which is relative to path and may have folders in it
	// ("a/b.txt"). They are not executable. Not together with source. Default: none.
	Files map[string]string `prop:"deferrable"`
}

// Directory is what others may refer to.
type Directory struct {
	// Path is the path as it was declared, cleaned.
	Path string
	// Digest is the SHA-256 of all names and contents, in hex. Where a content is secret it is made with the
	// stage's key instead, so that nobody can guess the content from it.
	Digest string `attr:"mutable"`
	// Files are the names of the files that were written, sorted; an empty folder ends in a slash.
	Files []string `attr:"mutable"`
}

// liveDirectory is an observed folder: the files that are wanted and those in state, no others.
type liveDirectory struct {
	path   string
	digest string
	ours   map[string]bool
	there  map[string]entry
}

type directorySite = kind.Site[DirectoryProps, Directory]

var directoryKind = &kind.Kind[DirectoryProps, liveDirectory, Directory]{
	Type: "local.Directory",
	Doc: "A folder of the machine that deploys, with files in it. It manages the files that it wrote, which state remembers, and whether they are executable; " +
		"other files in the folder are left alone, and so are other permission bits. A file that already lies at a newly declared name is overwritten, which the plan shows. " +
		"Removing it removes those files and the folders that this leaves empty. The names of its files are in state before the first is written: " +
		"a creation that was cut short goes on in the next run, or is removed with what had been written.",
	Observe: observeDirectory,
	Create:  createDirectory,
	Compare: compareDirectory,
	Attributes: func(l liveDirectory) Directory {
		return Directory{Path: l.path, Digest: l.digest, Files: slices.Sorted(maps.Keys(l.there))}
	},
	Delete:   deleteDirectory,
	Identity: func(a Directory) string { return a.Path },
	Props:    kind.TableOf[DirectoryProps](),
	Check:    checkDirectory,
	Named: &kind.Named[DirectoryProps, liveDirectory]{
		Given: func(want DirectoryProps) string { return cleaned(want.Path) }, Prop: "path",
	},
	Owner:       kind.OwnedByContent[DirectoryProps, liveDirectory]{},
	Prepare:     prepareDirectory,
	Files:       []tree.Path{"source"},
	FilesAt:     []tree.Path{"files"},
	WritesFiles: true,
	CleansUp:    true,
	// The folder stays while it holds files of others.
	Deletion: kind.AtOnce[liveDirectory]{},
	API: kind.API{
		Source: source,
		Calls:  []string{"local.ReadFolder", "local.CreateFolder", "local.CreateFile", "local.WriteFile", "local.RemoveFile", "local.RemoveFolder"},
	},
}

func checkDirectory(want DirectoryProps) error {
	var problems props.Errors
	if len(want.Files) > 0 && want.Source != "" {
		problems.Wrong("source", "either files or source, not both")
	}
	for name := range want.Files {
		if problem := wrongName(name, want.Files); problem != "" {
			problems.Wrong(tree.Path("files").Key(name), problem)
		}
	}
	slices.SortFunc(problems, func(a, b *props.FieldError) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return problems.OrNil()
}

func wrongName(name string, all map[string]string) string {
	if token.Has(name) {
		return ""
	}
	if name == "." || path.Clean(name) != name || !filepath.IsLocal(filepath.FromSlash(name)) {
		return "want a relative name inside the folder, such as a/b.txt"
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := all[dir]; ok {
			return dir + " is a file already"
		}
	}
	return ""
}

// wholeSource names the asset that stands for the source; below it, with a slash, lies one for each file.
const wholeSource = "source"

// prepareDirectory hashes every file of the source.
func prepareDirectory(ctx context.Context, work reconcile.Workspace, want DirectoryProps) (map[string]reconcile.Asset, error) {
	if want.Source == "" || token.Has(want.Source) {
		return nil, nil
	}
	from, err := filepath.Abs(within(work.Dir, want.Source))
	if err != nil {
		return nil, err
	}
	if !token.Has(want.Path) {
		to, err := filepath.Abs(within(work.Dir, cleaned(want.Path)))
		if err != nil {
			return nil, err
		}
		if rel, err := filepath.Rel(from, to); err == nil && filepath.IsLocal(rel) {
			return nil, fmt.Errorf("source: %s holds the folder that is to be written", want.Source)
		}
	}
	work.Reads(from)
	assets, err := scan(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	return assets, nil
}

// wanted are the entries that a declaration asks for. ok is false while the source is not known.
func wanted(want DirectoryProps, assets map[string]reconcile.Asset) (entries map[string]entry, ok bool) {
	entries = make(map[string]entry, len(want.Files)+len(assets))
	for name, text := range want.Files {
		entries[name] = entry{state: textState(text, 0), body: body{text: text}}
	}
	if want.Source == "" {
		return entries, true
	}
	if _, ok := assets[wholeSource]; !ok {
		return entries, false
	}
	for key, asset := range assets {
		if name, below := strings.CutPrefix(key, wholeSource+"/"); below {
			entries[name] = entryOf(asset)
		}
	}
	return entries, true
}

func directoryPath(site directorySite) string {
	if site.Last != nil {
		return site.Last.Path
	}
	return cmp.Or(site.ID, cleaned(site.Want.Path))
}

// observeDirectory reads the files that are wanted or in state. Without state a folder that has some of
// the files, and nothing that contradicts them, is not there yet: a creation that was cut short goes on.
func observeDirectory(ctx context.Context, site directorySite) (liveDirectory, error) {
	at := directoryPath(site)
	if token.Has(at) {
		return liveDirectory{}, reconcile.ErrAbsent // a place that is not known yet holds nothing of ours
	}
	live := liveDirectory{path: at, ours: map[string]bool{}, there: map[string]entry{}}
	want, known := wanted(site.Want, site.Assets)
	names := maps.Clone(want)
	if site.Last != nil {
		for _, name := range site.Last.Files {
			names[name], live.ours[name] = entry{}, true
		}
	}
	err := through(ctx, site.Location, "ReadFolder", false, func() error {
		root, err := openFolder(ctx, within(site.Dir, at))
		if err != nil {
			return err
		}
		defer root.Close()
		if err := readEntries(ctx, root, slices.Collect(maps.Keys(names)), live.there); err != nil {
			return err
		}
		unfinished(root, live.ours, live.there)
		disown(root, want, live.there)
		for _, name := range leftovers(root, want, live.ours, live.there) {
			live.there[name], live.ours[name] = entry{shape: folder}, true
		}
		return nil
	})
	if missing(err) {
		return liveDirectory{}, reconcile.ErrAbsent
	}
	if err != nil {
		return liveDirectory{}, shaped(err, at)
	}
	if site.Last == nil && site.ID == "" && (!known || begun(want, live.there)) {
		return liveDirectory{}, reconcile.ErrAbsent
	}
	live.digest = directoryDigest(site, live.there)
	return live, nil
}

// begun reports that something is missing and nothing is different.
func begun(want, there map[string]entry) bool {
	for name, have := range there {
		if !want[name].equal(have) {
			return false
		}
	}
	return len(there) < len(want)
}

// directoryDigest is the public digest of entries.
func directoryDigest(site directorySite, entries map[string]entry) string {
	secret := false
	for p := range site.Secret {
		secret = secret || p.Overlaps("files")
	}
	recorded := ""
	if site.Last != nil {
		recorded = site.Last.Digest
	}
	return publicDigest("local.Directory", sumOf(entries), recorded, secret, site.Derive)
}

func createDirectory(ctx context.Context, site directorySite) (Directory, error) {
	at := cleaned(site.Want.Path)
	want, known := wanted(site.Want, site.Assets)
	if !known || token.Has(at) {
		return Directory{}, errors.New("the path or the source is not known")
	}
	out := Directory{Path: at, Digest: directoryDigest(site, want), Files: slices.Sorted(maps.Keys(want))}
	full := within(site.Dir, at)
	err := again(func() error {
		err := through(ctx, site.Location, "CreateFolder", true, func() error { return makeFolder(ctx, full) })
		if err != nil {
			return err
		}
		root, err := openFolder(ctx, full)
		if err != nil {
			return shaped(err, at)
		}
		defer root.Close()
		return fillDirectory(ctx, site, root, out, want)
	})
	if err != nil {
		return Directory{}, err
	}
	return out, nil
}

// fillDirectory writes the files that are not there. What is there and different is somebody else's.
func fillDirectory(ctx context.Context, site directorySite, root *os.Root, out Directory, want map[string]entry) error {
	there := map[string]entry{}
	if err := readEntries(ctx, root, out.Files, there); err != nil {
		return err
	}
	for name, have := range there {
		if !want[name].equal(have) {
			return &fs.PathError{Op: "create", Path: path.Join(out.Path, name), Err: fs.ErrExist}
		}
	}
	if len(out.Files) > 1 { // a single file is there whole or not at all
		if err := site.New.Store(ctx, out); err != nil {
			return err
		}
	}
	for _, name := range out.Files {
		if _, written := there[name]; written {
			continue // by a creation that was cut short
		}
		err := through(ctx, site.Location, "CreateFile", true, func() error { return want[name].write(ctx, root, name, false) })
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func compareDirectory(d *kind.Diff[liveDirectory], want DirectoryProps, live liveDirectory) {
	reconcile.Fixed(d, "path", cleaned(want.Path), live.path)
	entries, known := wanted(want, d.Assets())
	if !known { // of the files that are there any may differ, and others may come
		write := kind.Set("WriteFile", func(context.Context, kind.Update[liveDirectory]) error { return errNotKnown })
		for _, name := range slices.Sorted(maps.Keys(live.there)) {
			reconcile.Value(d, tree.Path("files").Key(name), any(want.Source), live.there[name].shown(entry{body: body{asset: &reconcile.Asset{}}, executable: live.there[name].executable}), write)
		}
		reconcile.Value(d, "files", want.Source, "", write)
		return
	}
	files := tree.Path("files")
	w, h := map[string]any{}, map[string]any{}
	for name, e := range entries {
		if d.Unknown(files.Key(name), want.Files[name]) {
			w[name] = want.Files[name]
		} else {
			w[name] = e.shown(live.there[name])
		}
	}
	for name, e := range live.there {
		if _, ok := entries[name]; ok || live.ours[name] {
			h[name] = e.shown(entries[name])
		}
	}
	reconcile.Map(d, files, w, h, "WriteFile",
		func(ctx context.Context, on kind.Update[liveDirectory], put map[string]any, drop []string) error {
			return settleEntries(ctx, on, entries, slices.Sorted(maps.Keys(put)), drop)
		})
}

var errNotKnown = errors.New("the source is not known")

func settleEntries(ctx context.Context, on kind.Update[liveDirectory], entries map[string]entry, put, drop []string) error {
	full := within(on.Dir, on.Live.path)
	return again(func() error {
		if err := makeFolder(ctx, full); err != nil {
			return err
		}
		root, err := openFolder(ctx, full)
		if err != nil {
			return shaped(err, on.Live.path)
		}
		defer root.Close()
		return writeEntries(ctx, on, root, entries, put, drop)
	})
}

// writeEntries removes first, so that a file may take the name of a folder and the other way round.
func writeEntries(
	ctx context.Context, on kind.Update[liveDirectory], root *os.Root, entries map[string]entry, put, drop []string,
) error {
	if err := removeEntries(ctx, on.Location, root, drop); err != nil {
		return err
	}
	if slices.ContainsFunc(put, func(name string) bool { return on.Live.there[name].shape == folder }) {
		// Folders that a run was about to remove when it was cut short.
		if err := removeFolders(ctx, on.Location, root, slices.Collect(maps.Keys(on.Live.ours))); err != nil {
			return err
		}
	}
	if err := beginEntries(ctx, on, put); err != nil {
		return err
	}
	for _, name := range put {
		err := through(ctx, on.Location, "WriteFile", true, func() error { return entries[name].write(ctx, root, name, true) })
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// beginEntries puts the names of files into state that are about to be added.
func beginEntries(ctx context.Context, on kind.Update[liveDirectory], put []string) error {
	files := maps.Clone(on.Live.ours)
	for _, name := range put {
		files[name] = true
	}
	if len(files) == len(on.Live.ours) || on.Begin == nil {
		return nil
	}
	return on.Begin(ctx, Directory{Path: on.Live.path, Digest: on.Live.digest, Files: slices.Sorted(maps.Keys(files))})
}

func deleteDirectory(ctx context.Context, site directorySite) error {
	at := directoryPath(site)
	if at == "" || token.Has(at) {
		return nil
	}
	var written []string // without any, a creation was cut before its first file
	if site.Last != nil {
		written = site.Last.Files
	}
	full := within(site.Dir, at)
	root, err := openFolder(ctx, full)
	switch {
	case missing(err):
	case err != nil:
		return shaped(err, at)
	default:
		defer root.Close()
		if err := removeEntries(ctx, site.Location, root, written); err != nil {
			return err
		}
	}
	return through(ctx, site.Location, "RemoveFolder", true, func() error {
		err := os.Remove(full)
		if (err == nil || missing(err)) && !filepath.IsAbs(filepath.FromSlash(at)) { // else it holds what is not ours
			prune(site.Dir, full)
		}
		return nil
	})
}
