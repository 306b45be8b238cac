package image

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// described is an image in a registry: its manifest and its configuration.
type described struct {
	manifest v1.Manifest
	config   *v1.ConfigFile
	// digest is that of the manifest, and repository where its blobs are.
	digest     v1.Hash
	repository string
	// data are the bytes of both.
	data rawImage
}

// rawImage is what the cache keeps of an image that a digest names.
type rawImage struct {
	MediaType types.MediaType `json:"mediaType"`
	Manifest  []byte          `json:"manifest"`
	Config    []byte          `json:"config"`
}

// connect is how registries are reached: an attempt during which nothing moves ends.
var connect = sync.OnceValue(func() http.RoundTripper {
	plain := http.DefaultTransport.(*http.Transport).Clone()
	plain.DialContext = reconcile.NewDialer().DialContext
	return reconcile.LimitAttempts(plain)
})

// reading are the options for reading of a registry. Credentials are those that the user has signed in with (docker login), and
// none where the stack is a stranger's: a program may have to be started for them.
func reading(ctx context.Context, more ...remote.Option) []remote.Option {
	var keys authn.Keychain = authn.DefaultKeychain
	if _, bounded := localfile.BoundsOf(ctx); bounded {
		keys = authn.NewMultiKeychain()
	}
	return append([]remote.Option{remote.WithContext(ctx), remote.WithTransport(connect()), remote.WithAuthFromKeychain(keys)}, more...)
}

// Copy describes an image that is in a registry, by its reference, for it to be copied. Of an index it is the image for Linux on
// arch, which is amd64 or arm64. Its digest stays.
func Copy(ctx context.Context, work reconcile.Workspace, reference, arch string) (reconcile.Asset, error) {
	image, err := describe(ctx, work, reference, arch)
	if err != nil {
		return reconcile.Asset{}, err
	}
	return store(work, image.data.Manifest, image.data.Config, origins{Registry: image.repository, MediaType: image.data.MediaType, Files: map[string]string{}})
}

// describe reads an image's manifest and configuration. What a digest names is read once.
func describe(ctx context.Context, work reconcile.Workspace, reference, arch string) (described, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return described{}, &Error{reference, "no reference of an image: " + err.Error()}
	}
	known := ""
	if digest, ok := ref.(name.Digest); ok {
		known = filepath.Join(work.Cache, "image", "bases", strings.ReplaceAll(digest.DigestStr(), ":", "-")+"-"+arch+".json")
		var raw rawImage
		if data, err := os.ReadFile(known); err == nil && json.Unmarshal(data, &raw) == nil {
			return parse(ref, raw, arch)
		}
	}
	raw, err := fetch(ctx, ref, arch)
	if err != nil {
		return described{}, err
	}
	found, err := parse(ref, raw, arch)
	if err != nil || known == "" {
		return found, err
	}
	data, err := json.Marshal(raw)
	if err != nil {
		return found, err
	}
	return found, writeNew(known, data)
}

// fetch reads an image of a registry, which checks the digests of both parts.
func fetch(ctx context.Context, ref name.Reference, arch string) (raw rawImage, err error) {
	fail := func(err error) (rawImage, error) { return rawImage{}, registryError(ref.Name(), err) }
	got, err := remote.Get(ref, reading(ctx)...)
	if err != nil {
		return fail(err)
	}
	if got.MediaType.IsIndex() {
		index, err := v1.ParseIndexManifest(bytes.NewReader(got.Manifest))
		if err != nil {
			return fail(err)
		}
		one, err := choose(ref.Name(), index, arch)
		if err != nil {
			return rawImage{}, err
		}
		if got, err = remote.Get(ref.Context().Digest(one.Digest.String()), reading(ctx)...); err != nil {
			return fail(err)
		}
	}
	if _, err := checkImage(ref.Name(), got.Manifest, got.MediaType); err != nil {
		return rawImage{}, err
	}
	image, err := got.Image()
	if err != nil {
		return fail(err)
	}
	if raw.Config, err = image.RawConfigFile(); err != nil {
		return fail(err)
	}
	raw.Manifest, raw.MediaType = got.Manifest, got.MediaType
	return raw, nil
}

func parse(ref name.Reference, raw rawImage, arch string) (found described, err error) {
	found = described{repository: ref.Context().Name(), data: raw}
	if found.manifest, err = checkImage(ref.Name(), raw.Manifest, raw.MediaType); err != nil {
		return found, err
	}
	if found.config, err = checkPlatform(ref.Name(), raw.Config, arch); err != nil {
		return found, err
	}
	found.digest, _, err = v1.SHA256(bytes.NewReader(raw.Manifest))
	return found, err
}

// Repository is one of a registry, into which images are uploaded.
type Repository struct {
	// Name is that of the registry and of the repository in it, such as registry.example/shop/api.
	Name string
	// User and Password sign in at the registry; without a user nobody does. Neither is in any error.
	User, Password string
	// Transport reaches the registry. Nil: one that ends attempts during which nothing moves.
	Transport http.RoundTripper
	// Insecure registries are asked without encryption. Those of this machine always are.
	Insecure bool
}

func (r Repository) open() (name.Repository, error) {
	var options []name.Option
	if r.Insecure {
		options = append(options, name.Insecure)
	}
	return name.NewRepository(r.Name, options...)
}

