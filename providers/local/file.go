package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// FileProps declare one file.
type FileProps struct {
	// Path is where the file lies: relative to the stack's directory, absolute, or outside it with "..".
	// Missing parent folders are made. Changing it replaces the file: the new one is written before the old
	// one is removed.
	Path string `prop:"required,immutable"`
	// Content is the text of the file. Not together with source. Default: empty.
	Content string `prop:"deferrable"`
	// Source is a file whose bytes are copied, relative to the stack's directory. Not together with content.
	// Default: none.
	Source string
	// Mode is the file's permission, in octal. The owner must be able to read it. A file with secrets in it
	// wants 0600. Not managed where files have no permission bits. Default: 0644.
	Mode *string
}

// File is what others may refer to.
type File struct {
	// Path is the path as it was declared, cleaned.
	Path string `attr:"early"`
	// Digest is the SHA-256 of the content, in hex. Where the content is secret it is made with the stage's
	// key instead, so that nobody can guess the content from it; it still changes whenever the content does.
	Digest string `attr:"early,mutable"`
}

// liveFile is an observed file.
type liveFile struct {
	path   string
	digest string
	state  state
	// unfinished: what a run that was cut wrote aside still lies beside the file.
	unfinished bool
}

// shown is the content for plans and drift; a file that is unfinished is written again, whatever it holds.
func (l liveFile) shown(content any) any {
	if l.unfinished {
		return map[string]any{"shape": unfinishedFile}
	}
	return content
}

// defaultMode is that of a file that names none.
const defaultMode = "0644"

type fileSite = kind.Site[FileProps, File]

var fileKind = &kind.Kind[FileProps, liveFile, File]{
	Type: "local.File",
	Doc: "A file of the machine that deploys. Its content and its permission bits are managed; owner, group and times are not. " +
		"A symbolic link or a folder in its place is an error. Parent folders that a removal leaves empty are removed inside the stack's directory, and kept elsewhere.",
	Observe:    observeFile,
	Create:     createFile,
	Compare:    compareFile,
	Attributes: func(l liveFile) File { return File{Path: l.path, Digest: l.digest} },
	Delete:     deleteFile,
	Identity:   func(a File) string { return a.Path },
	Props:      kind.TableOf[FileProps](),
	Default: func(want FileProps) FileProps {
		want.Mode = new(modeText(want.Mode))
		return want
	},
	Check: checkFile,
	Named: &kind.Named[FileProps, liveFile]{
		Given: func(want FileProps) string { return cleaned(want.Path) }, Prop: "path",
	},
	Owner:       kind.OwnedByContent[FileProps, liveFile]{},
	Prepare:     prepareFile,
	Files:       []tree.Path{"source"},
	WritesFiles: true,
	CleansUp:    true,
	Deletion:    kind.AtOnce[liveFile]{},
	API: kind.API{
		Source: source, Calls: []string{"local.ReadFile", "local.CreateFile", "local.WriteFile", "local.SetMode", "local.RemoveFile"},
	},
}

// modeText is a mode in its one form: four octal digits. References stay.
func modeText(mode *string) string {
	if mode == nil {
		return defaultMode
	}
	if n, err := strconv.ParseUint(*mode, 8, 32); err == nil && n <= 0o777 {
		return formatMode(fs.FileMode(n))
	}
	return *mode
}

func formatMode(m fs.FileMode) string { return fmt.Sprintf("%04o", uint32(m.Perm())) }

func parseMode(mode *string) (fs.FileMode, error) {
	n, err := strconv.ParseUint(modeText(mode), 8, 32)
	return fs.FileMode(n), err
}

func checkFile(want FileProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	if base := filepath.Base(cleaned(want.Path)); base == "." || base == ".." || base == string(filepath.Separator) {
		wrong("path", "want the path of a file")
	}
	if want.Content != "" && want.Source != "" {
		wrong("source", "either content or source, not both")
	}
	if want.Mode != nil && !token.Has(*want.Mode) {
		switch m, err := parseMode(want.Mode); {
		case err != nil || m > 0o777:
			wrong("mode", "want permission bits in octal, such as 0644")
		case m&0o400 == 0:
			wrong("mode", "the owner must be able to read the file")
		}
	}
	return problems.OrNil()
}

// prepareFile hashes the source.
func prepareFile(ctx context.Context, work reconcile.Workspace, want FileProps) (map[string]reconcile.Asset, error) {
	if want.Source == "" || token.Has(want.Source) {
		return nil, nil
	}
	work.Reads(within(work.Dir, want.Source))
	asset, err := assetOf(ctx, within(work.Dir, want.Source))
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	return map[string]reconcile.Asset{"source": asset}, ctx.Err()
}

func assetOf(ctx context.Context, path string) (reconcile.Asset, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return reconcile.Asset{}, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return reconcile.Asset{}, err
	}
	if !info.Mode().IsRegular() {
		return reconcile.Asset{}, &ShapeError{Path: path, Is: shapeOf(info.Mode()), Want: "a file"}
	}
	f, err := localfile.Open(ctx, abs)
	if err != nil {
		return reconcile.Asset{}, err
	}
	defer f.Close()
	s, err := hashed(f, 0)
	return reconcile.Asset{Digest: s.sum, Path: abs, Size: s.size}, err
}

// filePath returns where the file of a site lies: where state says, else where it is wanted.
func filePath(site fileSite) string {
	if site.Last != nil {
		return site.Last.Path
	}
	return cmp.Or(site.ID, cleaned(site.Want.Path))
}

