package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// sample is a release whose programs are shell scripts, so that what is packed can be run.
func sample(t *testing.T) parts {
	t.Helper()
	installer, err := os.ReadFile("../../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	p := parts{
		release: release{version: "v1.2.3", commit: strings.Repeat("ab", 20), time: time.Unix(1_700_000_000, 0).UTC(), notes: "- Something is new.\n"},
		licence: []byte("Apache License\n"), readme: []byte("# athanor\n"), installer: installer, certificates: []byte("-----BEGIN CERTIFICATE-----\n"),
	}
	if p.recipes, err = readFolder("../../ci"); err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		p.binaries = append(p.binaries, binary{target, []byte("#!/bin/sh\necho athanor v1.2.3 " + target.name() + "\n"), []byte("{\"bomFormat\": \"CycloneDX\"}\n")})
	}
	return p
}

func filesOf(t *testing.T, p parts) map[string][]byte {
	t.Helper()
	files, err := p.files()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// tarFiles are the files of a tar archive by name, and their headers.
func tarFiles(t *testing.T, data []byte) (map[string][]byte, map[string]*tar.Header) {
	t.Helper()
	content, headers := map[string][]byte{}, map[string]*tar.Header{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return content, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		if headers[h.Name] != nil {
			t.Fatalf("%s is twice in the archive", h.Name)
		}
		if content[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		headers[h.Name] = h
	}
}

func gunzip(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// TestFiles: the same parts give the same bytes, every file has a checksum, and each archive holds the program that runs.
func TestFiles(t *testing.T) {
	p := sample(t)
	files := filesOf(t, p)
	again := filesOf(t, p)
	var listed []string
	for line := range strings.Lines(string(files["SHA256SUMS"])) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		listed = append(listed, name)
		if sum != digest(files[name]) || len(files[name]) == 0 {
			t.Errorf("SHA256SUMS: %s of %s, which has %d bytes", sum, name, len(files[name]))
		}
		if !bytes.Equal(files[name], again[name]) {
			t.Errorf("%s is another one the second time", name)
		}
	}
	if len(listed) != len(files)-1 || !slices.IsSorted(listed) {
		t.Errorf("%d of %d files are listed: %v", len(listed), len(files), listed)
	}
	for _, b := range p.binaries {
		var content map[string][]byte
		if b.os == "windows" {
			data := files[b.name()+".zip"]
			r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				t.Fatal(err)
			}
			content = map[string][]byte{}
			for _, f := range r.File {
				body, err := f.Open()
				if err != nil {
					t.Fatal(err)
				}
				if content[f.Name], err = io.ReadAll(body); err != nil {
					t.Fatal(err)
				}
			}
		} else {
			var headers map[string]*tar.Header
			content, headers = tarFiles(t, gunzip(t, files[b.name()+".tar.gz"]))
			if h := headers["athanor"]; h == nil || h.Mode != 0o755 || h.Uid != 0 || !h.ModTime.Equal(p.time) {
				t.Errorf("%s: %+v", b.name(), h)
			}
		}
		if !bytes.Equal(content[b.target.program()], b.program) || !bytes.Equal(content["LICENSE"], p.licence) || !bytes.Equal(content["athanor.cdx.json"], b.bill) {
			t.Errorf("%s holds %v", b.name(), content)
		}
	}
}

// TestImage follows every descriptor of the container image from the index down to the program.
func TestImage(t *testing.T) {
	p := sample(t)
	content, _ := tarFiles(t, filesOf(t, p)["athanor-image.tar"])
	read := func(d descriptor, to any) []byte {
		data := content["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if "sha256:"+digest(data) != d.Digest || len(data) != d.Size {
			t.Fatalf("%s is not what is there: %d bytes", d.Digest, len(data))
		}
		if to != nil {
			if err := json.Unmarshal(data, to); err != nil {
				t.Fatal(err)
			}
		}
		return data
	}
	var top, list manifest
	if err := json.Unmarshal(content["index.json"], &top); err != nil || string(content["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` {
		t.Fatalf("%v, %s", err, content["oci-layout"])
	}
	read(top.Manifests[0], &list)
	var arches []string
	for _, d := range list.Manifests {
		var m manifest
		var c imageConfig
		read(d, &m)
		read(*m.Config, &c)
		arches = append(arches, c.Architecture)
		layer := gunzip(t, read(m.Layers[0], nil))
		if c.RootFS.DiffIDs[0] != "sha256:"+digest(layer) || *d.Platform != c.platform || c.Config.User != "65532:65532" {
			t.Errorf("%+v", c)
		}
		inside, headers := tarFiles(t, layer)
		if want := "#!/bin/sh\necho athanor v1.2.3 athanor-linux-" + c.Architecture + "\n"; string(inside["usr/bin/athanor"]) != want {
			t.Errorf("%s: %q", c.Architecture, inside["usr/bin/athanor"])
		}
		if headers["tmp/"].Mode != 0o1777 || headers["usr/"] == nil || len(inside["etc/ssl/certs/ca-certificates.crt"]) == 0 {
			t.Errorf("%v", headers)
		}
	}
	if !slices.Equal(arches, []string{"amd64", "arm64"}) {
		t.Error(arches)
	}
}

// TestRecipes: the recipes for CI in a release install that release.
func TestRecipes(t *testing.T) {
	files := filesOf(t, sample(t))
	content, _ := tarFiles(t, gunzip(t, files["athanor-ci.tar.gz"]))
	sum := digest(files["athanor-linux-amd64.tar.gz"])
	for _, name := range []string{"github/actions/athanor-install/action.yml", "gitlab/athanor.gitlab-ci.yml"} {
		if text := string(content[name]); !strings.Contains(text, "v1.2.3") || !strings.Contains(text, sum) {
			t.Errorf("%s installs another one: %s", name, text)
		}
	}
	for name, text := range content {
		if strings.Contains(string(text), noVersion) || strings.Contains(string(text), noDigest) {
			t.Errorf("%s names no release", name)
		}
	}
	if len(content) < 10 {
		t.Errorf("%d files", len(content))
	}
}

// need finds a program. Those of Debian are there in CI.
func need(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		if os.Getenv("ATHANOR_NO_SKIP") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// published writes a release into a folder and gives it.
func published(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := writeAll(dir, files, time.Unix(1_700_000_000, 0)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDebian: dpkg reads the package, and apt finds it in the repository and verifies it.
func TestDebian(t *testing.T) {
	need(t, "dpkg-deb")
	need(t, "apt-get")
	files := filesOf(t, sample(t))
	dir := published(t, files)
	info := output(t, dir, "dpkg-deb", "--info", "athanor_1.2.3_amd64.deb")
	inside := output(t, dir, "dpkg-deb", "--contents", "athanor_1.2.3_amd64.deb")
	if !strings.Contains(info, " Version: 1.2.3\n") || !regexp.MustCompile(`-rwxr-xr-x 0/0 +\d+ 2023-11-14 22:13 (\./)?usr/bin/athanor`).MatchString(inside) {
		t.Errorf("%s\n%s", info, inside)
	}
	unpacked := filepath.Join(t.TempDir(), "root")
	output(t, dir, "dpkg-deb", "--extract", "athanor_1.2.3_amd64.deb", unpacked)
	if said := output(t, "", filepath.Join(unpacked, "usr/bin/athanor")); said != "athanor v1.2.3 athanor-linux-amd64\n" {
		t.Errorf("%q", said)
	}
	apt := func(dir string) (string, error) {
		own := t.TempDir()
		for _, folder := range []string{"lists/partial", "cache/archives/partial", "parts"} {
			if err := os.MkdirAll(filepath.Join(own, folder), 0o755); err != nil { //nolint:gosec // apt's own user reads it
				t.Fatal(err)
			}
		}
		list, status := filepath.Join(own, "sources.list"), filepath.Join(own, "status")
		for path, text := range map[string]string{list: "deb [trusted=yes] file:" + dir + " ./\n", status: ""} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // apt's own user reads it
				t.Fatal(err)
			}
		}
		options := []string{
			"-o", "Dir::Etc::sourcelist=" + list, "-o", "Dir::Etc::sourceparts=" + own + "/parts", "-o", "Dir::State::lists=" + own + "/lists",
			"-o", "Dir::State::status=" + status, "-o", "Dir::Cache=" + own + "/cache", "-o", "APT::Architecture=amd64", "-o", "APT::Architectures=amd64",
			"-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1",
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `apt-get "$@" update && apt-get "$@" download athanor && cat ./*.deb | cksum`, "sh")
		cmd.Args = append(cmd.Args, options...)
		cmd.Dir, cmd.Env = own, append(os.Environ(), "LC_ALL=C", "TZ=UTC")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := apt(dir); err != nil {
		t.Errorf("apt refuses it: %v\n%s", err, out)
	}
	changed := maps.Clone(files)
	changed["Packages"] = bytes.Replace(files["Packages"], []byte("Size: "), []byte("Size: 1"), 1)
	if out, err := apt(published(t, changed)); err == nil {
		t.Errorf("apt takes an index that Release does not know:\n%s", out)
	}
}

// TestDefinitions: the formula and the manifest name files of the release with their checksums.
func TestDefinitions(t *testing.T) {
	files := filesOf(t, sample(t))
	source := regexp.MustCompile(`url "https://github.com/athanor-dev/athanor/releases/download/v1\.2\.3/([^"]+)"\n +sha256 "([0-9a-f]{64})"`)
	found := source.FindAllSubmatch(files["athanor.rb"], -1)
	for _, m := range found {
		if digest(files[string(m[1])]) != string(m[2]) {
			t.Errorf("the formula says %s of %s", m[2], m[1])
		}
	}
	if len(found) != 4 {
		t.Errorf("%d archives in the formula:\n%s", len(found), files["athanor.rb"])
	}
	var s struct {
		Version, Bin string
		Architecture map[string]struct{ URL, Hash string }
	}
	if err := json.Unmarshal(files["athanor.json"], &s); err != nil || s.Version != "1.2.3" || s.Bin != "athanor.exe" || len(s.Architecture) != 2 {
		t.Errorf("%v: %s", err, files["athanor.json"])
	}
	for _, a := range s.Architecture {
		name := filepath.Base(a.URL)
		if digest(files[name]) != a.Hash || len(files[name]) == 0 {
			t.Errorf("the manifest says %s of %s", a.Hash, name)
		}
	}
}

// TestDescribe: a tag of semantic versioning is the version, a commit without one has one as Go gives it, and each needs
// its section of the changelog.
func TestDescribe(t *testing.T) {
	dir := t.TempDir()
	commit := func(changes string) {
		if err := os.WriteFile(filepath.Join(dir, "CHANGELOG.md"), []byte(changes), 0o600); err != nil {
			t.Fatal(err)
		}
		output(t, dir, "git", "add", ".")
		output(t, dir, "git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "x", "--date=2026-01-02T03:04:05Z")
	}
	output(t, dir, "git", "init", "-q")
	commit("# Changelog\n\n## Unreleased\n\n- New.\n\n## [0.9.0] - 2026-01-01\n\n- Old.\n")
	r, err := describe(t.Context(), dir, "HEAD")
	if err != nil || !regexp.MustCompile(`^v0\.0\.0-\d{14}-[0-9a-f]{12}$`).MatchString(r.version) || r.notes != "- New.\n" || len(r.commit) != 40 || r.time.IsZero() {
		t.Errorf("%+v, %v", r, err)
	}
	output(t, dir, "git", "tag", "nightly")
	output(t, dir, "git", "tag", "v0.9.0")
	if r, err := describe(t.Context(), dir, "HEAD"); err != nil || r.version != "v0.9.0" || r.notes != "- Old.\n" {
		t.Errorf("%+v, %v", r, err)
	}
	output(t, dir, "git", "tag", "v0.9.1")
	if _, err := describe(t.Context(), dir, "HEAD"); err == nil || !strings.Contains(err.Error(), "two versions") {
		t.Error(err)
	}
	output(t, dir, "git", "tag", "-d", "v0.9.0")
	if _, err := describe(t.Context(), dir, "HEAD"); err == nil || !strings.Contains(err.Error(), "0.9.1") {
		t.Errorf("without a section of the changelog: %v", err)
	}
}

// TestBuiltAlike: two checkouts in different folders give equal binaries, which know their version; a difference is found. What the user has set
// by `go env -w` changes nothing.
func TestBuiltAlike(t *testing.T) {
	const program = "package main\n\nvar version, commit, date string\n\nfunc main() { println(version, commit, date) }\n"
	const own = "//go:build own\n\npackage main\n\nfunc init() { println(\"own\") }\n"
	root := t.TempDir()
	settings := filepath.Join(root, "env")
	if err := os.WriteFile(settings, []byte("GOFLAGS=-tags=own\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOENV", settings)
	builders := []builder{{dir: filepath.Join(root, "1")}, {dir: filepath.Join(root, "far", "2"), cache: filepath.Join(root, "cache")}, {dir: filepath.Join(root, "third")}}
	write := func(b builder, text string) {
		if err := os.MkdirAll(b.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"main.go": text, "own.go": own, "go.mod": "module example.com/x\n\ngo 1.26\n"} {
			if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, b := range builders {
		write(b, program)
	}
	r := sample(t).release
	here := target{"linux", "amd64"}
	name, err := builtAlike(t.Context(), builders, r, here, ".", root)
	if err != nil {
		t.Fatal(err)
	}
	if said, want := output(t, "", name), "v1.2.3 "+r.commit+" 2023-11-14T22:13:20Z\n"; said != want {
		t.Errorf("%q, want %q", said, want)
	}
	write(builders[1], strings.Replace(program, "println(", "println(1, ", 1))
	if _, err := builtAlike(t.Context(), builders, r, here, ".", root); err == nil || !strings.Contains(err.Error(), "not reproducible") {
		t.Error(err)
	}
}

// TestBuilders: every binary is built in two folders, and one of each processor with a cache of its own.
func TestBuilders(t *testing.T) {
	first, again := builder{dir: "1"}, builder{dir: "2"}
	compiled := map[string]bool{}
	for _, target := range targets {
		for _, j := range []job{{}, {all: true}, {once: true}} {
			builders, how := j.builders(target, first, again, "cache")
			if j.once && len(builders) == 1 && builders[0] == first {
				continue
			}
			if len(builders) != 2 || builders[0] != first || builders[1].dir != again.dir {
				t.Errorf("%s, %+v: %+v", target.name(), j, builders)
				continue
			}
			if j.all && builders[1].cache == "" || strings.HasPrefix(how, "compiled twice") != (builders[1].cache != "") {
				t.Errorf("%s, %+v: it is %s, by %+v", target.name(), j, how, builders[1])
			}
			if !j.all && builders[1].cache != "" {
				compiled[target.arch] = true
			}
		}
	}
	for _, target := range targets {
		if !compiled[target.arch] {
			t.Errorf("nothing for %s is compiled twice", target.arch)
		}
	}
	for only, want := range map[string]int{"": len(targets), "linux/arm64": 1, "plan9/amd64": 0} {
		if chosen, err := (job{only: only}).chosen(); len(chosen) != want || (err == nil) != (want > 0) {
			t.Errorf("-only %q: %v, %v", only, chosen, err)
		}
	}
}

// TestWriteAll: a folder that holds something else is refused, a second release into the same folder is not.
func TestWriteAll(t *testing.T) {
	dir, files, at := t.TempDir(), map[string][]byte{"SHA256SUMS": []byte("x")}, time.Unix(1_700_000_000, 0)
	for range 2 {
		if err := writeAll(dir, files, at); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "SHA256SUMS.sig"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeAll(dir, files, at); err == nil || !strings.Contains(err.Error(), "notes.txt") {
		t.Error(err)
	}
}

// TestPage: what the page about installing names is in a release.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	files := filesOf(t, sample(t))
	files["SHA256SUMS.sig"] = nil
	named := map[string]bool{}
	for _, name := range regexp.MustCompile(`\bathanor[-_][\w.-]*\.\w+|\bathanor\.(?:rb|json)\b|\bSHA256SUMS(?:\.sig)?|\bVERSION\b|\bNOTES\.md|\binstall\.sh|\bPackages\b|\bRelease\b`).FindAllString(string(page), -1) {
		named[name] = true
		if _, ok := files[name]; !ok {
			t.Errorf("the page names %s, which no release has", name)
		}
	}
	if len(named) < 10 {
		t.Errorf("only %d files are named: %v", len(named), named)
	}
	for _, variable := range []string{"ATHANOR_VERSION", "ATHANOR_INSTALL_DIR", "ATHANOR_RELEASES", "ATHANOR_SIGNERS"} {
		if !strings.Contains(string(page), "`"+variable+"`") || !bytes.Contains(sample(t).installer, []byte("\n# "+variable+" ")) {
			t.Errorf("%s is not explained in both", variable)
		}
	}
}
