package install

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

const here, there = "linux_amd64", "darwin_arm64"

// shop is a registry and a network mirror that the tests serve. It counts requests.
type shop struct {
	*httptest.Server
	t   *testing.T
	key *openpgp.Entity

	mu       sync.Mutex
	requests []string
	answers  map[string]func(http.ResponseWriter, *http.Request)
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, answers: map[string]func(http.ResponseWriter, *http.Request){}}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	s.key = makerKey()
	s.json("/.well-known/terraform.json", map[string]any{"providers.v1": "/v1/providers/"})
	return s
}

// makerKey is the key of who makes the provider: RSA, as most of them have.
var makerKey = sync.OnceValue(func() *openpgp.Entity { return newKey(packet.PubKeyAlgoRSA) })

// otherKey is somebody else's.
var otherKey = sync.OnceValue(func() *openpgp.Entity { return newKey(packet.PubKeyAlgoEdDSA) })

func newKey(algorithm packet.PublicKeyAlgorithm) *openpgp.Entity {
	key, err := openpgp.NewEntity("maker", "", "maker@example.com", &packet.Config{Algorithm: algorithm})
	if err != nil {
		panic(err)
	}
	return key
}

// ServeHTTP answers as the test says.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	answer := s.answers[r.URL.Path]
	s.requests = append(s.requests, r.URL.Path)
	s.mu.Unlock()
	if answer == nil {
		http.NotFound(w, r)
		return
	}
	answer(w, r)
}

func (s *shop) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

func (s *shop) answer(path string, f func(http.ResponseWriter, *http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = f
}

func (s *shop) bytes(path string, data []byte) {
	s.answer(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) })
}

func (s *shop) json(path string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	s.bytes(path, data)
}

func (s *shop) source() Source {
	return Source{strings.TrimPrefix(s.URL, "https://"), "acme", "thing"}
}

