package lambda

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Code is what a function runs: exactly one of go, directory, zip, bundle, s3 and image.
type Code struct {
	// Go is a program in Go that is compiled on this machine for Linux and the function's architecture: the folder of its
	// package main relative to the stack's directory ("./worker"), or an import path. Builds are reproducible, and need
	// the go command. Default: none.
	Go string
	// Tags are build tags for go. Default: none.
	Tags []string
	// LDFlags are flags of the linker for go, such as "-X main.version=1". Default: none.
	LDFlags string
	// Directory is a folder, relative to the stack's directory, whose files are the code as they are. Default: none.
	Directory string
	// Zip is an archive that is there already, relative to the stack's directory. Default: none.
	Zip string
	// Bundle is a file in JavaScript or TypeScript, relative to the stack's directory, that is put into one module with all
	// that it imports; "@aws-sdk/*" is left to the runtime. Types are not checked. Default: none.
	Bundle string
	// External are further packages that bundle leaves to be imported where it runs; * stands for any text. Default: none.
	External []string
	// Minify makes a bundle short and unreadable. Default: false.
	Minify bool
	// SourceMap adds a source map to a bundle; Node uses it with NODE_OPTIONS=--enable-source-maps. Default: false.
	SourceMap bool
	// S3 is an archive in a bucket of the function's region: up to 250 MB unpacked, and what is too large for the other ways
	// (50 MB packed). Default: none.
	S3 *S3Code
	// Image is the URI of a container image in ECR, best with its digest: another image under the same tag is not seen.
	// Another image is an update in place; the way from an archive to an image, or back, is a new function. Replaces.
	// Default: none.
	Image string
	// SourceKMSKey encrypts the archive at rest: the ARN of a key. Default: none, a key of Lambda.
	SourceKMSKey aws.ARN
}

// S3Code names an archive in S3. Lambda copies it and does not show where it came from: it is write-only, compared by what
// was written last. The code that somebody else uploads instead is not seen.
type S3Code struct {
	// Bucket is its name.
	Bucket string `prop:"required"`
	// Key of the object. New code needs a new key or version.
	Key string `prop:"required"`
	// Version of the object, where the bucket keeps versions. Default: none, the current one.
	Version string
}

// GoBuild is a program in Go, compiled for Linux.
func GoBuild(pkg string) Code { return Code{Go: pkg} }

// Directory is a folder whose files are the code as they are.
func Directory(path string) Code { return Code{Directory: path} }

// Zip is an archive that is there already.
func Zip(path string) Code { return Code{Zip: path} }

// Bundle is a file in JavaScript or TypeScript with all that it imports.
func Bundle(entry string) Code { return Code{Bundle: entry} }

// S3 is an archive in a bucket; version may be "".
func S3(bucket, key, version string) Code {
	return Code{S3: &S3Code{Bucket: bucket, Key: key, Version: version}}
}

// Image is a container image in ECR.
func Image(uri string) Code { return Code{Image: uri} }

const (
	// codeAsset is the name under which Prepare gives the archive.
	codeAsset = "code"
	// mostZip is what Lambda takes in a call, in bytes: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
	mostZip = 50 << 20

	goRuntime, nodeRuntime = "provided.al2023", "nodejs24.x"
)

// path is where differences of the content show: the prop that names it.
func (c Code) path() tree.Path {
	for _, way := range c.ways() {
		if way.set {
			return way.path
		}
	}
	return "code"
}

type way struct {
	path tree.Path
	set  bool
}

func (c Code) ways() []way {
	return []way{
		{"code.go", c.Go != ""},
		{"code.directory", c.Directory != ""},
		{"code.zip", c.Zip != ""},
		{"code.bundle", c.Bundle != ""},
		{"code.s3", c.S3 != nil},
		{"code.image", c.Image != ""},
	}
}

// source is what is prepared of the code on this machine, "" when nothing is.
func (c Code) source() string {
	for _, s := range []string{c.Go, c.Directory, c.Zip, c.Bundle} {
		if s != "" {
			return s
		}
	}
	return ""
}

