package foreign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from/terraform"
	"github.com/athanor-dev/athanor/cmd/cli"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/project"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/statestore/s3"
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
func readAlchemyFolder(ctx context.Context, where string, largest int64) (Source, error) {
	f := Source{Shown: where, File: filepath.Base(files.Absolute(where)), Dir: projectOf(where)}
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
			return fmt.Errorf("%s: %w", path, files.WithoutPath(err))
		}
		left -= int64(len(content))
		all = append(all, terraform.AlchemyFile{File: path, State: content})
		return nil
	})
	if err == nil && len(all) == 0 {
		err = cli.Hint(errors.New("it is a folder without states"), "--from alchemy:.alchemy/APP/STAGE reads the states of Alchemy")
	}
	if err == nil {
		f.Content, err = terraform.AlchemyStates(all)
	}
	if err != nil {
		return f, fmt.Errorf("%s: %w", where, err)
	}
	return f, nil
}

// errSQLite is an error about states that lie in a database of SQLite.
var errSQLite = errors.New("it is a database of SQLite, and states of Alchemy are read from files and buckets")

// CheckSQLite refuses the store of Alchemy that is a database, and says how its states get into files.
func CheckSQLite(f Source) error {
	if !bytes.HasPrefix(f.Content, []byte("SQLite format 3\x00")) {
		return nil
	}
	return cli.Hint(fmt.Errorf("%s: %w", f.Shown, errSQLite), "remove `stateStore` from alchemy.run.ts and run `alchemy deploy --adopt` once: it writes .alchemy/APP/STAGE")
}

// readAlchemyBucket reads the states that S3StateStore keeps: an object for each, at PREFIX/APP/STAGE/ID, with : in the place of / in
// the id.
func readAlchemyBucket(ctx context.Context, where string, largest int64) (Source, error) {
	f := Source{Shown: "s3://…", Dir: "."}
	u, err := url.Parse(where)
	if err != nil {
		return f, errors.New("it is not of the form s3://BUCKET/alchemy/APP/STAGE?region=…&endpoint=…")
	}
	prefix := strings.Trim(u.Path, "/") + "/"
	f.Shown, f.File = "s3://"+u.Host+"/"+prefix, path.Base(prefix)
	u.Path = ""
	address, err := s3.Parse(u.String())
	if err == nil && prefix == "/" {
		err = cli.Hint(errors.New("which app, and which stage?"), "--from alchemy:s3://BUCKET/alchemy/APP/STAGE?region=REGION")
	}
	if err != nil {
		return f, fmt.Errorf("%s: %w", f.Shown, err)
	}
	bucket := s3.Bucket(address, project.BucketConfig)
	var all []terraform.AlchemyFile
	left := largest
	for after, more := "", true; more; {
		listed, further, err := bucket.List(ctx, prefix, after)
		if err != nil {
			return f, fmt.Errorf("%s: %w", f.Shown, err)
		}
		for _, l := range listed {
			after = l.Key
			object, err := bucket.Get(ctx, l.Key, "")
			if left -= int64(len(object.Body)); err == nil && (left < 0 || len(all) >= mostStateFiles) {
				err = localfile.ErrTooLarge
			}
			if err != nil {
				return f, fmt.Errorf("s3://%s/%s: %w", u.Host, l.Key, err)
			}
			all = append(all, terraform.AlchemyFile{File: "s3://" + u.Host + "/" + l.Key, State: object.Body})
		}
		more = further && len(listed) > 0
	}
	if len(all) == 0 {
		return f, cli.Hint(fmt.Errorf("%s: there are no states", f.Shown), "S3StateStore keeps them in s3://BUCKET/alchemy/APP/STAGE, or at the prefix that it is given")
	}
	if f.Content, err = terraform.AlchemyStates(all); err != nil {
		return f, fmt.Errorf("%s: %w", f.Shown, err)
	}
	return f, nil
}

// projectOf is the folder in which the relative paths of states at a place start: the one that has the folder of the states.
func projectOf(where string) string {
	separator := string(filepath.Separator)
	if project, _, ok := strings.Cut(files.Absolute(where)+separator, separator+alchemyDir+separator); ok {
		return project
	}
	return where
}
