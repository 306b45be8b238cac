package main

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// image is the container image of one architecture.
type image struct {
	arch    string
	program []byte
}

// descriptor names a blob, as https://github.com/opencontainers/image-spec/blob/main/descriptor.md says.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        *descriptor  `json:"config,omitempty"`
	Layers        []descriptor `json:"layers,omitempty"`
	Manifests     []descriptor `json:"manifests,omitempty"`
}

type imageConfig struct {
	platform
	Created time.Time `json:"created"`
	Config  struct {
		User       string            `json:"User"`
		Env        []string          `json:"Env"`
		Entrypoint []string          `json:"Entrypoint"`
		WorkingDir string            `json:"WorkingDir"`
		Labels     map[string]string `json:"Labels"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// blobs are what an image consists of, by digest.
type blobs map[string][]byte

func (b blobs) put(mediaType string, data []byte) descriptor {
	b[digest(data)] = data
	return descriptor{MediaType: mediaType, Digest: "sha256:" + digest(data), Size: len(data)}
}

func (b blobs) putJSON(mediaType string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	return b.put(mediaType, data), err
}

// imageLayout is the image for all architectures as an archive in the OCI layout, which `docker load`, `podman load` and
// `skopeo copy oci-archive:FILE` take. It holds the program and the authorities that it trusts, and no shell.
func imageLayout(images []image, certificates []byte, r release) ([]byte, error) {
	all := blobs{}
	list := manifest{SchemaVersion: 2, MediaType: indexType}
	for _, i := range images {
		m, err := all.image(i, certificates, r)
		if err != nil {
			return nil, err
		}
		list.Manifests = append(list.Manifests, m)
	}
	index, err := all.putJSON(indexType, list)
	if err != nil {
		return nil, err
	}
	index.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.number()}
	top, err := json.Marshal(manifest{SchemaVersion: 2, MediaType: indexType, Manifests: []descriptor{index}})
	if err != nil {
		return nil, err
	}
	files := []file{{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)}, {"index.json", 0o644, top}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		files = append(files, file{"blobs/sha256/" + name, 0o644, all[name]})
	}
	return tarred(withFolders(files), r.time)
}

func (b blobs) image(i image, certificates []byte, r release) (descriptor, error) {
	content := append(withFolders([]file{{"etc/ssl/certs/ca-certificates.crt", 0o644, certificates}, {"usr/bin/athanor", 0o755, i.program}}),
		file{"tmp/", 0o1777, nil}, file{"work/", 0o777, nil})
	plain, err := tarred(content, r.time)
	if err != nil {
		return descriptor{}, err
	}
	packed, err := gzipped(plain)
	if err != nil {
		return descriptor{}, err
	}
	c := imageConfig{platform: platform{i.arch, "linux"}, Created: r.time}
	c.Config.User, c.Config.WorkingDir, c.Config.Entrypoint = "65532:65532", "/work", []string{"/usr/bin/athanor"}
	c.Config.Env = []string{"PATH=/usr/bin", "HOME=/tmp"}
	c.Config.Labels = map[string]string{
		"org.opencontainers.image.source": homepage, "org.opencontainers.image.version": r.number(), "org.opencontainers.image.revision": r.commit,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{"sha256:" + digest(plain)}
	config, err := b.putJSON(configType, c)
	if err != nil {
		return descriptor{}, err
	}
	m, err := b.putJSON(manifestType, manifest{SchemaVersion: 2, MediaType: manifestType, Config: &config, Layers: []descriptor{b.put(layerType, packed)}})
	m.Platform = &c.platform
	return m, err
}
