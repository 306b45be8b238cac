// Package image builds container images without a container engine, and copies images into registries.
//
// An image is a manifest, which names a configuration and layers by their digests. The digest of the manifest identifies the
// image: equal sources, settings and base give an equal digest, whenever and wherever it is built. What is built or read lies
// in the cache of a [reconcile.Workspace]; layers that a registry has are read when the image is uploaded, and never stored.
//
// The package knows registries by the protocol that all of them speak. It knows no cloud, and no kind.
package image

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// Error says what is wrong with an image.
type Error struct{ Image, Problem string }

func (e *Error) Error() string { return e.Image + ": " + e.Problem }

// origins is where the blobs of an image are: the configuration and the layers, by their digests.
type origins struct {
	// Registry is the repository that has what Files has not, "" for none.
	Registry string `json:"registry,omitempty"`
	// MediaType is the one of the manifest, which need not say it.
	MediaType types.MediaType `json:"mediaType"`
	// Files are blobs on this machine.
	Files map[string]string `json:"files"`
}

// mostDocument bounds a manifest, an index or a configuration, in bytes. Registries take manifests of 4 MiB:
// https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pushing-manifests
const mostDocument = 4 << 20

const manifestFile, originsFile = "manifest.json", "origins.json"

// store puts an image into the cache: the digest of the asset is that of the image, and its path is where the manifest is.
func store(work reconcile.Workspace, manifest, config []byte, from origins) (reconcile.Asset, error) {
	var parsed v1.Manifest
	if err := json.Unmarshal(manifest, &parsed); err != nil {
		return reconcile.Asset{}, err
	}
	digest, size, err := v1.SHA256(bytes.NewReader(manifest))
	if err != nil {
		return reconcile.Asset{}, err
	}
	folder, err := filepath.Abs(filepath.Join(work.Cache, "image", digest.Hex))
	if err != nil {
		return reconcile.Asset{}, err
	}
	if config != nil {
		from.Files[parsed.Config.Digest.String()] = filepath.Join(folder, "config.json")
		if err := writeNew(filepath.Join(folder, "config.json"), config); err != nil {
			return reconcile.Asset{}, err
		}
	}
	where, err := json.Marshal(from)
	if err != nil {
		return reconcile.Asset{}, err
	}
	made := reconcile.Asset{Digest: digest.Hex, Path: filepath.Join(folder, manifestFile), Size: size + parsed.Config.Size}
	for _, layer := range parsed.Layers {
		made.Size += layer.Size
	}
	return made, errors.Join(writeNew(filepath.Join(folder, originsFile), where), writeNew(made.Path, manifest))
}

// Manifest reads the manifest of an image that was prepared: its bytes, and their media type.
func Manifest(ctx context.Context, made reconcile.Asset) (data []byte, mediaType string, err error) {
	image, err := open(ctx, made)
	if err != nil {
		return nil, "", err
	}
	return image.data, string(image.origins.MediaType), nil
}

func manifestOf(ctx context.Context, made reconcile.Asset) ([]byte, v1.Manifest, error) {
	var parsed v1.Manifest
	data, err := localfile.ReadAtMost(ctx, made.Path, mostDocument)
	if err != nil {
		return nil, parsed, err
	}
	if digest, _, err := v1.SHA256(bytes.NewReader(data)); err != nil || digest.Hex != made.Digest {
		return nil, parsed, errors.Join(err, &asset.PathError{Path: made.Path, Problem: "changed since the image was prepared"})
	}
	return data, parsed, json.Unmarshal(data, &parsed)
}

// checkImage finds what cannot be copied: what is no image, and what registries do not give away.
func checkImage(name string, manifest []byte, mediaType types.MediaType) (v1.Manifest, error) {
	var parsed v1.Manifest
	if !mediaType.IsImage() {
		return parsed, &Error{name, "no image, but " + string(mediaType)}
	}
	if err := json.Unmarshal(manifest, &parsed); err != nil {
		return parsed, &Error{name, "its manifest cannot be read: " + err.Error()}
	}
	parsed.MediaType = mediaType
	for _, layer := range parsed.Layers {
		if !layer.MediaType.IsDistributable() {
			return parsed, &Error{name, "the layer " + layer.Digest.String() + " may not be copied"}
		}
	}
	return parsed, nil
}

// writeNew writes a file aside and then gives it its name, unless the file has the same content already.
func writeNew(path string, data []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, data) {
		return nil
	}
	return asset.WriteNew(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// choose returns the one image of an index that runs on Linux on a processor: amd64 or arm64.
func choose(name string, index *v1.IndexManifest, arch string) (v1.Descriptor, error) {
	var some []v1.Descriptor
	for _, d := range index.Manifests {
		if d.MediaType.IsImage() && (d.Platform == nil || d.Platform.OS == "linux" && d.Platform.Architecture == arch) {
			some = append(some, d)
		}
	}
	// What says its platform goes before what says none.
	if i := slices.IndexFunc(some, func(d v1.Descriptor) bool { return d.Platform != nil }); i > 0 {
		some = some[i:]
	}
	if len(some) == 0 {
		return v1.Descriptor{}, &Error{name, fmt.Sprintf("it has no image for linux/%s", arch)}
	}
	return some[0], nil
}

// checkPlatform refuses an image for another processor than the one that was asked for.
func checkPlatform(name string, config []byte, arch string) (*v1.ConfigFile, error) {
	parsed, err := v1.ParseConfigFile(bytes.NewReader(config))
	if err != nil {
		return nil, &Error{name, "its configuration cannot be read: " + err.Error()}
	}
	if parsed.OS != "" && parsed.OS != "linux" || parsed.Architecture != "" && parsed.Architecture != arch {
		return nil, &Error{name, fmt.Sprintf("it is for %s/%s, and linux/%s was asked for", parsed.OS, parsed.Architecture, arch)}
	}
	return parsed, nil
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// isDocker reports whether an image is described in the format of Docker, and not in that of OCI.
func isDocker(m types.MediaType) bool { return m == types.DockerManifestSchema2 }
