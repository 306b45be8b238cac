package foreign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// The bounds of the files that are read of one folder next to a source.
const (
	mostFilesOfFolder = 1000
	mostBytesOfFile   = 1 << 20
)

// SourcesAt gives the files of folders, by paths relative to the folder of a source. None outside the project that this one is in is
// read, whatever names it: a path, a link or `..`.
func SourcesAt(ctx context.Context, dir string) func(folder, suffix string) (map[string][]byte, error) {
	dir = files.Absolute(dir)
	root := project.Root(dir)
	return func(folder, suffix string) (map[string][]byte, error) {
		rel, err := filepath.Rel(root, filepath.Join(dir, filepath.FromSlash(folder)))
		if err != nil || !filepath.IsLocal(rel) {
			return nil, fmt.Errorf("it lies outside %s", root)
		}
		project, err := os.OpenRoot(root)
		if err != nil {
			return nil, files.WithoutPath(err)
		}
		defer project.Close()
		entries, err := fs.ReadDir(project.FS(), filepath.ToSlash(rel))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, files.WithoutPath(err)
		}
		found := map[string][]byte{}
		for _, entry := range entries {
			if !strings.HasSuffix(entry.Name(), suffix) || !entry.Type().IsRegular() {
				continue
			}
			if len(found) == mostFilesOfFolder {
				return nil, fmt.Errorf("it has more than %d files", mostFilesOfFolder)
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			content, err := readWithin(project, path.Join(filepath.ToSlash(rel), entry.Name()))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", entry.Name(), files.WithoutPath(err))
			}
			found[entry.Name()] = content
		}
		return found, nil
	}
}

// readWithin reads a file of a project.
func readWithin(project *os.Root, name string) ([]byte, error) {
	f, err := project.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, mostBytesOfFile+1))
	if err == nil && len(content) > mostBytesOfFile {
		err = localfile.ErrTooLarge
	}
	return content, err
}
