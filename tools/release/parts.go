package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// binary is the program of one target, with its bill of materials.
type binary struct {
	target
	program, bill []byte
}

// parts are what a release is put together from.
type parts struct {
	release
	binaries                                 []binary
	licence, readme, installer, certificates []byte
	recipes                                  []file // for CI
}

// files are all files of a release by name, with the checksums of all others.
func (p parts) files() (map[string][]byte, error) {
	files := map[string][]byte{
		"VERSION": []byte(p.version + "\n"), "NOTES.md": []byte(p.notes), "install.sh": p.installer,
	}
	var packages []debian
	var images []image
	for _, b := range p.binaries {
		inside := []file{
			{b.target.program(), 0o755, b.program}, {"LICENSE", 0o644, p.licence}, {"README.md", 0o644, p.readme},
			{"athanor.cdx.json", 0o644, b.bill},
		}
		pack, ending := tarGz, ".tar.gz"
		if b.os == "windows" {
			pack, ending = zipped, ".zip"
		}
		data, err := pack(inside, p.time)
		if err != nil {
			return nil, err
		}
		files[b.name()+ending], files[b.name()+".cdx.json"] = data, b.bill
		if b.os != "linux" {
			continue
		}
		d := debian{number: p.number(), arch: b.arch}
		if d.data, err = d.pack(b.program, p.licence, p.time); err != nil {
			return nil, err
		}
		files[d.name()] = d.data
		packages = append(packages, d)
		images = append(images, image{arch: b.arch, program: b.program})
	}
	var err error
	if files["athanor-image.tar"], err = imageLayout(images, p.certificates, p.release); err != nil {
		return nil, err
	}
	if files["athanor-ci.tar.gz"], err = tarGz(pinned(p.recipes, p.version, digest(files["athanor-linux-amd64.tar.gz"])), p.time); err != nil {
		return nil, err
	}
	files["Packages"] = packageIndex(packages)
	files["Release"] = packageRelease(files["Packages"], p.time)
	files["athanor.rb"] = formula(p.release, files)
	if files["athanor.json"], err = scoop(p.release, files); err != nil {
		return nil, err
	}
	files["SHA256SUMS"] = sums(files)
	return files, nil
}

// noVersion and noDigest stand in the recipes for CI for those of a release.
const noVersion = "v0.0.0"

var noDigest = strings.Repeat("0", 64)

// pinned are recipes that install one release.
func pinned(recipes []file, version, sum string) []file {
	var all []file
	for _, f := range recipes {
		f.data = bytes.ReplaceAll(bytes.ReplaceAll(f.data, []byte(noVersion), []byte(version)), []byte(noDigest), []byte(sum))
		all = append(all, f)
	}
	return withFolders(all)
}

// readFolder reads all files of a folder.
func readFolder(dir string) ([]file, error) {
	var all []file
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all = append(all, file{filepath.ToSlash(name), 0o644, data})
		return err
	})
	return all, err
}

// sums are the checksums of files, as sha256sum writes and reads them.
func sums(files map[string][]byte) []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%s  %s\n", digest(files[name]), name)
	}
	return b.Bytes()
}

func digest(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// writeAll writes the files into a folder that holds nothing else afterwards.
func writeAll(dir string, files map[string][]byte, at time.Time) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // it is published
		return err
	}
	old, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range old {
		if name := strings.TrimSuffix(e.Name(), ".sig"); files[name] == nil {
			return fmt.Errorf("%s holds %s, which is no part of a release: name an empty folder", dir, e.Name())
		}
	}
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil { //nolint:gosec // it is published
			return err
		}
		if err := os.Chtimes(path, at, at); err != nil {
			return err
		}
	}
	return nil
}
