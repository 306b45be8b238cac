package workers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// filesAsset is the name under which Prepare gives what is known of static files, as JSON of type prepared.
const filesAsset = "assets"

const (
	// The limits of https://developers.cloudflare.com/workers/static-assets/#limitations: files, and bytes of one.
	mostFiles = 20_000
	mostBytes = 25 << 20

	htmlHandling = "auto-trailing-slash" // where nothing else is said

	ignoreFile, headersFile, redirectsFile = ".assetsignore", "_headers", "_redirects"
)

// prepared is what is known of the static files of a Worker.
type prepared struct {
	// Manifest has the files by their addresses.
	Manifest map[string]staticFile
	// Headers and Redirects are the texts of _headers and _redirects.
	Headers, Redirects string
	// Directory is where the files lie, absolute. It is no part of what is compared.
	Directory string
}

// staticFile is one file, as the upload session wants to know of it.
type staticFile struct {
	Hash string `json:"hash"`
	Size int64  `json:"size"`
}

func checkAssets(want WorkerProps) props.Errors {
	var problems props.Errors
	a := want.Assets
	switch {
	case a == nil && needsAssets(want) && (want.Code == nil || want.Code.Build == ""):
		problems.Wrong("assets", "is required: a binding is to them")
	case a != nil && want.Code == nil && (a.RunWorkerFirst || len(a.RunWorkerFirstAt) > 0):
		problems.Wrong("assets.runWorkerFirst", "there is no code to run")
	case a != nil && a.RunWorkerFirst && len(a.RunWorkerFirstAt) > 0:
		problems.Wrong("assets.runWorkerFirstAt", "runWorkerFirst is everywhere")
	}
	if want.Code == nil && len(want.Env)+len(want.Bindings)+len(want.DurableObjects)+len(want.Crons)+len(want.TailConsumers) > 0 {
		problems.Wrong("code", "is required with env, bindings, durableObjects, crons or tailConsumers")
	}
	return problems
}

