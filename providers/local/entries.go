package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// entry is one file, or one empty folder, in a managed folder.
type entry struct {
	state
	executable bool
	// shape is what lies there when it is not a file: "a folder", "a symbolic link".
	shape string
	body  body
}

// folder is the shape of an entry whose name ends in a slash.
const folder = "a folder"

func (e entry) equal(o entry) bool {
	return e.sum == o.sum && e.shape == o.shape && (e.executable == o.executable || !managesModes())
}

// shown is the entry for plans and drift, in the form that tells it from the other.
func (e entry) shown(other entry) any {
	if e.shape != "" {
		return map[string]any{"shape": e.shape}
	}
	content := e.state.shown()
	if e.body.asset != nil || other.body.asset != nil {
		content = e.byDigest() // an asset's text is not at hand
	}
	if e.executable != other.executable && managesModes() {
		return map[string]any{"content": content, "executable": e.executable}
	}
	return content
}

// write puts the entry into root under its name.
func (e entry) write(ctx context.Context, root *os.Root, name string, replace bool) error {
	if e.shape == folder {
		return root.MkdirAll(strings.TrimSuffix(name, "/"), 0o755)
	}
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if info, err := root.Lstat(name); err == nil && info.IsDir() && root.Remove(name) != nil {
		return &ShapeError{Path: name, Is: "a folder that is not empty", Want: "a file"}
	}
	mode := fs.FileMode(0o644)
	if e.executable {
		mode = 0o755
	}
	return put(ctx, root, name, e.body, mode, replace)
}

// executableMark follows the sum in the digest of an asset that is executable; an empty folder has folder
// as its digest.
const executableMark = " executable"

func entryOf(asset reconcile.Asset) entry {
	if asset.Digest == folder {
		return entry{shape: folder}
	}
	e := entry{state: state{sum: asset.Digest, size: asset.Size}}
	e.sum, e.executable = strings.CutSuffix(asset.Digest, executableMark)
	asset.Digest = e.sum
	e.body.asset = &asset
	return e
}

// sumOf is one digest of all names, contents and executable bits.
func sumOf(entries map[string]entry) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		e := entries[name]
		h.Write(tree.Canonical([]any{name, e.sum, e.executable, e.shape}))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// openFolder opens a folder that is not reached by a symbolic link as its last step.
func openFolder(ctx context.Context, full string) (*os.Root, error) {
	if err := localfile.Inside(ctx, full); err != nil {
		return nil, err
	}
	info, err := os.Lstat(full)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &ShapeError{Path: full, Is: shapeOf(info.Mode()), Want: folder}
	}
	return os.OpenRoot(full)
}

// readEntries reads those names that are there.
func readEntries(ctx context.Context, root *os.Root, names []string, into map[string]entry) error {
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		s, err := readState(root, strings.TrimSuffix(name, "/"))
		shape, other := errors.AsType[*ShapeError](err)
		switch {
		case missing(err):
		case other:
			into[name] = entry{shape: shape.Is}
		case err != nil:
			return err
		default:
			into[name] = entry{state: s, executable: s.mode&0o111 != 0}
		}
	}
	return nil
}

// unfinishedFile is the shape of a file whose new content was written aside by a run that was cut.
const unfinishedFile = "an unfinished file"

// unfinished gives those of our names that shape: they are written again, or removed, with what lies aside.
func unfinished(root *os.Root, ours map[string]bool, there map[string]entry) {
	for name := range ours {
		if strings.HasSuffix(name, "/") {
			continue
		}
		if _, err := root.Lstat(aside(name)); err == nil {
			there[name] = entry{shape: unfinishedFile}
		}
	}
}

// disown drops what is no longer wanted and cannot be ours any more: a folder that took the name of a file, and
// a folder that was empty and holds something now.
func disown(root *os.Root, want, there map[string]entry) {
	for name, e := range there {
		if _, wanted := want[name]; wanted || e.shape != folder {
			continue
		}
		if !strings.HasSuffix(name, "/") || !empty(root, strings.TrimSuffix(name, "/")) {
			delete(there, name)
		}
	}
}

