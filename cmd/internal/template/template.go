// Package template holds the first stacks that `athanor init` writes, each in YAML and in Go. It knows what is in their
// files; it does not know where a stack is written, or how a Go module finds athanor.
package template

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

// files are the templates: NAME/yaml, NAME/go, and NAME/both for what the two have in common.
//
//go:embed all:_files
var files embed.FS

// placeholder stands for the name of the stack in every file.
const placeholder = "STACKNAME"

// Template is a first stack.
type Template struct {
	Name string
	// About says what it deploys.
	About string
	// Provider is the cloud whose credentials it needs, "" for none.
	Provider string
}

// All returns the templates, the default one first.
func All() []Template {
	return []Template{
		{"local", "a page on this machine; needs no account", ""},
		{"aws-api", "an HTTP API on AWS with a function and a table", "AWS"},
		{"aws-website", "a static website of S3 and CloudFront", "AWS"},
		{"worker", "a Worker of Cloudflare with a KV namespace", "Cloudflare"},
		{"worker-fullstack", "a Worker with pages, an API and a D1 database", "Cloudflare"},
	}
}

// Files returns the files of a template for a stack of that name, by their paths with slashes.
func Files(template, stack string, inGo bool) (map[string]string, error) {
	language := "yaml"
	if inGo {
		language = "go"
	}
	written := map[string]string{}
	for _, part := range []string{language, "both"} {
		root := path.Join("_files", template, part)
		err := fs.WalkDir(files, root, func(name string, d fs.DirEntry, err error) error {
			if name == root && err != nil && part == "both" {
				return nil // the two have nothing in common
			}
			if err != nil || d.IsDir() {
				return err
			}
			data, err := files.ReadFile(name)
			written[strings.TrimPrefix(name, root+"/")] = strings.ReplaceAll(string(data), placeholder, stack)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return written, nil
}
