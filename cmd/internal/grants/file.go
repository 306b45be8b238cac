package grants

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// allowNames are the names of the kinds in the user's file.
func allowNames() map[Kind]string {
	return map[Kind]string{
		Endpoint: "endpoints", Store: "stores", Path: "paths", Env: "env", Identity: "identities", Program: "programs",
	}
}

// FilePath returns the path of the user's file of permissions.
func FilePath() (string, error) {
	dir, err := files.ConfigFolder()
	return filepath.Join(dir, "config.yaml"), err
}

// Read reads what the user's file allows in a project; dirs are the folders that it may be listed by. A file that is
// not there allows nothing. A file that others can write or read is refused: what it says must be the user's own word.
func Read(path string, dirs ...string) ([]Permission, error) {
	doc, err := readFile(path)
	if err != nil || doc == nil {
		return nil, err
	}
	var list []Permission
	projects := child(doc.Content[0], "projects")
	for _, dir := range slices.Compact(slices.Sorted(slices.Values(dirs))) {
		allow := child(child(projects, dir), "allow")
		for kind, name := range allowNames() {
			entries := child(allow, name)
			if entries == nil {
				continue
			}
			var texts []string
			if err := entries.Decode(&texts); err != nil {
				return nil, fmt.Errorf("%s:%d: %s: want a list of VALUE@PLACE", path, entries.Line, name)
			}
			for _, text := range texts {
				list = append(list, Permission{Kind: kind, Text: text, Placed: true})
			}
		}
	}
	return list, nil
}

// readFile reads the file as YAML, nil when it is not there or empty.
func readFile(path string) (*yaml.Node, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no file allows nothing, which is no error
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		err := fmt.Errorf("%s says what stacks may reach, and others can read or change it (%v)", path, mode)
		return nil, reconcile.WithHint(err, "chmod 600 %s", path)
	}
	var doc yaml.Node
	err = yaml.NewDecoder(f).Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil //nolint:nilnil // an empty file allows nothing
	case err != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode:
		return nil, reconcile.WithHint(fmt.Errorf("%s: want YAML with projects", path),
			"projects: {DIR: {allow: {endpoints: [VALUE@PLACE]}}}")
	}
	return &doc, nil
}

// child is the value of a key of a mapping, nil when there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// grow is the value of a key of a mapping, made when there is none.
func grow(n *yaml.Node, key string, kind yaml.Kind) *yaml.Node {
	if v := child(n, key); v != nil {
		if v.Kind != kind { // written as null
			*v = yaml.Node{Kind: kind}
		}
		return v
	}
	v := &yaml.Node{Kind: kind}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, v)
	return v
}

// Remember adds permissions for a project to the user's file, in one step. What else stands in the file stays.
func Remember(path, dir string, asks []Ask) error {
	doc, err := readFile(path)
	if err != nil {
		return err
	}
	if doc == nil {
		doc = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	allow := doc.Content[0]
	for _, key := range []string{"projects", dir, "allow"} {
		allow = grow(allow, key, yaml.MappingNode)
	}
	for _, a := range asks {
		entries, text := grow(allow, allowNames()[a.Kind], yaml.SequenceNode), a.Value+"@"+a.Place
		if !slices.ContainsFunc(entries.Content, func(n *yaml.Node) bool { return n.Value == text }) {
			entries.Content = append(entries.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text})
		}
	}
	var text bytes.Buffer
	enc := yaml.NewEncoder(&text)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(doc), enc.Close()); err != nil {
		return err
	}
	return write(path, text.Bytes())
}

// write replaces the file in one step; it is its owner's alone from its first byte on.
func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return localfile.Replace(path, data, 0o600)
}