// prepareFiles reads the static files and writes down what is known of them.
func prepareFiles(ctx context.Context, work reconcile.Workspace, a *Assets) (map[string]reconcile.Asset, error) {
	if a == nil || token.Has(a.Directory) {
		return nil, nil
	}
	p := prepared{Manifest: map[string]staticFile{}, Directory: within(work.Dir, a.Directory)}
	work.Reads(p.Directory)
	if err := p.read(ctx); err != nil {
		return nil, fmt.Errorf("assets.directory: %w", err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	kept, err := asset.Keep(ctx, work, "assets", text)
	kept.Digest = p.digest()
	kept.Files = p.files()
	return map[string]reconcile.Asset{filesAsset: kept}, err
}

// digest tells one set of files from another, wherever they lie.
func (p prepared) digest() string {
	told := p
	told.Directory = ""
	text, _ := json.Marshal(told) // maps of text
	return digestOf(string(text))
}

// files are the static files with what is said of them.
func (p prepared) files() *reconcile.Files {
	digests, size := map[string]string{}, int64(0)
	for name, f := range p.Manifest {
		digests[strings.TrimPrefix(name, "/")] = f.Hash
		size += f.Size
	}
	for name, text := range map[string]string{headersFile: p.Headers, redirectsFile: p.Redirects} {
		if text != "" {
			digests[name] = digestOf(text)
			size += int64(len(text))
		}
	}
	return asset.List(digests, size)
}

func (p *prepared) read(ctx context.Context) error {
	text := func(name string) (string, error) {
		data, err := localfile.ReadFile(ctx, filepath.Join(p.Directory, name))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return string(data), err
	}
	var err error
	if p.Headers, err = text(headersFile); err != nil {
		return err
	}
	if p.Redirects, err = text(redirectsFile); err != nil {
		return err
	}
	lines, err := text(ignoreFile)
	if err != nil {
		return err
	}
	ignore := asset.ReadIgnore("/" + ignoreFile + "\n/" + headersFile + "\n/" + redirectsFile + "\n" + lines)
	if err := localfile.Check(ctx, p.Directory); err != nil {
		return err
	}
	return filepath.WalkDir(p.Directory, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(p.Directory, at)
		if err != nil {
			return err
		}
		return p.add(ctx, at, filepath.ToSlash(rel), d, ignore)
	})
}

// add takes a file in. Links are left out, as wrangler does, and a _worker.js is refused, since it is code.
func (p *prepared) add(ctx context.Context, at, rel string, d fs.DirEntry, ignore asset.Ignore) error {
	excluded := rel != "." && ignore.Excludes(rel, d.IsDir(), false)
	switch {
	case rel == "." && !d.IsDir():
		return &asset.PathError{Path: at, Problem: "not a folder"}
	case d.IsDir() && excluded:
		return fs.SkipDir
	case d.IsDir(), excluded, !d.Type().IsRegular():
		return nil
	case rel == "_worker.js" || strings.HasPrefix(rel, "_worker.js/"):
		return &asset.PathError{Path: at, Problem: "everybody could read this code; name it in " + ignoreFile}
	case strings.HasPrefix(path.Base(rel), varsFile) || strings.HasPrefix(path.Base(rel), ".env"):
		return &asset.PathError{Path: at, Problem: "everybody could read these variables; name it in " + ignoreFile}
	}
	data, err := localfile.ReadFile(ctx, at)
	if err != nil {
		return err
	}
	if len(data) > mostBytes {
		return &asset.PathError{Path: at, Problem: fmt.Sprintf("has %d bytes, and Cloudflare takes %d", len(data), mostBytes)}
	}
	p.Manifest["/"+rel] = staticFile{hashOf(rel, data), int64(len(data))}
	if len(p.Manifest) > mostFiles {
		return &asset.PathError{Path: p.Directory, Problem: fmt.Sprintf("has more than the %d files that Cloudflare takes", mostFiles)}
	}
	return nil
}

// hashOf names a file by its content and its ending, which tells its content type: 32 hexadecimal digits, as
// https://developers.cloudflare.com/workers/static-assets/direct-upload/ makes them.
func hashOf(name string, data []byte) string {
	h := sha256.New()
	h.Write([]byte(base64.StdEncoding.EncodeToString(data)))
	h.Write([]byte(strings.TrimPrefix(path.Ext(name), ".")))
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// config is what the upload says of the files.
func (a *Assets) config(p prepared) map[string]any {
	c := map[string]any{}
	if a.HTMLHandling != nil && *a.HTMLHandling != htmlHandling {
		c["html_handling"] = *a.HTMLHandling
	}
	if a.NotFoundHandling != "" {
		c["not_found_handling"] = a.NotFoundHandling
	}
	switch {
	case len(a.RunWorkerFirstAt) > 0:
		c["run_worker_first"] = a.RunWorkerFirstAt
	case a.RunWorkerFirst:
		c["run_worker_first"] = true
	}
	if p.Headers != "" {
		c["_headers"] = p.Headers
	}
	if p.Redirects != "" {
		c["_redirects"] = p.Redirects
	}
	return c
}

// filesDigest tells one set of files, and what is said of them, from another; ok is false while something is not known.
func (a *Assets) filesDigest(asset func(string) (reconcile.Asset, bool)) (digest string, ok bool) {
	if a == nil {
		return "", true
	}
	files, ok := asset(filesAsset)
	config, _ := json.Marshal(a.config(prepared{})) // texts and truths
	return digestOf(files.Digest, string(config)), ok && !token.Has(string(config))
}

// readPrepared reads what Prepare wrote down.
func readPrepared(assets map[string]reconcile.Asset) (prepared, error) {
	var p prepared
	file, ok := assets[filesAsset]
	if !ok {
		return p, errNoFiles
	}
	text, err := os.ReadFile(file.Path)
	if err != nil {
		return p, err
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&p); err != nil {
		return p, err
	}
	if p.digest() != file.Digest {
		return p, &asset.PathError{Path: file.Path, Problem: "changed while it was read"}
	}
	return p, nil
}

var errNoFiles = errors.New("the static files are not known yet")
