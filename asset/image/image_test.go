package image_test

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/asset/image"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// server is a registry in the process, which is none of ours, and what was asked of it.
type server struct {
	host string
	mu   sync.Mutex
	// asked are the requests by method and path; refuse answers one instead, where it returns a status.
	asked  []string
	refuse func(*http.Request) int
}

func serve(t *testing.T) *server {
	t.Helper()
	s := &server{}
	inner := registry.New(registry.Logger(discard))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.Method+" "+r.URL.Path)
		status := 0
		if s.refuse != nil {
			status = s.refuse(r)
		}
		s.mu.Unlock()
		if status == 0 {
			inner.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="shop"`)
		http.Error(w, `{"errors":[{"code":"DENIED","message":"no"}]}`, status)
	}))
	t.Cleanup(web.Close)
	s.host = strings.TrimPrefix(web.URL, "http://")
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // nobody has signed in
	return s
}

// take returns the requests of a method since it was last called.
func (s *server) take(method string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.asked
	s.asked = nil
	return slices.DeleteFunc(all, func(r string) bool { return !strings.HasPrefix(r, method+" ") })
}

func (s *server) refusing(refuse func(*http.Request) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

// put puts an image or an index there, as somebody else.
func (s *server) put(t *testing.T, at string, what remote.Taggable) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(s.host + "/" + at)
	if err == nil {
		switch it := what.(type) {
		case v1.Image:
			err = remote.Write(ref, it)
		case v1.ImageIndex:
			err = remote.WriteIndex(ref, it)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// pull reads an image whole as somebody else, and checks every digest in it.
func (s *server) pull(t *testing.T, at string) v1.Image {
	t.Helper()
	ref, err := name.ParseReference(s.host + "/" + at)
	if err != nil {
		t.Fatal(err)
	}
	got, err := remote.Image(ref)
	if err == nil {
		err = validate.Image(got)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (s *server) to(repository string) image.Repository {
	return image.Repository{Name: s.host + "/" + repository}
}

// program lays a program that prints something, and returns the folder of the stack.
func program(t *testing.T, prints string) string {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{
		"go.mod":        "module example.com/shop\n\ngo 1.26\n",
		"hello/main.go": "package main\n\nimport \"os\"\n\nvar version = \"none\"\n\nfunc main() { os.Stdout.WriteString(" + fmt.Sprintf("%q", prints) + " + version) }\n",
	} {
		path := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func work(t *testing.T, dir string) reconcile.Workspace {
	t.Helper()
	return reconcile.Workspace{Dir: dir, Cache: t.TempDir()}
}

func hello(base string) image.Program {
	return image.Program{Go: asset.Go{Package: "./hello", Arch: runtime.GOARCH, LDFlags: "-X main.version=7"}, Base: base}
}

// base is an image that programs are built on.
func base(t *testing.T, arch string) v1.Image {
	t.Helper()
	made, err := random.Image(600, 2)
	if err != nil {
		t.Fatal(err)
	}
	config, err := made.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	config.Config = v1.Config{Env: []string{"PATH=/bin", "MODE=base"}, User: "nobody", Cmd: []string{"sh"}, WorkingDir: "/srv", Labels: map[string]string{"of": "base"}}
	if made, err = mutate.ConfigFile(made, config); err != nil {
		t.Fatal(err)
	}
	return made
}

func build(t *testing.T, p image.Program, in reconcile.Workspace) reconcile.Asset {
	t.Helper()
	made, err := p.Build(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func digestOf(t *testing.T, of interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	digest, err := of.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.Hex
}

// TestProgram: equal sources give an equal image in any folder, the image can be pulled, and the program in it runs.
func TestProgram(t *testing.T) {
	s := serve(t)
	s.put(t, "base:1", base(t, runtime.GOARCH))
	p := hello(s.host + "/base:1")
	p.Args, p.Env, p.User, p.Directory = []string{"serve", "all"}, map[string]string{"MODE": "shop", "A": "1"}, "65532:65532", "/data"
	p.Ports, p.Labels = []int{8080}, map[string]string{"is": "ours"}
	made := build(t, p, work(t, program(t, "hello ")))
	if again := build(t, p, work(t, program(t, "hello "))); again.Digest != made.Digest || again.Path == made.Path {
		t.Errorf("built twice: %v, %v", made, again)
	}
	if other := build(t, p, work(t, program(t, "hallo "))); other.Digest == made.Digest {
		t.Error("another program has the same image")
	}
	names := []string{}
	for file := range made.Files.Digests {
		names = append(names, strings.TrimPrefix(file, s.host+"/"))
	}
	slices.Sort(names)
	if want := []string{"base:1", "go.mod", "hello/main.go"}; !slices.Equal(names, want) {
		t.Errorf("made of %v, want %v", names, want)
	}
	if err := image.Push(t.Context(), made, s.to("shop/hello"), "v1", "latest"); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"shop/hello:v1", "shop/hello:latest", "shop/hello@sha256:" + made.Digest} {
		got := s.pull(t, at)
		if digestOf(t, got) != made.Digest {
			t.Errorf("%s is another image", at)
		}
		manifest, err := got.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if size := manifest.Config.Size + manifest.Layers[0].Size + manifest.Layers[1].Size + manifest.Layers[2].Size; made.Size <= size {
			t.Errorf("%d bytes, of which the blobs are %d", made.Size, size)
		}
	}
	got := s.pull(t, "shop/hello:v1")
	config, err := got.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	settings, err := json.Marshal(config.Config)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Cmd":["serve","all"],"Entrypoint":["/app"],"Env":["PATH=/bin","A=1","MODE=shop"],"Labels":{"is":"ours","of":"base"},` +
		`"User":"65532:65532","WorkingDir":"/data","ExposedPorts":{"8080/tcp":{}}}`
	if string(settings) != want || config.Architecture != runtime.GOARCH || config.OS != "linux" {
		t.Errorf("%s\n%s\nfor %s/%s", settings, want, config.OS, config.Architecture)
	}
	runs(t, got, "hello 7")
}