func (s *shop) armored(key *openpgp.Entity) string {
	var out bytes.Buffer
	w, err := armor.Encode(&out, openpgp.PublicKeyType, nil)
	if err == nil {
		err = errors.Join(key.Serialize(w), w.Close())
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return out.String()
}

// packed is a package with files, by name.
func packed(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		header := &zip.FileHeader{Name: name}
		header.SetMode(0o755)
		if strings.HasPrefix(text, "link:") {
			header.SetMode(0o777 | fs.ModeSymlink)
			text = strings.TrimPrefix(text, "link:")
		}
		w, err := z.CreateHeader(header)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// release publishes versions, each for two platforms.
func (s *shop) release(versions ...string) {
	type platform struct{ OS, Arch string }
	list := []map[string]any{}
	for _, version := range versions {
		list = append(list, map[string]any{"version": version, "protocols": []string{"6.0"}, "platforms": []platform{{"linux", "amd64"}, {"darwin", "arm64"}}})
		var sums bytes.Buffer
		for _, p := range []string{here, there} {
			data := packed(s.t, map[string]string{"terraform-provider-thing_v" + version: "program " + version + " for " + p, "LICENSE": "free"})
			name := s.source().file(version, p)
			s.bytes("/files/"+name, data)
			fmt.Fprintf(&sums, "%s  %s\n", sumOf(data), name)
			system, arch, _ := strings.Cut(p, "_")
			s.json("/v1/providers/acme/thing/"+version+"/download/"+system+"/"+arch, map[string]any{
				"download_url": s.URL + "/files/" + name, "shasums_url": "/files/" + version + "/SHA256SUMS", "shasums_signature_url": "/files/" + version + "/SHA256SUMS.sig",
				"signing_keys": map[string]any{"gpg_public_keys": []map[string]any{{"ascii_armor": s.armored(s.key)}}},
			})
		}
		s.signed("/files/"+version+"/SHA256SUMS", sums.Bytes(), s.key)
	}
	s.json("/v1/providers/acme/thing/versions", map[string]any{"versions": list})
}

// signed serves a list with its signature.
func (s *shop) signed(path string, list []byte, key *openpgp.Entity) {
	var signature bytes.Buffer
	if err := openpgp.DetachSign(&signature, key, bytes.NewReader(list), nil); err != nil {
		s.t.Fatal(err)
	}
	s.bytes(path, list)
	s.bytes(path+".sig", signature.Bytes())
}

// installer is that of a new stack on a new machine.
func (s *shop) installer() *Installer {
	c := newClient()
	c.Transport = s.Client().Transport
	return &Installer{Folder: s.t.TempDir(), Cache: s.t.TempDir(), Platform: here, Client: c}
}

func constraint(t *testing.T, text string) Constraint {
	t.Helper()
	c, err := ParseConstraint(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func installs(t *testing.T, in *Installer, s Source, c, want string) {
	t.Helper()
	path, err := in.Install(t.Context(), s, constraint(t, c))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != want {
		t.Errorf("the program is %q (%v), want %q", data, err, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the program has the mode %v (%v)", info.Mode(), err)
	}
}

// TestInstallFromRegistry takes the newest version that fits, locks it for all platforms with who signed it, and needs no network after.
func TestInstallFromRegistry(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.release("1.2.0", "1.10.0", "2.0.0", "1.11.0-beta1")
	in := s.installer()
	var notes []string
	in.Note = func(text string) { notes = append(notes, text) }
	if got, err := in.Approval(s.source(), nil); err != nil || got != s.source().String() {
		t.Errorf("before it is locked the approval is of %q (%v)", got, err)
	}
	installs(t, in, s.source(), "~> 1.2", "program 1.10.0 for "+here)
	lock, err := ReadLock(in.Folder)
	if err != nil {
		t.Fatal(err)
	}
	l := lock.Providers[s.source().String()]
	if l.Version != "1.10.0" || len(l.with(here, "zh:")) != 1 || len(l.with(here, "h1:")) != 1 || len(l.with(there, "zh:")) != 1 || len(l.SignedBy) != 1 {
		t.Errorf("the lock holds %+v", l)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "signed by the key "+l.SignedBy[0]) {
		t.Errorf("it says %q", notes)
	}
	if got, err := in.Approval(s.source(), nil); err != nil || got != s.source().String()+" 1.10.0 "+l.with(here, "zh:")[0] {
		t.Errorf("the approval is of %q (%v)", got, err)
	}
	before := s.asked()
	again := &Installer{Folder: in.Folder, Cache: in.Cache, Platform: here, Client: in.Client}
	installs(t, again, s.source(), "~> 1.2", "program 1.10.0 for "+here)
	installs(t, again, s.source(), "", "program 1.10.0 for "+here) // locked, though 2.0.0 would fit
	if path, err := again.Program(s.source(), nil); err != nil || path == "" {
		t.Errorf("%q, %v", path, err)
	}
	if now := s.asked(); now != before {
		t.Errorf("what is locked and installed took %d requests", now-before)
	}
	// Another machine: nothing is in the cache, and the lock decides. A third of another platform finds its hash there.
	installs(t, &Installer{Folder: in.Folder, Cache: t.TempDir(), Platform: here, Client: in.Client}, s.source(), "", "program 1.10.0 for "+here)
	installs(t, &Installer{Folder: in.Folder, Cache: t.TempDir(), Platform: there, Client: in.Client}, s.source(), "", "program 1.10.0 for "+there)
	// The program asks for more than what is locked.
	if _, err := again.Program(s.source(), constraint(t, ">= 2")); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("%v", err)
	}
	installs(t, again, s.source(), ">= 2", "program 2.0.0 for "+here)
}

// TestInstallRefuses tells what is wrong with what a registry answers, and installs and locks nothing.
func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	name := Source{Name: "thing"}.file("1.2.0", here)
	list := "/files/1.2.0/SHA256SUMS"
	for _, c := range []struct {
		name string
		make func(*shop)
		want string
		is   error
	}{
		{"tampered package", func(s *shop) {
			s.bytes("/files/"+name, packed(s.t, map[string]string{"terraform-provider-thing": "evil"}))
		}, "", ErrHash},
		{"wrong checksum", func(s *shop) { s.signed(list, []byte(strings.Repeat("0", 64)+"  "+name+"\n"), s.key) }, "", ErrHash},
		{"list without the package", func(s *shop) { s.signed(list, []byte(strings.Repeat("0", 64)+"  other.zip\n"), s.key) }, "does not name " + name, nil},
		{
			"list of another version", func(s *shop) {
				s.signed(list, []byte(strings.Repeat("0", 64)+"  "+Source{Name: "thing"}.file("1.1.0", here)+"\n"), s.key)
			},
			"does not name " + name, nil,
		},
		{"list changed after it was signed", func(s *shop) { s.bytes(list, []byte(strings.Repeat("0", 64)+"  "+name+"\n")) }, "", ErrSignature},
		{"signed by another key", func(s *shop) { s.signed(list, []byte(strings.Repeat("0", 64)+"  "+name+"\n"), otherKey()) }, "", ErrSignature},
		{"no signature", func(s *shop) { s.bytes(list+".sig", nil) }, "", ErrSignature},
		{"signature is a page", func(s *shop) { s.bytes(list+".sig", []byte("<html>sign in</html>")) }, "", ErrSignature},
		{"nothing of the name", func(s *shop) { s.answer("/v1/providers/acme/thing/versions", http.NotFound) }, "thing/versions: not found", ErrNotFound},
		{"no package", func(s *shop) { s.answer("/files/"+name, http.NotFound) }, name + ": not found", ErrNotFound},
		{"no registry", func(s *shop) { s.answer("/.well-known/terraform.json", http.NotFound) }, "is no registry of providers", ErrNotFound},
		{"a page", func(s *shop) {
			s.answer("/v1/providers/acme/thing/versions", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, _ = w.Write([]byte("<html>sign in</html>"))
			})
		}, "something else than the registry's JSON (text/html)", nil},
		{"broken", func(s *shop) {
			s.answer("/v1/providers/acme/thing/versions", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
		}, "502", nil},
		{"cut off", func(s *shop) {
			s.answer("/files/"+name, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100000")
				_, _ = w.Write([]byte("PK"))
			})
		}, "unexpected EOF", nil},
		{"no encryption", func(s *shop) {
			s.answer("/files/"+name, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://packages.example.com/x.zip", http.StatusFound)
			})
		}, "by https alone", nil},
		{"in circles", func(s *shop) {
			s.answer("/files/"+name, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) })
		}, "redirects more than", nil},
		{"way out", func(s *shop) { s.repacked(name, map[string]string{"../evil": "x", "terraform-provider-thing": "p"}) }, "leads out of it", errPackage},
		{"absolute", func(s *shop) { s.repacked(name, map[string]string{"/tmp/evil": "x", "terraform-provider-thing": "p"}) }, "leads out of it", errPackage},
		{"link", func(s *shop) { s.repacked(name, map[string]string{"terraform-provider-thing": "link:/bin/sh"}) }, "is no file", errPackage},
		{"no program", func(s *shop) { s.repacked(name, map[string]string{"README": "x"}) }, "no file of it begins with terraform-provider-thing", errPackage},
		{"other program", func(s *shop) { s.repacked(name, map[string]string{"terraform-provider-things": "x"}) }, "no file of it begins with", errPackage},
		{"no package at all", func(s *shop) { s.resigned(name, []byte("<html>")) }, "not a valid zip file", errPackage},
		{"other platforms", func(s *shop) {
			s.json("/v1/providers/acme/thing/versions", map[string]any{"versions": []any{map[string]any{"version": "1.2.0", "platforms": []any{map[string]string{"os": "windows", "arch": "386"}}}}})
		}, "1.2.0 is there for windows_386, and not for linux_amd64", nil},
		{"version that is a path", func(s *shop) {
			s.json("/v1/providers/acme/thing/versions", map[string]any{"versions": []any{map[string]any{"version": "../1.2.0", "platforms": []any{map[string]string{"os": "linux", "arch": "amd64"}}}}})
		}, "no version fits", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.release("1.2.0")
			c.make(s)
			in := s.installer()
			path, err := in.Install(t.Context(), s.source(), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), "acme/thing") {
				t.Errorf("%s, %v, want %q", path, err, c.want)
			}
			if _, err := os.Stat(filepath.Join(in.Folder, LockName)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it is locked: %v", err)
			}
			err = filepath.WalkDir(in.Cache, func(path string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					t.Errorf("%s is left", path)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// repacked serves another package, rightly signed: what is wrong with it is in it.
func (s *shop) repacked(name string, files map[string]string) { s.resigned(name, packed(s.t, files)) }

func (s *shop) resigned(name string, data []byte) {
	s.bytes("/files/"+name, data)
	s.signed("/files/1.2.0/SHA256SUMS", []byte(sumOf(data)+"  "+name+"\n"), s.key)
}

// TestInstallAsLocked installs nothing but what was locked: neither other bytes, nor what another key signed.
func TestInstallAsLocked(t *testing.T) {
	t.Parallel()
	name := Source{Name: "thing"}.file("1.2.0", here)
	for _, c := range []struct {
		name   string
		change func(*shop)
		is     error
	}{
		{"other bytes", func(s *shop) { s.repacked(name, map[string]string{"terraform-provider-thing": "newer"}) }, ErrHash},
		{"other bytes of another platform", func(s *shop) {
			data := packed(s.t, map[string]string{"terraform-provider-thing": "newer"})
			other := Source{Name: "thing"}.file("1.2.0", there)
			s.mu.Lock()
			old := s.answers["/files/"+name]
			s.mu.Unlock()
			rec := httptest.NewRecorder()
			old(rec, nil)
			s.signed("/files/1.2.0/SHA256SUMS", []byte(sumOf(rec.Body.Bytes())+"  "+name+"\n"+sumOf(data)+"  "+other+"\n"), s.key)
		}, ErrHash},
		{"another key", func(s *shop) { s.key = otherKey(); s.release("1.2.0") }, ErrSignature},
		{"nobody signs any more", func(s *shop) {
			s.json("/v1/providers/acme/thing/1.2.0/download/linux/amd64", map[string]any{"download_url": "/files/" + name, "shasums_url": "/files/1.2.0/SHA256SUMS"})
		}, ErrSignature},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.release("1.2.0")
			in := s.installer()
			installs(t, in, s.source(), "", "program 1.2.0 for "+here)
			before, err := os.ReadFile(filepath.Join(in.Folder, LockName))
			if err != nil {
				t.Fatal(err)
			}
			c.change(s)
			other := &Installer{Folder: in.Folder, Cache: t.TempDir(), Platform: here, Client: in.Client}
			if path, err := other.Install(t.Context(), s.source(), nil); !errors.Is(err, c.is) {
				t.Errorf("%s, %v", path, err)
			}
			if after, err := os.ReadFile(filepath.Join(in.Folder, LockName)); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the lock changed: %s (%v)", after, err)
			}
		})
	}
}

