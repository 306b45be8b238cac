package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// Layout describes an image that is on this machine as an OCI layout: a folder, or an archive of one by tar, as
// docker buildx build --output type=oci and docker save write it. It has one image, or one for Linux on arch, which is amd64 or
// arm64. https://github.com/opencontainers/image-spec/blob/main/image-layout.md
func Layout(ctx context.Context, work reconcile.Workspace, path, arch string) (reconcile.Asset, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(work.Dir, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return reconcile.Asset{}, err
	}
	work.Reads(path)
	opened, err := localfile.Open(ctx, path)
	if err != nil {
		return reconcile.Asset{}, err
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return reconcile.Asset{}, err
	}
	folder := path
	if !info.IsDir() {
		if folder, err = unpack(ctx, work, path, opened); err != nil {
			return reconcile.Asset{}, err
		}
	}
	l := layout{ctx, path, folder}
	index, err := l.index("index.json")
	if err != nil {
		return reconcile.Asset{}, err
	}
	return l.image(work, index, arch)
}

type layout struct {
	ctx          context.Context //nolint:containedctx // it lives as long as one reading
	name, folder string
}

func (l layout) index(file string) (*v1.IndexManifest, error) {
	data, err := localfile.ReadAtMost(l.ctx, filepath.Join(l.folder, filepath.FromSlash(file)), mostDocument)
	switch {
	case isMissing(err):
		return nil, &Error{l.name, "no OCI layout: it has no " + file}
	case err != nil:
		return nil, err
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(data))
	if err != nil {
		return nil, &Error{l.name, file + " cannot be read: " + err.Error()}
	}
	return index, nil
}

// mostNested bounds how many indexes name each other.
const mostNested = 4

// image describes the image that an index leads to, maybe by other indexes.
func (l layout) image(work reconcile.Workspace, index *v1.IndexManifest, arch string) (reconcile.Asset, error) {
	for range mostNested {
		if len(index.Manifests) != 1 || !index.Manifests[0].MediaType.IsIndex() {
			break
		}
		var err error
		if index, err = l.index(blobPath(index.Manifests[0].Digest)); err != nil {
			return reconcile.Asset{}, err
		}
	}
	one, err := choose(l.name, index, arch)
	if err != nil {
		return reconcile.Asset{}, err
	}
	manifest, err := l.read(one)
	if err != nil {
		return reconcile.Asset{}, err
	}
	parsed, err := checkImage(l.name, manifest, one.MediaType)
	if err != nil {
		return reconcile.Asset{}, err
	}
	config, err := l.read(parsed.Config)
	if err != nil {
		return reconcile.Asset{}, err
	}
	if _, err := checkPlatform(l.name, config, arch); err != nil {
		return reconcile.Asset{}, err
	}
	files := map[string]string{}
	for _, layer := range parsed.Layers {
		at := filepath.Join(l.folder, filepath.FromSlash(blobPath(layer.Digest)))
		info, err := os.Lstat(at)
		if err != nil || info.Size() != layer.Size {
			return reconcile.Asset{}, &Error{l.name, "it lacks the layer " + layer.Digest.String()}
		}
		files[layer.Digest.String()] = at
	}
	return store(work, manifest, config, origins{MediaType: one.MediaType, Files: files})
}

func blobPath(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

// read reads a blob that is a document, and checks that it is the one that is meant.
func (l layout) read(d v1.Descriptor) ([]byte, error) {
	data, err := localfile.ReadAtMost(l.ctx, filepath.Join(l.folder, filepath.FromSlash(blobPath(d.Digest))), mostDocument)
	if err != nil {
		return nil, err
	}
	if have, _, err := v1.SHA256(bytes.NewReader(data)); err != nil || have != d.Digest {
		return nil, errors.Join(err, &Error{l.name, "the content of " + d.Digest.String() + " is not what its digest says"})
	}
	return data, nil
}

// ofLayout are the files that an archive of a layout is read for. All others are left out, such as those of docker load.
var ofLayout = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(index\.json|oci-layout|blobs/sha256/[0-9a-f]{64})$`)
})

// unpack lays an archive into the cache, unless it is there, and returns the folder.
func unpack(ctx context.Context, work reconcile.Workspace, path string, from io.Reader) (_ string, err error) {
	archive, err := asset.Existing(ctx, path)
	if err != nil {
		return "", err
	}
	folder, err := filepath.Abs(filepath.Join(work.Cache, "image", "layouts", archive.Digest))
	if err != nil {
		return "", err
	}
	if isThere(folder) {
		return folder, nil
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return "", err
	}
	aside, err := os.MkdirTemp(filepath.Dir(folder), ".new-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(aside)
	for entries := tar.NewReader(contextReader{ctx, from}); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", &Error{path, "neither a folder nor an archive by tar: " + err.Error()}
		}
		if name := strings.TrimPrefix(entry.Name, "./"); entry.Typeflag == tar.TypeReg && ofLayout().MatchString(name) {
			if err := unpackFile(filepath.Join(aside, filepath.FromSlash(name)), entries); err != nil {
				return "", err
			}
		}
	}
	if err := os.Rename(aside, folder); err != nil && !isThere(folder) {
		return "", err
	}
	return folder, nil
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func unpackFile(to string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
