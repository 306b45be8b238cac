// Command sbom writes the bill of materials of a Go binary in CycloneDX, with the licence of each module.
//
// It knows what the binary says that it is made of, and the texts of the licences that may be in it. A module without a
// licence, or with one that nobody has judged, is an error. It does not know what is vulnerable: govulncheck does.
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

func main() {
	binary, out, dir := flag.String("binary", "", "the binary"), flag.String("out", "", "the file that is written"), flag.String("dir", ".", "the folder of its module")
	flag.Parse()
	n, err := run(*binary, *out, *dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("components: %d, each with a known licence\n", n)
}

// document is CycloneDX 1.6 as far as it is used here: https://cyclonedx.org/docs/1.6/json/
type document struct {
	BOMFormat   string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type     string    `json:"type"`
	Ref      string    `json:"bom-ref"`
	Name     string    `json:"name"`
	Version  string    `json:"version,omitempty"`
	PURL     string    `json:"purl,omitempty"`
	Hashes   []sum     `json:"hashes,omitempty"`
	Licences []licence `json:"licenses,omitempty"`
}

type sum struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licence struct {
	Licence struct {
		ID string `json:"id"`
	} `json:"license"`
}

func run(binary, out, dir string) (int, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return 0, err
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return 0, err
	}
	main := describe(info.Main, "application")
	main.Hashes = []sum{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(data))}}
	id, err := licenceIn(dir)
	if err != nil {
		return 0, err
	}
	main.Licences = licensed(id)
	doc := document{BOMFormat: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: metadata{main}}
	folders, err := folders(dir)
	if err != nil {
		return 0, err
	}
	var problems []error
	for _, m := range info.Deps {
		folder := folders[m.Path] // of what replaces it, where something does
		if m.Replace != nil {
			m = m.Replace
		}
		c := describe(*m, "library")
		id, err := licenceIn(folder)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s %s: %w", m.Path, m.Version, err))
			continue
		}
		c.Licences = licensed(id)
		doc.Components = append(doc.Components, c)
	}
	embedded, err := embeddedIn(dir)
	if err != nil {
		problems = append(problems, err)
	}
	doc.Components = append(doc.Components, embedded...)
	standard := component{Type: "library", Ref: "std", Name: "std", Version: info.GoVersion, PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"), Licences: licensed("BSD-3-Clause")}
	doc.Components = append(doc.Components, standard)
	slices.SortFunc(doc.Components, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	if err := errors.Join(problems...); err != nil {
		return 0, err
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return 0, err
	}
	return len(doc.Components), os.WriteFile(out, append(text, '\n'), 0o644) //nolint:gosec // everybody may read it
}

// embeddedSuffix ends the names of the files that describe an embedded file of somebody else.
const embeddedSuffix = ".embedded.json"

// embeddedIn lists the files of others that lie in the sources and are embedded into the binary. Each is described beside it:
// where it comes from, what it must contain, and where its licence is.
func embeddedIn(dir string) ([]component, error) {
	var all []component
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != dir && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(e.Name(), embeddedSuffix):
			return nil
		}
		c, err := embedded(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, c)
		return nil
	})
	return all, err
}

func embedded(path string) (component, error) {
	var d struct{ Name, Version, PURL, File, SHA256, Licence string }
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		return component{}, err
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(path), d.File))
	if err != nil {
		return component{}, err
	}
	if have := fmt.Sprintf("%x", sha256.Sum256(data)); have != d.SHA256 {
		return component{}, fmt.Errorf("%s has the digest %s and not the described one", d.File, have)
	}
	licence, err := os.ReadFile(filepath.Join(filepath.Dir(path), d.Licence))
	if err != nil {
		return component{}, err
	}
	id := identify(string(licence))
	if id == "" || d.PURL == "" {
		return component{}, errNoLicence
	}
	return component{
		Type: "library", Ref: d.PURL, Name: d.Name, Version: d.Version, PURL: d.PURL, Hashes: []sum{{"SHA-256", d.SHA256}}, Licences: licensed(id),
	}, nil
}

func describe(m debug.Module, kind string) component {
	purl := "pkg:golang/" + m.Path + "@" + m.Version
	return component{Type: kind, Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
}

func licensed(id string) []licence {
	var l licence
	l.Licence.ID = id
	return []licence{l}
}

// folders are where the modules lie, by path.
func folders(dir string) (map[string]string, error) {
	cmd := exec.Command("go", "list", "-m", "-json=Path,Dir,Replace", "all")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var m struct{ Path, Dir string }
		if err := dec.Decode(&m); err != nil {
			return nil, err
		}
		all[m.Path] = m.Dir
	}
	return all, nil
}

var errNoLicence = errors.New("no licence that is known")

// licenceIn tells the licence of a folder by what its text says.
func licenceIn(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("its sources are not here: go mod download")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") || e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if id := identify(string(text)); id != "" {
			return id, nil
		}
	}
	return "", errNoLicence
}

// identify tells a licence by sentences that it alone has. Those that ask for more than to be named are not among them.
func identify(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
	has := func(words string) bool { return strings.Contains(text, words) }
	switch {
	case has("apache license version 2.0") || has("apache license, version 2.0"):
		return "Apache-2.0"
	case has("mozilla public license") && has("2.0"):
		return "MPL-2.0"
	case has("permission is hereby granted, free of charge, to any person obtaining a copy"):
		return "MIT"
	case has("permission to use, copy, modify, and/or distribute this software") || has("permission to use, copy, modify, and distribute this software"):
		return "ISC"
	case has("redistribution and use in source and binary forms") && has("neither the name"):
		return "BSD-3-Clause"
	case has("redistribution and use in source and binary forms"):
		return "BSD-2-Clause"
	}
	return ""
}
