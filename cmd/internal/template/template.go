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
	// Packages is the folder whose packages npm installs before the first deploy, "" for none.
	Packages string
}

// All returns the templates, the default one first.
func All() []Template {
	return []Template{
		{Name: "local", About: "a page on this machine; needs no account"},
		{Name: "aws-api", About: "an HTTP API on AWS with a function and a table", Provider: "AWS"},
		{Name: "aws-website", About: "a static website of S3 and CloudFront", Provider: "AWS"},
		{Name: "worker", About: "a Worker of Cloudflare with a KV namespace", Provider: "Cloudflare"},
		{Name: "worker-fullstack", About: "a Worker with pages, an API and a D1 database", Provider: "Cloudflare"},
		{Name: "worker-website", About: "a website on Workers that Vite builds, with an API", Provider: "Cloudflare", Packages: "web"},
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