// TestInstallUnsigned installs what nobody signs, and says so.
func TestInstallUnsigned(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.release("1.2.0")
	name := s.source().file("1.2.0", here)
	s.json("/v1/providers/acme/thing/1.2.0/download/linux/amd64", map[string]any{"download_url": "/files/" + name, "shasums_url": "/files/1.2.0/SHA256SUMS"})
	in := s.installer()
	said := ""
	in.Note = func(text string) { said = text }
	installs(t, in, s.source(), "", "program 1.2.0 for "+here)
	if !strings.Contains(said, "nobody signed it") {
		t.Errorf("it says %q", said)
	}
}

// TestInstallElsewhere follows a package to another host.
func TestInstallElsewhere(t *testing.T) {
	t.Parallel()
	s, files := newShop(t), newShop(t)
	s.release("1.2.0")
	name := s.source().file("1.2.0", here)
	files.bytes("/store/x", packed(t, map[string]string{"terraform-provider-thing_v1.2.0": "program 1.2.0 for " + here, "LICENSE": "free"}))
	s.answer("/files/"+name, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, files.URL+"/store/x", http.StatusFound)
	})
	installs(t, s.installer(), s.source(), "", "program 1.2.0 for "+here)
	if files.asked() != 1 {
		t.Errorf("%d requests came there", files.asked())
	}
}