func checkCode(c Code, wrong func(tree.Path, string)) {
	var set []string
	for _, way := range c.ways() {
		if way.set {
			set = append(set, strings.TrimPrefix(string(way.path), "code."))
		}
	}
	if len(set) != 1 {
		wrong("code", "want exactly one of go, directory, zip, bundle, s3 and image")
	}
	if c.Go == "" && (len(c.Tags) > 0 || c.LDFlags != "") {
		wrong("code.go", "tags and ldflags are for it alone")
	}
	if c.Bundle == "" && (len(c.External) > 0 || c.Minify || c.SourceMap) {
		wrong("code.bundle", "external, minify and sourceMap are for it alone")
	}
	if c.Image != "" && c.SourceKMSKey != "" {
		wrong("code.sourceKmsKey", "it encrypts archives alone")
	}
}

// prepareCode builds the archive.
func prepareCode(ctx context.Context, work reconcile.Workspace, want FunctionProps) (map[string]reconcile.Asset, error) {
	if want.Code.source() == "" || slices.ContainsFunc(want.ingredients(), token.Has) {
		return nil, nil
	}
	archive, err := want.archive(ctx, work)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", want.Code.path(), err)
	}
	if archive.Size > mostZip {
		return nil, reconcile.WithHint(fmt.Errorf("%s: the archive has %.1f MB, and Lambda takes 50 MB in a call", want.Code.path(), float64(archive.Size)/1e6),
			"upload it with aws.s3.Object and name it with code.s3 (lambda.S3), or use an image")
	}
	return map[string]reconcile.Asset{codeAsset: archive}, nil
}

// ingredients are the texts that an archive depends on beside files.
func (p FunctionProps) ingredients() []string {
	c := p.Code
	switch {
	case c.Go != "":
		return append([]string{c.Go, c.LDFlags, *p.Architecture}, c.Tags...)
	case c.Bundle != "":
		return append([]string{c.Bundle, *p.Runtime}, c.External...)
	}
	return []string{c.source()}
}

func (p FunctionProps) archive(ctx context.Context, work reconcile.Workspace) (reconcile.Asset, error) {
	c := p.Code
	var files []asset.File
	var err error
	switch {
	case c.Zip != "":
		work.Reads(within(work.Dir, c.Zip))
		return asset.Existing(ctx, within(work.Dir, c.Zip))
	case c.Directory != "":
		work.Reads(within(work.Dir, c.Directory))
		files, err = asset.Tree(ctx, within(work.Dir, c.Directory))
	case c.Go != "":
		var program asset.File
		program, err = asset.Go{Package: c.Go, Arch: goArch(*p.Architecture), Tags: c.Tags, LDFlags: c.LDFlags}.Build(ctx, work, "bootstrap")
		files = []asset.File{program}
	default:
		files, err = asset.Bundle{
			Entry: c.Bundle, Name: "index", External: append([]string{"@aws-sdk/*"}, c.External...), Minify: c.Minify,
			SourceMap: c.SourceMap, Node: strings.TrimSuffix(strings.TrimPrefix(*p.Runtime, "nodejs"), ".x"),
		}.Build(ctx, work)
	}
	if err != nil {
		return reconcile.Asset{}, err
	}
	return asset.Zip(ctx, work, files)
}

func within(dir, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func goArch(architecture string) string {
	if architecture == "arm64" {
		return "arm64"
	}
	return "amd64"
}

// content reads the archive that was prepared.
func content(assets map[string]reconcile.Asset) ([]byte, error) {
	archive, ok := assets[codeAsset]
	if !ok {
		return nil, errNoCode
	}
	data, err := os.ReadFile(archive.Path)
	if err == nil && digestOf(data) != archive.Digest {
		err = &asset.PathError{Path: archive.Path, Problem: "changed while it was read"}
	}
	return data, err
}
