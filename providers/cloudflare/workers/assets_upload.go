package workers

import (
	"context"
	"encoding/base64"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor/asset"
	"github.com/athanor-dev/athanor/asset/mediatype"
	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
)

// mostUploads is how many parts of a session are uploaded at once, as wrangler does.
const mostUploads = 3

// uploadFiles tells Cloudflare of all files, uploads those that it has not had, and gives what stands for them in the
// upload of the Worker. A session that ends too early is begun anew by the code that repeats the call: what arrived
// stays.
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
				return fmt.Errorf("a file is asked for that was not announced: %s", hash)
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

// contentType gives what Cloudflare serves a file as: with "application/null" it sends no type.
func contentType(name string) string {
	if known, ok := mediatype.Of(name); ok {
		return known
	}
	return "application/null"
}
