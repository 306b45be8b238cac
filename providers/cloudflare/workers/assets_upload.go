package workers

import (
	"context"
	"encoding/base64"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

// mostUploads is how many parts of a session are uploaded at once, as wrangler does.
const mostUploads = 3

// uploadFiles tells Cloudflare of all files, uploads those that it has not had, and gives what stands for them in the
// upload of the Worker. A session that ends too early is begun anew by whoever repeats the call: what arrived stays.
func uploadFiles(ctx context.Context, cloud reconcile.Cloud, t target, p prepared) (ticket string, err error) {
	var session struct {
		JWT     string
		Buckets [][]string
	}
	err = cloudflare.Call(ctx, cloud, t.request(http.MethodPost, "/assets-upload-session", map[string]any{"manifest": p.Manifest}), &session)
	if err != nil {
		return "", err
	}
	byHash := map[string]string{}
	for at, file := range p.Manifest {
		byHash[file.Hash] = at
	}
	tickets := make(chan string, len(session.Buckets))
	together, ctx := errgroup.WithContext(ctx)
	together.SetLimit(mostUploads)
	for _, bucket := range session.Buckets {
		together.Go(func() error {
			body, err := p.form(bucket, byHash)
			if err != nil {
				return err
			}
			var answer struct{ JWT string }
			err = cloudflare.Call(ctx, cloud, cloudflare.Request{
				Method: http.MethodPost, Path: "/accounts/" + t.account + "/workers/assets/upload?base64=true", Body: body, Token: session.JWT,
			}, &answer)
			if err == nil && answer.JWT != "" { // the one that arrives last says so
				tickets <- answer.JWT
			}
			return err
		})
	}
	if err := together.Wait(); err != nil {
		return "", err
	}
	select {
	case ticket = <-tickets:
		return ticket, nil
	default:
		return session.JWT, nil // nothing was missing
	}
}

// form is the body that carries the files with these hashes.
func (p prepared) form(hashes []string, byHash map[string]string) (cloudflare.Form, error) {
	return cloudflare.NewForm(func(form *multipart.Writer) error {
		for _, hash := range hashes {
			at, ok := byHash[hash]
			if !ok {
				return fmt.Errorf("a file is asked for that was not told of: %s", hash)
			}
			file := filepath.Join(p.Directory, filepath.FromSlash(at))
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if hashOf(at, data) != hash {
				return &asset.PathError{Path: file, Problem: "changed while it was read"}
			}
			if err := addPart(form, hash, contentType(at), []byte(base64.StdEncoding.EncodeToString(data))); err != nil {
				return err
			}
		}
		return nil
	})
}

// contentType is what a file is served as, by the ending of its name: "application/null" has none. It is the same on every
// machine.
func contentType(name string) string {
	if known, ok := contentTypes[path.Ext(name)]; ok {
		return known
	}
	return "application/null"
}

// contentTypes are those of wrangler, for endings that are used on the web.
var contentTypes = map[string]string{
	".avif": "image/avif", ".bmp": "image/bmp", ".css": "text/css; charset=utf-8", ".csv": "text/csv; charset=utf-8",
	".gif": "image/gif", ".gz": "application/gzip", ".htm": "text/html; charset=utf-8", ".html": "text/html; charset=utf-8",
	".ico": "image/vnd.microsoft.icon", ".ics": "text/calendar; charset=utf-8", ".jpeg": "image/jpeg", ".jpg": "image/jpeg",
	".js": "text/javascript; charset=utf-8", ".json": "application/json", ".jsonld": "application/ld+json",
	".m4a": "audio/mp4", ".map": "application/json", ".md": "text/markdown; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".mp3": "audio/mpeg", ".mp4": "video/mp4", ".mpeg": "video/mpeg", ".oga": "audio/ogg", ".ogg": "audio/ogg", ".ogv": "video/ogg",
	".otf": "font/otf", ".pdf": "application/pdf", ".png": "image/png", ".rss": "application/rss+xml",
	".svg": "image/svg+xml", ".tar": "application/x-tar", ".tif": "image/tiff", ".tiff": "image/tiff", ".ttf": "font/ttf",
	".txt": "text/plain; charset=utf-8", ".wasm": "application/wasm", ".wav": "audio/wav", ".weba": "audio/webm",
	".webm": "video/webm", ".webmanifest": "application/manifest+json", ".webp": "image/webp", ".woff": "font/woff",
	".woff2": "font/woff2", ".xhtml": "application/xhtml+xml", ".xml": "text/xml; charset=utf-8", ".yaml": "text/yaml; charset=utf-8",
	".yml": "text/yaml; charset=utf-8", ".zip": "application/zip",
}
