package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// Executable is where the program is in an image that was built of one.
const Executable = "/app"

// Program is an image of a program in Go on a base image.
type Program struct {
	// Go is the program.
	Go asset.Go
	// Base is the reference of an image in a registry, best with its digest. "": the image holds the program and nothing else,
	// no certificates of authorities and no time zones.
	Base string
	// Args are what the program is started with. Nil: nothing. Arguments of the base do not count.
	Args []string
	// Env is added to the environment of the base. It is no place for secrets: all who may pull the image can read it.
	Env map[string]string
	// User is a name or a number, with a group after a colon. "": that of the base.
	User string
	// Directory is where the program starts. "": that of the base.
	Directory string
	// Ports are those of TCP that the program listens on, for who runs the image.
	Ports []int
	// Labels are added to those of the base.
	Labels map[string]string
}

// Build compiles the program and describes the image. Of the base it reads the manifest and the configuration; where Base has a
// digest, these are read once.
func (p Program) Build(ctx context.Context, work reconcile.Workspace) (reconcile.Asset, error) {
	program, err := p.Go.Build(ctx, work, "app")
	if err != nil {
		return reconcile.Asset{}, err
	}
	layer, err := layerOf(ctx, work, program.Path)
	if err != nil {
		return reconcile.Asset{}, err
	}
	base := described{
		manifest: v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: v1.Descriptor{MediaType: types.OCIConfigJSON}},
		config:   &v1.ConfigFile{OS: "linux", Architecture: p.Go.Arch, RootFS: v1.RootFS{Type: "layers"}},
	}
	if p.Base != "" {
		if base, err = describe(ctx, work, p.Base, p.Go.Arch); err != nil {
			return reconcile.Asset{}, err
		}
	}
	made, err := p.assemble(work, base, layer)
	if err != nil {
		return reconcile.Asset{}, err
	}
	if sources := program.Sources(ctx, work); sources != nil {
		if p.Base != "" {
			sources[p.Base] = base.digest.Hex
		}
		made.Files = asset.List(sources, made.Size)
	}
	return made, nil
}

// assemble adds the layer and the settings to the base.
func (p Program) assemble(work reconcile.Workspace, base described, layer programLayer) (reconcile.Asset, error) {
	mediaType := types.OCILayer
	if isDocker(base.manifest.MediaType) {
		mediaType = types.DockerLayer
	}
	config, manifest := base.config.DeepCopy(), base.manifest.DeepCopy()
	epoch := v1.Time{Time: time.Unix(0, 0).UTC()}
	config.Created, config.Container = epoch, ""
	config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, layer.DiffID)
	config.History = append(config.History, v1.History{Created: epoch, CreatedBy: "athanor", Comment: "the program " + Executable})
	settings := &config.Config
	settings.Entrypoint, settings.Cmd = []string{Executable}, p.Args
	settings.Env = withEnv(settings.Env, p.Env)
	if p.User != "" {
		settings.User = p.User
	}
	if p.Directory != "" {
		settings.WorkingDir = p.Directory
	}
	for _, port := range p.Ports {
		if settings.ExposedPorts == nil {
			settings.ExposedPorts = map[string]struct{}{}
		}
		settings.ExposedPorts[strconv.Itoa(port)+"/tcp"] = struct{}{}
	}
	if settings.Labels == nil && p.Labels != nil {
		settings.Labels = map[string]string{}
	}
	maps.Copy(settings.Labels, p.Labels)
	data, err := json.Marshal(config)
	if err != nil {
		return reconcile.Asset{}, err
	}
	if manifest.Config.Digest, manifest.Config.Size, err = v1.SHA256(bytes.NewReader(data)); err != nil {
		return reconcile.Asset{}, err
	}
	manifest.Config.Data, manifest.Annotations = nil, nil // which tell of the base
	manifest.Layers = append(manifest.Layers, v1.Descriptor{MediaType: mediaType, Size: layer.Size, Digest: layer.Digest})
	whole, err := json.Marshal(manifest)
	if err != nil {
		return reconcile.Asset{}, err
	}
	return store(work, whole, data, origins{Registry: base.repository, MediaType: manifest.MediaType, Files: map[string]string{layer.Digest.String(): layer.Path}})
}

// withEnv sets variables in an environment: those that it has keep their places, others follow by their names.
func withEnv(env []string, more map[string]string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(line string) bool {
		name, _, _ := strings.Cut(line, "=")
		_, again := more[name]
		return again
	})
	for _, name := range slices.Sorted(maps.Keys(more)) {
		env = append(env, name+"="+more[name])
	}
	return env
}

// programLayer is the layer of a program: an archive with one file in it.
type programLayer struct {
	// Digest is of the compressed archive, and DiffID of the archive itself.
	Digest, DiffID v1.Hash
	Size           int64
	Path           string `json:"-"`
}

// layerOf packs a program, unless the cache has the layer of an equal one.
func layerOf(ctx context.Context, work reconcile.Workspace, program string) (layer programLayer, err error) {
	made, err := asset.Existing(ctx, program)
	if err != nil {
		return layer, err
	}
	path, err := filepath.Abs(filepath.Join(work.Cache, "image", "layers", made.Digest+".tar.gz"))
	if err != nil {
		return layer, err
	}
	facts := strings.TrimSuffix(path, ".tar.gz") + ".json"
	if data, err := os.ReadFile(facts); err == nil && json.Unmarshal(data, &layer) == nil {
		if info, err := os.Stat(path); err == nil && info.Size() == layer.Size {
			layer.Path = path
			return layer, nil
		}
	}
	err = asset.WriteNew(path, func(w io.Writer) error {
		layer, err = pack(ctx, w, program, made)
		return err
	})
	if err != nil {
		return layer, err
	}
	layer.Path = path
	data, err := json.Marshal(layer)
	if err != nil {
		return layer, err
	}
	return layer, writeNew(facts, data)
}

// pack writes the layer of a program. Its bytes depend on those of the program alone.
func pack(ctx context.Context, to io.Writer, program string, made reconcile.Asset) (layer programLayer, err error) {
	packed, plain, content, size := sha256.New(), sha256.New(), sha256.New(), &counter{}
	zipped := gzip.NewWriter(io.MultiWriter(to, packed, size))
	archive := tar.NewWriter(io.MultiWriter(zipped, plain))
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: strings.TrimPrefix(Executable, "/"), Mode: 0o755, Size: made.Size, ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
	}
	if err := archive.WriteHeader(header); err != nil {
		return layer, err
	}
	from, err := localfile.Open(ctx, program)
	if err != nil {
		return layer, err
	}
	defer from.Close()
	if _, err := io.Copy(io.MultiWriter(archive, content), contextReader{ctx, from}); err != nil {
		return layer, err
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		return layer, err
	}
	if hex.EncodeToString(content.Sum(nil)) != made.Digest {
		return layer, &asset.PathError{Path: program, Problem: "changed while it was read"}
	}
	hash := func(sum []byte) v1.Hash { return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum)} }
	return programLayer{Digest: hash(packed.Sum(nil)), DiffID: hash(plain.Sum(nil)), Size: size.n}, nil
}

// counter counts what is written.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// contextReader reads until its context ends.
type contextReader struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one copy
	from io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}