func (r Repository) writing(ctx context.Context) []remote.Option {
	auth := authn.Anonymous
	if r.User != "" {
		auth = &authn.Basic{Username: r.User, Password: r.Password}
	}
	transport := r.Transport
	if transport == nil {
		transport = connect()
	}
	return []remote.Option{
		remote.WithContext(ctx), remote.WithTransport(transport), remote.WithAuth(auth), remote.WithRetryBackoff(remote.Backoff{Steps: 1}),
	}
}

// Upload uploads what the manifest of an image names and the repository lacks: the layers and the configuration. The image is
// none yet: its manifest is not uploaded. Nothing is tried twice: who calls goes by the class of an error, and the next upload does not repeat
// what this one has done.
func Upload(ctx context.Context, made reconcile.Asset, to Repository) error {
	image, err := open(ctx, made)
	if err != nil {
		return err
	}
	return image.upload(ctx, to)
}

// upload uploads the blobs of an image that the repository lacks.
func (p *prepared) upload(ctx context.Context, to Repository) error {
	repository, err := to.open()
	if err != nil {
		return err
	}
	blobs, err := p.blobs()
	if err != nil {
		return err
	}
	for _, blob := range blobs {
		if err := remote.WriteLayer(repository, blob, to.writing(ctx)...); err != nil {
			return registryError(to.Name, err)
		}
	}
	return nil
}

// Push uploads an image with its manifest, and gives it tags. Tags that other images of the repository have are moved.
func Push(ctx context.Context, made reconcile.Asset, to Repository, tags ...string) error {
	image, err := open(ctx, made)
	if err != nil {
		return err
	}
	if err := image.upload(ctx, to); err != nil {
		return err
	}
	repository, err := to.open()
	if err != nil {
		return err
	}
	refs := []name.Reference{repository.Digest("sha256:" + made.Digest)}
	for _, tag := range tags {
		refs = append(refs, repository.Tag(tag))
	}
	for _, ref := range refs {
		if err := remote.Put(ref, image, to.writing(ctx)...); err != nil {
			return registryError(ref.Name(), err)
		}
	}
	return nil
}

// registryError gives an error of a registry its class and names what was asked for. It has no credentials in it.
func registryError(of string, err error) error {
	err = fmt.Errorf("%s: %w", of, err)
	answer, ok := errors.AsType[*transport.Error](err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case !ok:
		if class := reconcile.ClassOfConnection(err); class != reconcile.Unknown {
			return reconcile.WithClass(err, class)
		}
		return err
	}
	class := reconcile.ClassOfStatus(answer.StatusCode)
	err = reconcile.WithClass(err, class)
	if class == reconcile.Denied {
		return reconcile.WithHint(err, "sign in at the registry (docker login), or check the permissions there")
	}
	return err
}

// prepared is an image whose blobs are on this machine or in a registry.
type prepared struct {
	ctx      context.Context //nolint:containedctx // it lives as long as one upload
	data     []byte
	manifest v1.Manifest
	origins  origins
}

func open(ctx context.Context, made reconcile.Asset) (*prepared, error) {
	data, parsed, err := manifestOf(ctx, made)
	if err != nil {
		return nil, err
	}
	p := &prepared{ctx: ctx, data: data, manifest: parsed}
	where, err := localfile.ReadAtMost(ctx, filepath.Join(filepath.Dir(made.Path), originsFile), mostDocument)
	if err != nil {
		return nil, err
	}
	return p, json.Unmarshal(where, &p.origins)
}

// RawManifest and MediaType make an image something that can be put under a tag.
func (p *prepared) RawManifest() ([]byte, error) { return p.data, nil }

// MediaType is the one of the manifest.
func (p *prepared) MediaType() (types.MediaType, error) { return p.origins.MediaType, nil }

// blobs are the layers, each once, and the configuration.
func (p *prepared) blobs() (all []v1.Layer, err error) {
	seen := map[v1.Hash]bool{}
	for _, d := range append(slices.Clip(p.manifest.Layers), p.manifest.Config) {
		if seen[d.Digest] {
			continue
		}
		seen[d.Digest] = true
		layer, err := partial.CompressedToLayer(&blob{p, d})
		if err != nil {
			return nil, err
		}
		all = append(all, layer)
	}
	return all, nil
}

// blob is a layer, or the configuration, as it is stored.
type blob struct {
	of   *prepared
	desc v1.Descriptor
}

// Digest of the blob.
func (b *blob) Digest() (v1.Hash, error) { return b.desc.Digest, nil }

// Size of the blob in bytes.
func (b *blob) Size() (int64, error) { return b.desc.Size, nil }

// MediaType of the blob.
func (b *blob) MediaType() (types.MediaType, error) { return b.desc.MediaType, nil }

// Compressed opens the blob: on this machine, or in the registry that the image is copied from.
func (b *blob) Compressed() (io.ReadCloser, error) {
	if path := b.of.origins.Files[b.desc.Digest.String()]; path != "" {
		return localfile.Open(b.of.ctx, path)
	}
	from, err := name.NewDigest(b.of.origins.Registry + "@" + b.desc.Digest.String())
	if err != nil {
		return nil, err
	}
	layer, err := remote.Layer(from, reading(b.of.ctx)...)
	if err != nil {
		return nil, registryError(from.Name(), err)
	}
	return layer.Compressed()
}
