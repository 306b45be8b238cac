package lambda

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/localfile"
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
	Tags []string `prop:"needs=go"`
	// LDFlags are flags of the linker for go, such as "-X main.version=1". Default: none.
	LDFlags string `prop:"needs=go"`
	// Directory is a folder, relative to the stack's directory, whose files are the code as they are. Default: none.
	Directory string
	// Zip is an archive that is there already, relative to the stack's directory. Default: none.
	Zip string
	// Bundle is a file in JavaScript or TypeScript, relative to the stack's directory, that is put into one module with
	// all that it imports; "@aws-sdk/*" is left to the runtime. Types are not checked. Default: none.
	Bundle string
	// External are further packages that bundle leaves to be imported where it runs; * stands for any text. Default: none.
	External []string `prop:"needs=bundle"`
	// Minify makes a bundle short and unreadable.
	Minify bool `prop:"default=false,needs=bundle"`
	// SourceMap adds a source map to a bundle; Node uses it with NODE_OPTIONS=--enable-source-maps.
	SourceMap bool `prop:"default=false,needs=bundle"`
	// S3 is an archive in a bucket of the function's region: up to 250 MB unpacked, and what is too large for the other
	// ways (50 MB packed). Default: none.
	S3 *S3Code
	// Image is the URI of a container image in ECR, best with its digest: another image under the same tag is not seen.
	// Another image is an update in place; the way from an archive to an image, or back, is a new function. Replaces.
	// Default: none.
	Image string
	// SourceKMSKey encrypts the archive at rest: the ARN of a key. Default: none, a key of Lambda.
	SourceKMSKey aws.ARN `prop:"excludes=image"`
}

// S3Code names an archive in S3. Lambda copies it and does not show where it came from: it is write-only, compared by
// what was written last. The code that somebody else uploads instead is not seen.
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
	// mostZip is what Lambda takes in a call, in bytes:
	// https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
	mostZip                = 50 << 20
	goRuntime, nodeRuntime = "provided.al2023", "nodejs24.x"
)

// way is one of the props that say what the code is, of which there is one.
type way struct {
	path  tree.Path
	value string
	// local: the code is prepared on this machine.
	local bool
}

// ways are those that are declared.
func (c Code) ways() []way {
	all := []way{
		{"code.go", c.Go, true},
		{"code.directory", c.Directory, true},
		{"code.zip", c.Zip, true},
		{"code.bundle", c.Bundle, true},
		{"code.s3", aws.OrZero(c.S3).Key, false},
		{"code.image", c.Image, false},
	}
	return slices.DeleteFunc(all, func(w way) bool { return w.value == "" })
}

// path is where differences of the content show: the prop that names it.
func (c Code) path() tree.Path {
	if all := c.ways(); len(all) > 0 {
		return all[0].path
	}
	return "code"
}

// source is what is prepared of the code on this machine, "" when nothing is.
func (c Code) source() string {
	if all := c.ways(); len(all) > 0 && all[0].local {
		return all[0].value
	}
	return ""
}

// prepareCode builds the archive.
func prepareCode(ctx context.Context, work kind.Workspace, want FunctionProps) (map[string]kind.Asset, error) {
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
	return map[string]kind.Asset{codeAsset: archive}, nil
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

func (p FunctionProps) archive(ctx context.Context, work kind.Workspace) (kind.Asset, error) {
	c := p.Code
	path := filepath.FromSlash(c.source())
	if !filepath.IsAbs(path) {
		path = filepath.Join(work.Dir, path)
	}
	var files []asset.File
	var err error
	switch {
	case c.Zip != "":
		work.Reads(path)
		return asset.Archive(ctx, path)
	case c.Directory != "":
		work.Reads(path)
		files, err = asset.Tree(ctx, path)
	case c.Go != "":
		var program asset.File
		program, err = asset.Go{Package: c.Go, Arch: goArch[*p.Architecture], Tags: c.Tags, LDFlags: c.LDFlags}.Build(ctx, work, "bootstrap")
		files = []asset.File{program}
	default:
		files, err = asset.Bundle{
			Entry: c.Bundle, Name: "index", External: append([]string{"@aws-sdk/*"}, c.External...), Minify: c.Minify,
			SourceMap: c.SourceMap, Node: strings.TrimSuffix(strings.TrimPrefix(*p.Runtime, "nodejs"), ".x"),
		}.Build(ctx, work)
	}
	if err != nil {
		return kind.Asset{}, err
	}
	return asset.Zip(ctx, work, files)
}

var goArch = map[string]string{"arm64": "arm64", "x86_64": "amd64"}

// content reads the archive that was prepared.
func content(ctx context.Context, assets map[string]kind.Asset) ([]byte, error) {
	archive, ok := assets[codeAsset]
	if !ok {
		return nil, errNoCode
	}
	data, err := localfile.ReadFile(ctx, archive.Path)
	if sum := sha256.Sum256(data); err == nil && hex.EncodeToString(sum[:]) != archive.Digest {
		err = &asset.PathError{Path: archive.Path, Problem: "changed while it was read"}
	}
	return data, err
}