func observeFile(ctx context.Context, site fileSite) (liveFile, error) {
	path := filePath(site)
	if token.Has(path) {
		return liveFile{}, reconcile.ErrAbsent // a place that is not known yet holds nothing of ours
	}
	live := liveFile{path: path}
	err := through(ctx, site.Location, "ReadFile", false, func() error {
		root, name, err := openParent(ctx, within(site.Dir, path), false)
		if err != nil {
			return err
		}
		defer root.Close()
		if live.state, err = readState(root, name); err == nil {
			_, cut := root.Lstat(aside(name))
			live.unfinished = cut == nil
		}
		return err
	})
	if missing(err) {
		return liveFile{}, reconcile.ErrAbsent
	}
	if err != nil {
		return liveFile{}, shaped(err, path)
	}
	live.digest = fileDigest(site, live.state.sum)
	return live, nil
}

// shaped gives an error about a shape the path as the author wrote it.
func shaped(err error, path string) error {
	if shape, ok := errors.AsType[*ShapeError](err); ok {
		return reconcile.WithHint(&ShapeError{Path: path, Is: shape.Is, Want: shape.Want}, "move %s away, or name another path", path)
	}
	return err
}

// fileDigest is the public digest of content with this sum.
func fileDigest(site fileSite, sum string) string {
	recorded := ""
	if site.Last != nil {
		recorded = site.Last.Digest
	}
	return publicDigest("local.File", sum, recorded, site.Secret["content"], site.Derive)
}

func createFile(ctx context.Context, site fileSite) (File, error) {
	path := cleaned(site.Want.Path)
	if token.Has(path) {
		return File{}, errors.New("the path is not known")
	}
	b, sum := fileBody(site.Want, site.Assets)
	err := writeFile(ctx, site.Location, "CreateFile", within(site.Dir, path), b, site.Want.Mode, false)
	return File{Path: path, Digest: fileDigest(site, sum)}, err
}

// fileBody is what a file is to hold, and its sum.
func fileBody(want FileProps, assets map[string]reconcile.Asset) (body, string) {
	if asset, ok := assets["source"]; ok {
		return body{asset: &asset}, asset.Digest
	}
	return body{text: want.Content}, textState(want.Content, 0).sum
}

func writeFile(ctx context.Context, place kind.Location, operation, path string, b body, mode *string, replace bool) error {
	m, err := parseMode(mode)
	if err != nil {
		return err
	}
	return through(ctx, place, operation, true, func() error {
		return again(func() error {
			root, name, err := openParent(ctx, path, true)
			if err != nil {
				return err
			}
			defer root.Close()
			return put(ctx, root, name, b, m, replace)
		})
	})
}

// compareFile states what is managed of a file. No operation moves a file, so that another path replaces it.
func compareFile(d *kind.Diff[liveFile], want FileProps, live liveFile) {
	reconcile.Fixed(d, "path", cleaned(want.Path), live.path)
	write := kind.Set("WriteFile", func(ctx context.Context, u kind.Update[liveFile]) error {
		b, _ := fileBody(want, u.Assets)
		return writeFile(ctx, u.Location, "WriteFile", within(u.Dir, live.path), b, want.Mode, true)
	})
	asset, prepared := d.Asset("source")
	switch {
	case prepared:
		w := state{sum: asset.Digest, size: asset.Size}
		reconcile.Value(d, "source", w.byDigest(), live.shown(live.state.byDigest()), write)
	case want.Source != "":
		reconcile.Value(d, "source", any(want.Source), live.shown(live.state.byDigest()), write)
	case d.Unknown("content", want.Content):
		reconcile.Value(d, "content", any(want.Content), live.shown(live.state.shown()), write)
	default:
		reconcile.Value(d, "content", textState(want.Content, 0).shown(), live.shown(live.state.shown()), write)
	}
	if !managesModes() {
		return
	}
	reconcile.Value(d, "mode", *want.Mode, formatMode(live.state.mode), kind.Set("SetMode", func(ctx context.Context, u kind.Update[liveFile]) error {
		m, err := parseMode(want.Mode)
		if err != nil {
			return err
		}
		return through(ctx, u.Location, "SetMode", true, func() error {
			root, name, err := openParent(ctx, within(u.Dir, live.path), false)
			if err != nil {
				return err
			}
			defer root.Close()
			return root.Chmod(name, m)
		})
	}))
}

// deleteFile removes the file in state, and what a crash may have left beside it. Of a creation that was cut before the file
// was there, only that and empty folders are left.
func deleteFile(ctx context.Context, site fileSite) error {
	path := filePath(site)
	if path == "" || token.Has(path) {
		return nil
	}
	at := within(site.Dir, path)
	err := through(ctx, site.Location, "RemoveFile", true, func() error {
		root, name, err := openParent(ctx, at, false)
		if err != nil {
			return err
		}
		defer root.Close()
		if err := removeIf(root, aside(name)); err != nil {
			return err
		}
		if info, err := root.Lstat(name); err != nil || site.Last == nil {
			return err
		} else if !info.Mode().IsRegular() {
			return &ShapeError{Path: name, Is: shapeOf(info.Mode()), Want: "a file"}
		}
		return root.Remove(name)
	})
	if err != nil && !missing(err) {
		return shaped(err, path)
	}
	if !filepath.IsAbs(filepath.FromSlash(path)) {
		prune(site.Dir, at)
	}
	return nil
}
