package workers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/cloudflare"
)

// readUploaded reads the modules of a version that somebody else uploaded, and notes in live where they are those that an upload would
// have: equal code is not uploaded once more. It also notes that the version has no static files, which the list of Workers shows; which
// files a version has is shown nowhere. Static files of a build are asked for before the build ran too, when it is not known whether it
// has any.
func readUploaded(ctx context.Context, site workerSite, live *liveWorker) error {
	assets := from(site.Assets)
	code := site.Want.resolved(assets).Code
	digest, known := code.digest(assets)
	_, _, ofBuild := site.Want.ofBuild()
	if code == nil || !known && !ofBuild {
		return nil
	}
	if known && live.content.code == "" {
		wanted, err := modules(code, site.Assets)
		if err != nil {
			return err
		}
		uploaded, err := readModules(ctx, site, live)
		if err != nil {
			return err
		}
		if live.alike = sameModules(uploaded, wanted); live.alike {
			live.content.code = either(digest)
		} else if !ofBuild {
			return nil
		}
	}
	if live.content.files != "" || site.Want.Assets != nil || live.stable != "" {
		return nil
	}
	list, err := listScripts(ctx, site.Cloud, live.account)
	if err != nil {
		return cloudflare.NotYet(err)
	}
	for _, w := range list {
		if w.ID == live.name && w.ETag == live.version.Resources.Script.ETag && w.HasAssets != nil && !*w.HasAssets {
			live.content.files = noDigest
		}
	}
	return nil
}

// readModules reads the modules of the live version, the one that is begun with first; none of one that has no modules. wrangler reads them so,
// to upload them again with another secret: parseModules of its versions/secrets/index.ts.
func readModules(ctx context.Context, site workerSite, live *liveWorker) ([]module, error) {
	header, content, err := cloudflare.Download(ctx, site.Cloud, live.request(http.MethodGet, "/content/v2?version="+url.QueryEscape(live.version.ID), nil))
	if err != nil {
		return nil, cloudflare.NotYet(err)
	}
	kind, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	main := header.Get("Cf-Entrypoint")
	if err != nil || kind != "multipart/form-data" || main == "" {
		return nil, nil
	}
	var all []module
	for parts := multipart.NewReader(bytes.NewReader(content), params["boundary"]); ; {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("code of %s: %w", live.name, err)
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return nil, fmt.Errorf("code of %s: %w", live.name, err)
		}
		m := module{part.FormName(), part.Header.Get("Content-Type"), text}
		if m.name == main {
			all = slices.Insert(all, 0, m)
		} else {
			all = append(all, m)
		}
	}
}

// sameModules reports whether two uploads run alike. The name of an only module does not count: nothing else imports it.
func sameModules(one, other []module) bool {
	if len(one) != len(other) {
		return false
	}
	if len(one) == 1 {
		return one[0].same(other[0])
	}
	for i, m := range one {
		n := slices.IndexFunc(other, func(o module) bool { return o.name == m.name })
		if n < 0 || (n == 0) != (i == 0) || !m.same(other[n]) {
			return false
		}
	}
	return true
}

// same reports whether two modules are alike but for their names. The types of scripts have two forms,
// https://developers.cloudflare.com/workers/configuration/multipart-upload-metadata/.
func (m module) same(other module) bool {
	form := func(kind string) string {
		kind, _, _ = strings.Cut(kind, ";")
		return strings.Replace(strings.TrimSpace(kind), "text/javascript", "application/javascript", 1)
	}
	return form(m.kind) == form(other.kind) && bytes.Equal(m.content, other.content)
}
