package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// prepareProcess hashes the inputs of a process.
func prepareProcess(ctx context.Context, work reconcile.Workspace, want ProcessProps) (map[string]reconcile.Asset, error) {
	return prepareInputs(ctx, work, want.Inputs, nil)
}

// prepareCommand hashes the inputs of a command, without what it writes or ignores among them.
func prepareCommand(ctx context.Context, work reconcile.Workspace, want CommandProps) (map[string]reconcile.Asset, error) {
	return prepareInputs(ctx, work, want.Inputs, slices.Concat(want.Outputs, want.Ignore))
}

// prepareInputs hashes files and folders, without the outputs that lie in them.
func prepareInputs(ctx context.Context, work reconcile.Workspace, paths, outputs []string) (map[string]reconcile.Asset, error) {
	if len(paths) == 0 || slices.ContainsFunc(slices.Concat(paths, outputs), token.Has) {
		return nil, nil
	}
	written := map[string]bool{}
	for _, path := range outputs {
		written[within(work.Dir, path)] = true
	}
	sum := sha256.New()
	for _, path := range paths {
		work.Reads(within(work.Dir, path))
		fmt.Fprintf(sum, "%q\n", path)
		if err := hashTree(ctx, sum, within(work.Dir, path), written); err != nil {
			return nil, fmt.Errorf("inputs: %w", err)
		}
	}
	return map[string]reconcile.Asset{inputs: {Digest: hex.EncodeToString(sum.Sum(nil))}}, nil
}

// passedOver are folders that are no input of anything, and large.
func passedOver(name string) bool {
	return name == ".git" || name == ".athanor" || name == "node_modules"
}

// hashTree adds the names, shapes and contents of all that lies at a path, but for what is written there. A symbolic link counts
// by what it says.
func hashTree(ctx context.Context, sum hash.Hash, root string, written map[string]bool) error {
	if err := localfile.Check(ctx, root); err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if path != root && (written[path] || d.IsDir() && passedOver(d.Name())) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		executable := info.Mode().IsRegular() && info.Mode()&0o111 != 0 && managesModes()
		fmt.Fprintf(sum, "%q %s %v %d\n", filepath.ToSlash(rel), shapeOf(info.Mode()), executable, fileSize(info))
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			fmt.Fprintf(sum, "%q\n", to)
			return err
		case info.Mode().IsRegular():
			return hashFile(ctx, sum, path)
		}
		return nil
	})
}

// fileSize is the size of a file, 0 of anything else: that of a folder says nothing.
func fileSize(info fs.FileInfo) int64 {
	if info.Mode().IsRegular() {
		return info.Size()
	}
	return 0
}

func hashFile(ctx context.Context, sum hash.Hash, path string) error {
	f, err := localfile.Open(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(sum, f)
	return err
}