// runs takes the program out of an image, and starts it where it can be started.
func runs(t *testing.T, of v1.Image, want string) {
	t.Helper()
	all := mutate.Extract(of)
	defer all.Close()
	for entries := tar.NewReader(all); ; {
		entry, err := entries.Next()
		if err != nil {
			t.Fatalf("no program: %v", err)
		}
		if entry.Name != "app" {
			continue
		}
		if entry.Mode != 0o755 || entry.Uid != 0 || !entry.ModTime.Equal(entry.ModTime.Truncate(0)) || entry.ModTime.Unix() != 0 {
			t.Errorf("%+v", entry)
		}
		if runtime.GOOS != "linux" {
			return
		}
		path := filepath.Join(t.TempDir(), "app")
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(f, entries)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), path).CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%q, %v", out, err)
		}
		return
	}
}

// TestNoBase: an image without a base has one layer, and needs no registry to be described.
func TestNoBase(t *testing.T) {
	s := serve(t)
	in := work(t, program(t, "hello "))
	made := build(t, hello(""), in)
	if asked := s.take(""); len(asked) != 0 {
		t.Errorf("asked %v", asked)
	}
	if err := image.Push(t.Context(), made, s.to("hello")); err != nil {
		t.Fatal(err)
	}
	got := s.pull(t, "hello@sha256:"+made.Digest)
	manifest, err := got.Manifest()
	if err != nil || len(manifest.Layers) != 1 || manifest.MediaType != types.OCIManifestSchema1 || manifest.Layers[0].MediaType != types.OCILayer {
		t.Errorf("%+v, %v", manifest, err)
	}
	data, mediaType, err := image.Manifest(t.Context(), made)
	if raw, _ := got.RawManifest(); err != nil || string(data) != string(raw) || mediaType != string(types.OCIManifestSchema1) {
		t.Errorf("%s %s, %v", mediaType, data, err)
	}
	runs(t, got, "hello 7")
	if err := os.WriteFile(made.Path, append(data, ' '), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := image.Manifest(t.Context(), made); err == nil {
		t.Error("a changed manifest is taken")
	}
	if again := build(t, hello(""), in); again.Digest != made.Digest {
		t.Errorf("%v", again)
	}
	if _, _, err := image.Manifest(t.Context(), made); err != nil {
		t.Errorf("it is not made whole again: %v", err)
	}
}

// TestPinnedBase: of a base that a digest names nothing is asked twice; of a tag the registry is asked each time.
func TestPinnedBase(t *testing.T) {
	s := serve(t)
	of := base(t, runtime.GOARCH)
	s.put(t, "base:1", of)
	in := work(t, program(t, "hello "))
	pinned, moving := hello(s.host+"/base@sha256:"+digestOf(t, of)), hello(s.host+"/base:1")
	first := build(t, pinned, in)
	s.refusing(func(*http.Request) int { return http.StatusForbidden })
	if again := build(t, pinned, in); again.Digest != first.Digest {
		t.Errorf("%v, %v", first, again)
	}
	_, err := moving.Build(t.Context(), in)
	if class, _ := reconcile.ClassGiven(err); class != reconcile.Denied {
		t.Errorf("%v, %v", class, err)
	}
	s.refusing(nil)
	if same := build(t, moving, in); same.Digest != first.Digest {
		t.Errorf("%v, %v", first, same)
	}
	s.put(t, "base:1", base(t, runtime.GOARCH))
	if moved := build(t, moving, in); moved.Digest == first.Digest {
		t.Error("the tag leads to another base, and the image is the same")
	}
}

// TestCopy: an image keeps its digest; of an index it is the one for the processor.
func TestCopy(t *testing.T) {
	s := serve(t)
	arm, amd := base(t, "arm64"), base(t, "amd64")
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: arm, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm64"}}},
		mutate.IndexAddendum{Add: amd, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}})
	s.put(t, "all:1", index)
	s.put(t, "one:1", amd)
	in := work(t, t.TempDir())
	for at, want := range map[string]v1.Image{"all:1 arm64": arm, "all:1 amd64": amd, "one:1 amd64": amd, "all@sha256:" + digestOf(t, index) + " arm64": arm} {
		ref, arch, _ := strings.Cut(at, " ")
		made, err := image.Copy(t.Context(), in, s.host+"/"+ref, arch)
		if err != nil || made.Digest != digestOf(t, want) {
			t.Fatalf("%s: %v, %v", at, made, err)
		}
		if err := image.Push(t.Context(), made, s.to("copies"), arch); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		if got := s.pull(t, "copies:"+arch); digestOf(t, got) != made.Digest {
			t.Errorf("%s: copied as another", at)
		}
	}
	for at, problem := range map[string]string{
		"one:1 arm64": "linux/arm64 was asked for", "all:1 riscv64": "no image for linux/riscv64", "none:1 amd64": "MANIFEST_UNKNOWN", "one:1!! amd64": "no reference",
	} {
		ref, arch, _ := strings.Cut(at, " ")
		if _, err := image.Copy(t.Context(), in, s.host+"/"+ref, arch); err == nil || !strings.Contains(err.Error(), problem) &&
			!(problem == "MANIFEST_UNKNOWN" && strings.Contains(err.Error(), "NAME_UNKNOWN")) {
			t.Errorf("%s: %v, want %s", at, err, problem)
		}
	}
}

