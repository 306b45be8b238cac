package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from/terraform"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

const (
	// alchemyKind is the source whose files are read as a folder.
	alchemyKind = "alchemy"
	// alchemyDir is the folder in which Alchemy keeps its states, in that of the project.
	alchemyDir = ".alchemy"
	// mostStateFiles bounds how many files are read of a folder.
	mostStateFiles = 50_000
)

// isFolderOf reports whether a place is a folder that a kind of source is read from, or a file in one.
func isFolderOf(kind, where string) bool {
	if kind != "" && kind != alchemyKind {
		return false
	}
	info, err := os.Stat(where)
	return err == nil && (info.IsDir() || info.Mode().IsRegular() && filepath.Ext(where) == ".json" && projectOf(where) != where)
}

// readAlchemyFolder reads the files of states below a folder, or one of them. Links are not followed.
func readAlchemyFolder(ctx context.Context, where string, largest int64) (foreignSource, error) {
	f := foreignSource{shown: where, file: filepath.Base(absolute(where)), dir: projectOf(where)}
	var all []terraform.AlchemyFile
	left := largest
	err := filepath.WalkDir(where, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != where && entry.Name() == "node_modules":
			return filepath.SkipDir
		case !entry.Type().IsRegular() || filepath.Ext(path) != ".json":
			return nil
		case len(all) >= mostStateFiles:
			return fmt.Errorf("it has more than %d files", mostStateFiles)
		}
		content, err := localfile.ReadAtMost(ctx, path, left)
		if err != nil {
			return fmt.Errorf("%s: %w", path, withoutPath(err))
		}
		left -= int64(len(content))
		all = append(all, terraform.AlchemyFile{File: path, State: content})
		return nil
	})
	if err == nil && len(all) == 0 {
		err = hint(errors.New("it is a folder without states"), "--from alchemy:.alchemy/APP/STAGE reads the states of Alchemy")
	}
	if err == nil {
		f.content, err = terraform.AlchemyStates(all)
	}
	if err != nil {
		return f, fmt.Errorf("%s: %w", where, err)
	}
	return f, nil
}

// projectOf is the folder in which the relative paths of states at a place start: the one that has the folder of the states.
func projectOf(where string) string {
	separator := string(filepath.Separator)
	if project, _, ok := strings.Cut(absolute(where)+separator, separator+alchemyDir+separator); ok {
		return project
	}
	return where
}
