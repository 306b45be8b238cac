package aws

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed policy.go
var source embed.FS

// Source is the source of a package of kinds with that of this package beside it, so that props which are made of its
// types have their documentation.
func Source(own fs.FS) fs.FS { return sources{own} }

type sources struct{ fs.FS }

// Open finds the files of this package in a folder that is named after it.
func (s sources) Open(name string) (fs.File, error) {
	if folder, rest, _ := strings.Cut(name, "/"); folder == "aws" {
		if rest == "" {
			rest = "."
		}
		return source.Open(rest)
	}
	return s.FS.Open(name)
}