// archived is a folder as an archive by tar.
func archived(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(f)
	if err := errors.Join(archive.AddFS(os.DirFS(dir)), archive.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLayout: a layout that another program wrote is pushed as it is, as a folder and as an archive.
func TestLayout(t *testing.T) {
	s := serve(t)
	of := base(t, "amd64")
	dir := t.TempDir()
	if _, err := layout.Write(dir, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: of})); err != nil {
		t.Fatal(err)
	}
	nested := t.TempDir()
	if _, err := layout.Write(nested, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: of, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}}),
	})); err != nil {
		t.Fatal(err)
	}
	for i, path := range []string{dir, archived(t, dir), nested, archived(t, nested)} {
		var read []string
		in := work(t, filepath.Dir(path))
		in.Told = func(path string) { read = append(read, path) }
		made, err := image.Layout(t.Context(), in, filepath.Base(path), "amd64")
		if err != nil || made.Digest != digestOf(t, of) || !slices.Equal(read, []string{path}) {
			t.Fatalf("%s: %v, read %v, %v", path, made, read, err)
		}
		if err := image.Push(t.Context(), made, s.to("layouts"), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
		s.pull(t, "layouts:"+fmt.Sprint(i))
	}
	if _, err := image.Layout(t.Context(), work(t, dir), ".", "arm64"); err == nil {
		t.Error("an image for another processor is taken")
	}
	if _, err := image.Layout(t.Context(), work(t, dir), "oci-layout", "amd64"); err == nil || !strings.Contains(err.Error(), "archive by tar") {
		t.Errorf("%v", err)
	}
	if _, err := image.Layout(t.Context(), work(t, t.TempDir()), ".", "amd64"); err == nil || !strings.Contains(err.Error(), "no index.json") {
		t.Errorf("%v", err)
	}
	bounds := localfile.With(t.Context(), localfile.Bounds{Root: t.TempDir()})
	if _, err := image.Layout(bounds, work(t, dir), ".", "amd64"); err == nil {
		t.Error("a layout outside of what the stack may read is read")
	}
	blob := filepath.Join(dir, "blobs", "sha256", digestOf(t, of))
	data, err := os.ReadFile(blob)
	if err := errors.Join(err, os.WriteFile(blob, append(data, ' '), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := image.Layout(t.Context(), work(t, dir), ".", "amd64"); err == nil || !strings.Contains(err.Error(), "not what its digest says") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(blob); err != nil {
		t.Fatal(err)
	}
	if _, err := image.Layout(t.Context(), work(t, dir), ".", "amd64"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestCut: an upload that ends in the middle leaves no image; the next one uploads what is missing and nothing else.
func TestCut(t *testing.T) {
	s, from := serve(t), serve(t)
	of := base(t, "amd64")
	from.put(t, "base:1", of)
	made, err := image.Copy(t.Context(), work(t, t.TempDir()), from.host+"/base:1", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	layers, err := of.Layers()
	if err != nil {
		t.Fatal(err)
	}
	uploads := 0
	s.refusing(func(r *http.Request) int { // the second blob
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/blobs/uploads/") {
			if uploads++; uploads > 1 {
				return http.StatusForbidden
			}
		}
		return 0
	})
	if err := image.Push(t.Context(), made, s.to("shop"), "v1"); err == nil {
		t.Fatal("pushed")
	}
	s.refusing(nil)
	if _, err := remote.Head(ref(t, s.host+"/shop:v1")); err == nil {
		t.Error("there is an image whose layers are missing")
	}
	s.take("")
	if err := image.Upload(t.Context(), made, s.to("shop")); err != nil {
		t.Fatal(err)
	}
	if puts := s.take(http.MethodPut); len(puts) != len(layers) { // the other layer, and the configuration
		t.Errorf("put %v", puts)
	}
	if _, err := remote.Head(ref(t, s.host+"/shop:v1")); err == nil {
		t.Error("an upload makes no image")
	}
	if err := image.Push(t.Context(), made, s.to("shop"), "v1"); err != nil {
		t.Fatal(err)
	}
	if puts := s.take(http.MethodPut); len(puts) != 2 { // the manifest and the tag
		t.Errorf("put %v", puts)
	}
	s.pull(t, "shop:v1")
}

func ref(t *testing.T, text string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(text)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// TestSignIn: credentials are sent to the registry, are in no error, and a refusal is no accident that is tried again.
func TestSignIn(t *testing.T) {
	s := serve(t)
	made := build(t, hello(""), work(t, program(t, "hello ")))
	s.refusing(func(r *http.Request) int {
		if user, password, _ := r.BasicAuth(); user != "AWS" || password != "sesame-1" {
			return http.StatusUnauthorized
		}
		return 0
	})
	to := s.to("shop")
	to.User, to.Password = "AWS", "sesame-2"
	err := image.Push(t.Context(), made, to, "v1")
	if class, _ := reconcile.ClassGiven(err); class != reconcile.Denied || strings.Contains(err.Error(), "sesame") || len(s.take("")) > 2 {
		t.Errorf("%v, %v", class, err)
	}
	to.Password = "sesame-1"
	if err := image.Push(t.Context(), made, to, "v1"); err != nil {
		t.Error(err)
	}
	s.refusing(func(*http.Request) int { return http.StatusTooManyRequests })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := image.Push(ctx, made, to, "v2"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestKeys: bases are read with what the user has signed in with, and of a stranger's stack with nothing.
func TestKeys(t *testing.T) {
	s := serve(t)
	s.put(t, "base:1", base(t, runtime.GOARCH))
	if err := os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), fmt.Appendf(nil, `{"auths":{%q:{"auth":"bWU6c2VzYW1l"}}}`, s.host), 0o600); err != nil {
		t.Fatal(err)
	}
	s.refusing(func(r *http.Request) int {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "sesame" {
			return http.StatusUnauthorized
		}
		return 0
	})
	if _, err := image.Copy(t.Context(), work(t, t.TempDir()), s.host+"/base:1", runtime.GOARCH); err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	bounds := localfile.With(t.Context(), localfile.Bounds{Root: dir})
	if _, err := image.Copy(bounds, work(t, dir), s.host+"/base:1", runtime.GOARCH); err == nil {
		t.Error("a stranger's stack reads with the user's credentials")
	}
}
