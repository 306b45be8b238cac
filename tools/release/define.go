package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

const (
	homepage    = "https://github.com/athanor-dev/athanor"
	description = "Infrastructure deployer: makes the cloud match a Go or YAML program"
	maintainer  = "The athanor authors <noreply@athanor.dev>"
)

// address is where a file of a release is published.
func (r release) address(name string) string {
	return homepage + "/releases/download/" + r.version + "/" + name
}

// debian is a package for Debian and what descends from it.
type debian struct {
	number, arch string
	data         []byte
}

// version is the number as dpkg orders it: a tilde stands before the part that names a version before the release.
func (d debian) version() string { return strings.Replace(d.number, "-", "~", 1) }

func (d debian) name() string {
	return "athanor_" + strings.ReplaceAll(d.version(), "~", ".") + "_" + d.arch + ".deb"
}

// control is how a package describes itself, without the last newline.
func (d debian) control(size int) string {
	return fmt.Sprintf("Package: athanor\nVersion: %s\nArchitecture: %s\nMaintainer: %s\nInstalled-Size: %d\nSection: admin\nPriority: optional\nHomepage: %s\nDescription: %s\n",
		d.version(), d.arch, maintainer, (size+1023)/1024, homepage, description)
}

func (d debian) pack(program, licence []byte, at time.Time) ([]byte, error) {
	control, err := tarGz([]file{{"./control", 0o644, []byte(d.control(len(program) + len(licence)))}}, at)
	if err != nil {
		return nil, err
	}
	data, err := tarGz(withFolders([]file{{"./usr/bin/athanor", 0o755, program}, {"./usr/share/doc/athanor/copyright", 0o644, licence}}), at)
	if err != nil {
		return nil, err
	}
	return ar([]file{{"debian-binary", 0o644, []byte("2.0\n")}, {"control.tar.gz", 0o644, control}, {"data.tar.gz", 0o644, data}}, at), nil
}

// packageIndex is the index of a repository whose packages lie beside it, for apt.
func packageIndex(all []debian) []byte {
	var b bytes.Buffer
	for i, d := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "Package: athanor\nVersion: %s\nArchitecture: %s\nMaintainer: %s\nHomepage: %s\nDescription: %s\nFilename: ./%s\nSize: %d\nSHA256: %s\n",
			d.version(), d.arch, maintainer, homepage, description, d.name(), len(d.data), digest(d.data))
	}
	return b.Bytes()
}

// packageRelease holds the index to its checksum. A detached signature of it is Release.gpg.
func packageRelease(index []byte, at time.Time) []byte {
	return fmt.Appendf(nil, "Origin: athanor\nLabel: athanor\nSuite: stable\nArchitectures: amd64 arm64\nDate: %s\nSHA256:\n %s %d Packages\n",
		at.UTC().Format("Mon, 02 Jan 2006 15:04:05 UTC"), digest(index), len(index))
}

// formula is what Homebrew installs by.
func formula(r release, files map[string][]byte) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "class Athanor < Formula\n  desc %q\n  homepage %q\n  version %q\n  license \"Apache-2.0\"\n", description, homepage, r.number())
	for _, system := range [][2]string{{"macos", "darwin"}, {"linux", "linux"}} {
		fmt.Fprintf(&b, "\n  on_%s do\n", system[0])
		for _, arch := range [][2]string{{"arm", "arm64"}, {"intel", "amd64"}} {
			name := target{system[1], arch[1]}.name() + ".tar.gz"
			fmt.Fprintf(&b, "    on_%s do\n      url %q\n      sha256 %q\n    end\n", arch[0], r.address(name), digest(files[name]))
		}
		b.WriteString("  end\n")
	}
	b.WriteString(`
  def install
    bin.install "athanor"
    generate_completions_from_executable(bin/"athanor", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/athanor version")
  end
end
`)
	return []byte(b.String())
}

// scoop is the manifest that Scoop installs by.
func scoop(r release, files map[string][]byte) ([]byte, error) {
	type source struct {
		URL  string `json:"url"`
		Hash string `json:"hash,omitempty"`
	}
	now, next := map[string]source{}, map[string]source{}
	for name, arch := range map[string]string{"64bit": "amd64", "arm64": "arm64"} {
		archive := target{"windows", arch}.name() + ".zip"
		now[name] = source{r.address(archive), digest(files[archive])}
		next[name] = source{URL: homepage + "/releases/download/v$version/" + archive}
	}
	data, err := json.MarshalIndent(map[string]any{
		"version": r.number(), "description": description, "homepage": homepage, "license": "Apache-2.0", "bin": "athanor.exe",
		"architecture": now, "checkver": "github",
		"autoupdate": map[string]any{"architecture": next, "hash": map[string]string{"url": "$baseurl/SHA256SUMS"}},
	}, "", "    ")
	return append(data, '\n'), err
}