// leftovers are the empty folders that held files of ours: a run that was cut short has removed those and not
// yet the folders.
func leftovers(root *os.Root, want map[string]entry, ours map[string]bool, there map[string]entry) []string {
	needed, seen := map[string]bool{}, map[string]bool{}
	for name := range want {
		needed[strings.TrimSuffix(name, "/")] = true
		above(name, needed)
	}
	for name := range ours {
		if _, is := there[name]; !is {
			above(name, seen)
		}
	}
	var names []string
	for dir := range seen {
		if !needed[dir] && empty(root, dir) {
			names = append(names, dir+"/")
		}
	}
	return names
}

// above adds the folders that a name lies in.
func above(name string, folders map[string]bool) {
	for dir := path.Dir(strings.TrimSuffix(name, "/")); dir != "." && !folders[dir]; dir = path.Dir(dir) {
		folders[dir] = true
	}
}

// empty reports a folder with nothing in it.
func empty(root *os.Root, name string) bool {
	if info, err := root.Lstat(name); err != nil || !info.IsDir() {
		return false // opening a pipe would wait for its writer
	}
	dir, err := root.Open(name)
	if err != nil {
		return false
	}
	defer dir.Close()
	_, err = dir.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

// removeEntries removes files, and the folders above them that this leaves empty.
func removeEntries(ctx context.Context, place reconcile.Place, root *os.Root, names []string) error {
	for _, name := range names {
		err := through(ctx, place, "RemoveFile", true, func() error { return removeEntry(root, name) })
		if err != nil && !missing(err) {
			return err
		}
	}
	return removeFolders(ctx, place, root, names)
}

// removeFolders removes the folders above names that are empty, the deepest first.
func removeFolders(ctx context.Context, place reconcile.Place, root *os.Root, names []string) error {
	folders := map[string]bool{}
	for _, name := range names {
		above(name, folders)
	}
	if len(folders) == 0 {
		return nil
	}
	byDepth := slices.Collect(maps.Keys(folders))
	slices.SortFunc(byDepth, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	return through(ctx, place, "RemoveFolder", true, func() error {
		for _, dir := range byDepth {
			_ = root.Remove(dir) // not empty: there are other files in it
		}
		return nil
	})
}

// removeEntry removes a file or an empty folder. What has taken its name and is of another shape stays.
func removeEntry(root *os.Root, name string) error {
	if before, ok := strings.CutSuffix(name, "/"); ok {
		_ = root.Remove(before) // not empty: somebody else's files are in it
		return nil
	}
	if err := removeIf(root, aside(name)); err != nil {
		return err
	}
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return nil
	}
	return root.Remove(name)
}

// scan hashes a folder: one asset for each file and each empty folder, and one for the whole.
func scan(ctx context.Context, from string) (map[string]reconcile.Asset, error) {
	if err := localfile.Check(ctx, from); err != nil {
		return nil, err
	}
	info, err := os.Stat(from)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &ShapeError{Path: from, Is: shapeOf(info.Mode()), Want: folder}
	}
	assets, entries, size := map[string]reconcile.Asset{}, map[string]entry{}, int64(0)
	err = filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil || file == from {
			return err
		}
		rel, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		name, asset, err := assetAt(ctx, file, filepath.ToSlash(rel), d)
		if err != nil || name == "" {
			return err
		}
		assets[wholeSource+"/"+name], entries[name] = asset, entryOf(asset)
		size += asset.Size
		return nil
	})
	assets[wholeSource] = reconcile.Asset{Digest: sumOf(entries), Path: from, Size: size}
	return assets, err
}

// assetAt returns the asset of one entry of a source; a folder that is not empty has none.
func assetAt(ctx context.Context, file, name string, d fs.DirEntry) (string, reconcile.Asset, error) {
	if d.IsDir() {
		inside, err := os.ReadDir(file)
		if err != nil || len(inside) > 0 {
			return "", reconcile.Asset{}, err
		}
		return name + "/", reconcile.Asset{Digest: folder, Path: file}, nil
	}
	if !d.Type().IsRegular() {
		return "", reconcile.Asset{}, reconcile.WithHint(
			&ShapeError{Path: name, Is: shapeOf(d.Type()), Want: "a file"}, "copy what it points at into the source, or leave it out")
	}
	info, err := d.Info()
	if err != nil {
		return "", reconcile.Asset{}, err
	}
	asset, err := assetOf(ctx, file)
	if info.Mode()&0o111 != 0 {
		asset.Digest += executableMark
	}
	return name, asset, err
}