// TestInstallChangedCache installs anew what was changed on this machine after it was installed.
func TestInstallChangedCache(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.release("1.2.0")
	in := s.installer()
	path, err := in.Install(t.Context(), s.source(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("evil"), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	other := &Installer{Folder: in.Folder, Cache: in.Cache, Platform: here, Client: in.Client}
	if path, err := other.Program(s.source(), nil); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("%s, %v", path, err)
	}
	installs(t, other, s.source(), "", "program 1.2.0 for "+here)
}

// TestInstallOffline tells what to do without a network.
func TestInstallOffline(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.release("1.2.0")
	in := s.installer()
	s.Close()
	if _, err := in.Install(t.Context(), s.source(), nil); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := in.Install(ctx, s.source(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestInstallAtOnce installs one provider by many processes of one machine.
func TestInstallAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.release("1.2.0")
	cache := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		in := s.installer()
		in.Cache = cache
		all.Go(func() {
			if _, err := in.Install(t.Context(), s.source(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestInstallFromMirrors takes packages from a network mirror and from folders, packed and unpacked.
func TestInstallFromMirrors(t *testing.T) {
	t.Parallel()
	data := packed(t, map[string]string{"terraform-provider-thing_v1.2.0": "mirrored"})
	source := Source{"registry.example.com", "acme", "thing"}
	s := newShop(t)
	s.json("/mirror/registry.example.com/acme/thing/index.json", map[string]any{"versions": map[string]any{"1.2.0": map[string]any{}, "1.0.0": map[string]any{}}})
	s.bytes("/mirror/registry.example.com/acme/thing/thing.zip", data)
	mirrored := func(hash string) {
		s.json("/mirror/registry.example.com/acme/thing/1.2.0.json", map[string]any{"archives": map[string]any{here: map[string]any{"url": "thing.zip", "hashes": []string{hash}}}})
	}
	mirrored("zh:" + sumOf(data))
	packedIn, unpackedIn := t.TempDir(), t.TempDir()
	place := filepath.Join(packedIn, source.Host, source.Namespace, source.Name)
	whole := filepath.Join(unpackedIn, source.Host, source.Namespace, source.Name, "1.2.0", here)
	err := errors.Join(os.MkdirAll(place, 0o700), os.WriteFile(filepath.Join(place, source.file("1.2.0", here)), data, 0o600),
		os.MkdirAll(whole, 0o700), os.WriteFile(filepath.Join(whole, "terraform-provider-thing_v1.2.0"), []byte("mirrored"), 0o700)) //nolint:gosec // it is a program
	if err != nil {
		t.Fatal(err)
	}
	hashes := map[string]bool{}
	for _, where := range []string{s.URL + "/mirror", packedIn, unpackedIn} {
		in := s.installer()
		in.Mirror = where
		installs(t, in, source, "~> 1.0", "mirrored")
		lock, err := ReadLock(in.Folder)
		if err != nil {
			t.Fatal(err)
		}
		hashes[strings.Join(lock.Providers[source.String()].with(here, "h1:"), " ")] = true
	}
	if len(hashes) != 1 {
		t.Errorf("the same files have the hashes %v", hashes)
	}
	in := s.installer()
	in.Mirror = s.URL + "/mirror"
	mirrored("zh:" + strings.Repeat("0", 64))
	if _, err := in.Install(t.Context(), source, nil); !errors.Is(err, ErrHash) {
		t.Errorf("%v", err)
	}
	for _, where := range []string{s.URL + "/nothing", t.TempDir()} {
		in.Mirror = where
		if _, err := in.Install(t.Context(), source, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v", err)
		}
	}
	in.Mirror = "http://mirror.example.com"
	if _, err := in.Install(t.Context(), source, nil); err == nil || !strings.Contains(err.Error(), "https alone") {
		t.Errorf("%v", err)
	}
	// A link of a folder does not come along.
	if err := os.Symlink("/etc/passwd", filepath.Join(whole, "notes")); err != nil {
		t.Fatal(err)
	}
	in = s.installer()
	in.Mirror = unpackedIn
	if _, err := in.Install(t.Context(), source, nil); !errors.Is(err, errPackage) {
		t.Errorf("%v", err)
	}
}

// TestLockIsAFile refuses a lock file that is something else: it is part of a checkout.
func TestLockIsAFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"link":    {func(path string) error { return os.Symlink("/dev/zero", path) }, "no regular file"},
		"text":    {func(path string) error { return os.WriteFile(path, []byte("hello"), 0o600) }, "invalid character"},
		"format":  {func(path string) error { return os.WriteFile(path, []byte(`{"format":7,"providers":{}}`), 0o600) }, "another athanor"},
		"unknown": {func(path string) error { return os.WriteFile(path, []byte(`{"format":1,"run":"sh"}`), 0o600) }, "unknown field"},
		"version": {func(path string) error {
			return os.WriteFile(path, []byte(`{"format":1,"providers":{"a.b/c/d":{"version":"../../x","hashes":{}}}}`), 0o600)
		}, "want HOST/NAMESPACE/NAME"},
	} {
		dir := t.TempDir()
		if err := c.make(filepath.Join(dir, LockName)); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadLock(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	in := &Installer{Cache: t.TempDir(), Platform: here}
	if _, err := in.installed(Source{"a.b", "c", "d"}, Locked{Version: "1.0.0", Hashes: map[string][]string{here: {"h1:../../../../bin"}}}); err == nil {
		t.Error("a hash that is a path is taken")
	}
}

// TestConstraints compares versions as Terraform does.
func TestConstraints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ constraint, yes, no string }{
		{"", "1.0.0 0.1.0", "1.0.0-beta 1.0 v1.0.0 ../1.0.0"},
		{"1.2.3", "1.2.3", "1.2.4"},
		{"= 1.2", "1.2.0", "1.2.1"},
		{"~> 1.2", "1.2.0 1.99.1", "1.1.9 2.0.0"},
		{"~> 1.2.3", "1.2.3 1.2.9", "1.3.0 1.2.2"},
		{"~>1", "1.0.0 2.0.0", "0.9.0"},
		{">= 1.2, < 2, != 1.5.0", "1.2.0 1.9.9", "1.5.0 2.0.0 1.1.0"},
		{"> 1, <= 2", "1.0.1 2.0.0", "1.0.0 2.0.1"},
		{"1.0.0-beta", "1.0.0-beta", "1.0.0 1.0.0-beta.2"},
		{">= 1.0.0-beta", "1.0.0", "1.0.0-beta"},
	} {
		for v := range strings.FieldsSeq(c.yes) {
			if !constraint(t, c.constraint).Allows(v) {
				t.Errorf("%q refuses %s", c.constraint, v)
			}
		}
		for v := range strings.FieldsSeq(c.no) {
			if constraint(t, c.constraint).Allows(v) {
				t.Errorf("%q allows %s", c.constraint, v)
			}
		}
	}
	for _, text := range []string{"latest", "=> 1", "1.2.3.4", "1.x", ">= 1,", "~> ", "01.2"} {
		if c, err := ParseConstraint(text); err == nil {
			t.Errorf("%q is %v", text, c)
		}
	}
	for text, want := range map[string]string{
		"hashicorp/random": "registry.opentofu.org/hashicorp/random", "Example.com:8443/Acme/Thing": "example.com:8443/acme/thing",
		"random": "", "a/b/c/d": "", "../a/b": "", "a/..": "", "a b/c": "", "http://a/b": "", "-x/b": "", "a.com/b/": "",
	} {
		s, err := ParseSource(text)
		if err != nil && want != "" || err == nil && s.String() != want {
			t.Errorf("%q is %v (%v)", text, s, err)
		}
	}
}

// FuzzSignature reads signatures and keys that anybody may have written.
func FuzzSignature(f *testing.F) {
	f.Add([]byte("list"), []byte("sig"), pem.EncodeToMemory(&pem.Block{Type: "PGP PUBLIC KEY BLOCK"}))
	f.Fuzz(func(t *testing.T, list, signature, key []byte) {
		if by, err := signer(list, signature, []string{string(key)}); err == nil {
			t.Errorf("signed by %s", by)
		}
	})
}
