package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// origin is where packages come from.
type origin interface {
	// versions are those that a source has, each with its platforms; none where they are told later.
	versions(context.Context, Source) (map[string][]string, error)
	// offer says where the package of a version is, and what is told of it.
	offer(ctx context.Context, s Source, version, platform string) (*offer, error)
}

// offer is a package that can be had: at an address, in a file, or unpacked in a folder.
type offer struct {
	base         *url.URL
	at           string
	file, folder string
	// hashes are those that its origin tells of the packages of the version, by platform.
	hashes map[string][]string
	// signedBy is the fingerprint of the key that signed the list of these, "" where nobody did; a mirror has no signatures.
	signedBy string
	mirrored bool
}

// registry is the origin that speaks the protocol of provider registries.
type registry struct{ in *Installer }

// services finds where a host has its registry of providers.
func (r registry) services(ctx context.Context, s Source) (*url.URL, error) {
	root := &url.URL{Scheme: "https", Host: s.Host, Path: "/"}
	var said map[string]any
	from, err := r.in.document(ctx, root, ".well-known/terraform.json", &said)
	if errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("%s is no registry of providers: %w", s.Host, err)
	}
	if err != nil {
		return nil, err
	}
	at, ok := said["providers.v1"].(string)
	if !ok {
		return nil, fmt.Errorf("%s is no registry of providers: it does not tell of providers.v1", s.Host)
	}
	base, err := from.Parse(strings.TrimSuffix(at, "/") + "/")
	if err != nil {
		return nil, err
	}
	return base, checkAddress(base)
}

func (r registry) versions(ctx context.Context, s Source) (map[string][]string, error) {
	base, err := r.services(ctx, s)
	if err != nil {
		return nil, err
	}
	var said struct {
		Versions []struct {
			Version   string
			Platforms []struct{ OS, Arch string }
		}
	}
	if _, err := r.in.document(ctx, base, s.Namespace+"/"+s.Name+"/versions", &said); err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, v := range said.Versions {
		platforms := []string{}
		for _, p := range v.Platforms {
			platforms = append(platforms, p.OS+"_"+p.Arch)
		}
		all[v.Version] = platforms
	}
	return all, nil
}

func (r registry) offer(ctx context.Context, s Source, version, platform string) (*offer, error) {
	base, err := r.services(ctx, s)
	if err != nil {
		return nil, err
	}
	system, arch, _ := strings.Cut(platform, "_")
	var said struct {
		DownloadURL  string `json:"download_url"`
		SumsURL      string `json:"shasums_url"`
		SignatureURL string `json:"shasums_signature_url"`
		SigningKeys  struct {
			GPG []struct {
				Armored string `json:"ascii_armor"`
			} `json:"gpg_public_keys"`
		} `json:"signing_keys"`
	}
	from, err := r.in.document(ctx, base, fmt.Sprintf("%s/%s/%s/download/%s/%s", s.Namespace, s.Name, version, system, arch), &said)
	if err != nil {
		return nil, err
	}
	list, err := r.in.text(ctx, from, said.SumsURL)
	if err != nil {
		return nil, err
	}
	o := &offer{base: from, at: said.DownloadURL, hashes: map[string][]string{}}
	if len(said.SigningKeys.GPG) > 0 {
		signature, err := r.in.text(ctx, from, said.SignatureURL)
		if err != nil {
			return nil, err
		}
		keys := make([]string, len(said.SigningKeys.GPG))
		for i, k := range said.SigningKeys.GPG {
			keys[i] = k.Armored
		}
		if o.signedBy, err = signer(list, signature, keys); err != nil {
			return nil, fmt.Errorf("the list of the packages of %s %s: %w", s, version, err)
		}
	}
	// The names are ours: a list of another version, signed as well, does not count.
	before := "terraform-provider-" + s.Name + "_" + version + "_"
	for name, sum := range sums(list) {
		if p, ok := strings.CutPrefix(strings.TrimSuffix(name, ".zip"), before); ok && s.file(version, p) == name {
			o.hashes[p] = []string{"zh:" + sum}
		}
	}
	if o.hashes[platform] == nil {
		return nil, fmt.Errorf("the list of the packages of %s %s does not name %s", s, version, s.file(version, platform))
	}
	return o, nil
}

