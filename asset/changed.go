package asset

import (
	"archive/zip"
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Difference is how the files of two archives differ.
type Difference struct {
	// Added, Modified and Deleted are the names of files, in their order.
	Added, Modified, Deleted []string
	// Before and After are how many bytes the archives have.
	Before, After int64
}

// Archives finds archives that [Zip] has left in a cache by the digest of their content.
type Archives struct {
	cache  string
	listed bool
	// files are the archives that were not read yet, the newest first; paths are those that were, by their digests.
	files []string
	paths map[string]string
}

// mostArchives bounds how many archives of a cache are read: those of a few deploys.
const mostArchives = 64

// NewArchives returns the archives of a cache. Nothing is read yet.
func NewArchives(cache string) *Archives { return &Archives{cache: cache, paths: map[string]string{}} }

// Compare returns how two archives differ, by the digests of their contents. It returns false where the cache has not both: another
// machine has made one of them, or it was long ago.
func (a *Archives) Compare(ctx context.Context, before, after string) (Difference, bool) {
	from, size, ok := a.entries(ctx, before)
	if !ok {
		return Difference{}, false
	}
	d := Difference{Before: size}
	var to map[string]entry
	if to, d.After, ok = a.entries(ctx, after); !ok {
		return Difference{}, false
	}
	for name, e := range to {
		switch old, was := from[name]; {
		case !was:
			d.Added = append(d.Added, name)
		case old != e:
			d.Modified = append(d.Modified, name)
		}
	}
	for name := range from {
		if _, is := to[name]; !is {
			d.Deleted = append(d.Deleted, name)
		}
	}
	for _, names := range [][]string{d.Added, d.Modified, d.Deleted} {
		slices.Sort(names)
	}
	return d, true
}

// entry is what an archive says of a file: enough to know another content.
type entry struct {
	sum  uint32
	size uint64
	mode fs.FileMode
}

func (a *Archives) entries(ctx context.Context, digest string) (files map[string]entry, size int64, ok bool) {
	path := a.find(ctx, digest)
	if path == "" {
		return nil, 0, false
	}
	archive, err := zip.OpenReader(path)
	if err != nil {
		return nil, 0, false
	}
	defer func() { _ = archive.Close() }() // it was only read
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, false
	}
	files = map[string]entry{}
	for _, f := range archive.File {
		files[f.Name] = entry{f.CRC32, f.UncompressedSize64, f.Mode()}
	}
	return files, info.Size(), true
}

// find returns the path of an archive, "" when the cache has none of the digest.
func (a *Archives) find(ctx context.Context, digest string) string {
	if !a.listed {
		a.list()
	}
	for a.paths[digest] == "" && len(a.files) > 0 {
		path := a.files[0]
		a.files = a.files[1:]
		if made, err := Existing(ctx, path); err == nil {
			a.paths[made.Digest] = made.Path
		}
	}
	return a.paths[digest]
}

// list notes the archives of the cache, the newest first.
func (a *Archives) list() {
	a.listed = true
	type archive struct {
		path string
		at   int64
	}
	var all []archive
	folder := filepath.Join(a.cache, "zip")
	found, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, f := range found {
		if info, err := f.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(f.Name(), ".zip") {
			all = append(all, archive{filepath.Join(folder, f.Name()), info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(all, func(x, y archive) int { return cmp.Or(cmp.Compare(y.at, x.at), cmp.Compare(x.path, y.path)) })
	for _, f := range all[:min(len(all), mostArchives)] {
		a.files = append(a.files, f.path)
	}
}
