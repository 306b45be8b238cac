package asset

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

const (
	// mostFiles and mostListed bound what state keeps of the files of an asset: their number, and the bytes of their names and digests.
	mostFiles, mostListed = 500, 32 << 10
	// shortDigest is how many characters of a digest are kept: they tell changes, and prove nothing.
	shortDigest = 8
)

// List returns the files of an asset for state to keep, by digests of their contents, of which the beginnings are kept. More than 500
// files, or than 32 KiB of names and digests, are counted alone. Size is how many bytes the asset has.
func List(digests map[string]string, size int64) *reconcile.Files {
	list := &reconcile.Files{Count: len(digests), Size: size}
	if len(digests) > mostFiles {
		return list
	}
	listed, short := 0, make(map[string]string, len(digests))
	for name, digest := range digests {
		short[name] = digest[:min(len(digest), shortDigest)]
		listed += len(name) + len(short[name])
	}
	if listed <= mostListed {
		list.Digests = short
	}
	return list
}

// Archive is an archive that is there already. Its files are known where it is one of zip.
func Archive(ctx context.Context, path string) (reconcile.Asset, error) {
	made, err := Existing(ctx, path)
	if err != nil {
		return made, err
	}
	f, err := localfile.Open(ctx, made.Path)
	if err != nil {
		return made, err
	}
	defer f.Close()
	archive, err := zip.NewReader(f, made.Size)
	if err != nil {
		return made, nil //nolint:nilerr // the service says what is wrong with an archive
	}
	digests := make(map[string]string, len(archive.File))
	for _, entry := range archive.File {
		if !entry.FileInfo().IsDir() {
			digests[entry.Name] = digestOf(entry.Mode(), entry.CRC32, entry.UncompressedSize64)
		}
	}
	made.Files = List(digests, made.Size)
	return made, nil
}

// Sources are the digests of the source files that a file was built of, by the names that people know them by. They are nil where one
// cannot be read any more.
func (f File) Sources(ctx context.Context, work reconcile.Workspace) map[string]string {
	return sourcesOf(ctx, work, []File{f}, []string{""})
}

// sourcesOf are the digests of the files that somebody writes: those that were built count by what they were built from. They are nil
// where one cannot be read any more.
func sourcesOf(ctx context.Context, work reconcile.Workspace, files []File, sums []string) map[string]string {
	digests, from := map[string]string{}, map[string]bool{}
	for i, f := range files {
		if f.From == nil {
			digests[f.Name] = digestOf(f.Link, f.Executable, sums[i])
		}
		for _, path := range f.From {
			from[path] = true
		}
	}
	packages := map[string][]string{}
	for _, path := range slices.Sorted(maps.Keys(from)) {
		source, err := Existing(ctx, path)
		switch name := sourceName(work.Dir, path); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil
		case packageOf(name) != "":
			packages[packageOf(name)] = append(packages[packageOf(name)], name, source.Digest)
		default:
			digests[name] = source.Digest
		}
	}
	for name, sums := range packages {
		digests[name] = digestOf(sums)
	}
	return digests
}

// sourceName is how people name a source: by its path from the folder of the stack.
func sourceName(dir, path string) string {
	for _, way := range []func(string) (string, error){filepath.Abs, localfile.Real} {
		at, err := way(dir)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(at, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	at, err := filepath.Abs(dir)
	rel, relErr := filepath.Rel(at, path)
	if cmp.Or(err, relErr) != nil {
		return filepath.Base(path)
	}
	return filepath.ToSlash(rel)
}

// packageOf is the folder of the installed package that a source is part of, "" for one that somebody writes.
func packageOf(name string) string {
	const folder = "node_modules/"
	at := strings.LastIndex(name, folder)
	if at < 0 || at > 0 && name[at-1] != '/' {
		return ""
	}
	parts := strings.SplitN(name[at+len(folder):], "/", 3)
	if strings.HasPrefix(parts[0], "@") && len(parts) > 1 {
		return name[:at+len(folder)] + parts[0] + "/" + parts[1]
	}
	return name[:at+len(folder)] + parts[0]
}

func digestOf(parts ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", parts))
	return hex.EncodeToString(sum[:])
}