// mirror is a server that has copies of packages, by the protocol of network mirrors.
type mirror struct {
	in   *Installer
	base *url.URL
}

func (m mirror) of(s Source) string { return s.String() + "/" }

func (m mirror) versions(ctx context.Context, s Source) (map[string][]string, error) {
	var said struct{ Versions map[string]struct{} }
	if _, err := m.in.document(ctx, m.base, m.of(s)+"index.json", &said); err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for v := range said.Versions {
		all[v] = nil
	}
	return all, nil
}

func (m mirror) offer(ctx context.Context, s Source, version, platform string) (*offer, error) {
	var said struct {
		Archives map[string]struct {
			URL    string
			Hashes []string
		}
	}
	from, err := m.in.document(ctx, m.base, m.of(s)+version+".json", &said)
	if err != nil {
		return nil, err
	}
	o := &offer{base: from, at: said.Archives[platform].URL, hashes: map[string][]string{}, mirrored: true}
	for p, a := range said.Archives {
		o.hashes[p] = a.Hashes
	}
	if o.at == "" {
		return nil, fmt.Errorf("%s has %s %s for no %s", m.base.Redacted(), s, version, platform)
	}
	return o, nil
}

// folderMirror is a folder that has copies of packages, packed or unpacked, as `terraform providers mirror` writes them.
type folderMirror struct{ root string }

func (m folderMirror) of(s Source) string {
	return filepath.Join(m.root, s.Host, s.Namespace, s.Name)
}

func (m folderMirror) versions(_ context.Context, s Source) (map[string][]string, error) {
	entries, err := os.ReadDir(m.of(s))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", m.of(s), ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, e := range entries {
		if e.IsDir() && isVersion(e.Name()) {
			below, err := os.ReadDir(filepath.Join(m.of(s), e.Name()))
			if err != nil {
				return nil, err
			}
			for _, p := range below {
				all[e.Name()] = append(all[e.Name()], p.Name())
			}
		}
		rest, ok := strings.CutPrefix(e.Name(), "terraform-provider-"+s.Name+"_")
		version, platform, cut := strings.Cut(strings.TrimSuffix(rest, ".zip"), "_")
		if ok && cut && strings.HasSuffix(rest, ".zip") {
			all[version] = append(all[version], platform)
		}
	}
	return all, nil
}

func (m folderMirror) offer(_ context.Context, s Source, version, platform string) (*offer, error) {
	o := &offer{mirrored: true, file: filepath.Join(m.of(s), s.file(version, platform)), folder: filepath.Join(m.of(s), version, platform)}
	if _, err := os.Stat(o.file); err == nil {
		o.folder = ""
		return o, nil
	}
	o.file = ""
	if _, err := os.Stat(o.folder); err != nil {
		return nil, fmt.Errorf("%s has %s %s for no %s: %w", m.root, s, version, platform, ErrNotFound)
	}
	return o, nil
}

// choose is the newest version that a constraint allows and that there is for a platform.
func choose(all map[string][]string, c Constraint, platform string) (string, error) {
	best, elsewhere := "", ""
	for v, platforms := range all {
		switch {
		case !c.Allows(v):
		case platforms != nil && !slices.Contains(platforms, platform):
			if elsewhere == "" || newer(v, elsewhere) > 0 {
				elsewhere = v
			}
		case best == "" || newer(v, best) > 0:
			best = v
		}
	}
	switch {
	case best != "":
		return best, nil
	case elsewhere != "":
		slices.Sort(all[elsewhere])
		return "", fmt.Errorf("%s is there for %s, and not for %s", elsewhere, strings.Join(all[elsewhere], ", "), platform)
	case len(all) == 0:
		return "", errors.New("there is no version")
	}
	have := make([]string, 0, len(all))
	for v := range all {
		if isVersion(v) {
			have = append(have, v)
		}
	}
	slices.SortFunc(have, func(a, b string) int { return newer(b, a) })
	if len(have) > 5 {
		have = append(have[:5], "…")
	}
	return "", fmt.Errorf("no version fits; there are %s", strings.Join(have, ", "))
}
