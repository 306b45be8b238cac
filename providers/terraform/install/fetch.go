package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

const (
	// maxDocument bounds what a registry answers beside packages, in bytes; maxRedirects how often it may send us on.
	maxDocument  = 16 << 20
	maxRedirects = 5
)

// ErrNotFound says that a registry or mirror does not have what it was asked for.
var ErrNotFound = errors.New("not found")

// newClient is a client for registries. It carries no credentials. It follows redirections, to other hosts as well since what comes is
// held against hashes, but none that gives up encryption.
func newClient() *http.Client {
	c := reconcile.NewHTTPClient()
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("it redirects more than %d times", maxRedirects)
		}
		return checkAddress(req.URL)
	}
	return c
}

// checkAddress refuses addresses that are neither encrypted nor on this machine.
func checkAddress(u *url.URL) error {
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return fmt.Errorf("%s: providers come by https alone", u.Redacted())
	}
	return nil
}

// open asks for an address, relative to another.
func (in *Installer) open(ctx context.Context, base *url.URL, at string) (*http.Response, *url.URL, error) {
	u, err := base.Parse(at)
	if err != nil {
		return nil, nil, err
	}
	if err := checkAddress(u); err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	res, err := in.client().Do(req)
	if err != nil {
		return nil, nil, reconcile.WithHint(err, "without a network a provider is used that is locked and was installed before; $%s may name a mirror", MirrorVariable)
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		err := fmt.Errorf("%s: %s", u.Redacted(), res.Status)
		if res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone {
			err = fmt.Errorf("%s: %w", u.Redacted(), ErrNotFound)
		}
		return nil, nil, err
	}
	return res, res.Request.URL, nil
}

// text reads a small answer.
func (in *Installer) text(ctx context.Context, base *url.URL, at string) ([]byte, error) {
	res, u, err := in.open(ctx, base, at)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", u.Redacted(), err)
	case len(data) > maxDocument:
		return nil, fmt.Errorf("%s: the answer is larger than %d MiB", u.Redacted(), maxDocument>>20)
	}
	return data, nil
}

// document reads an answer in JSON, and returns the address that it came from: other addresses in it are relative to that.
func (in *Installer) document(ctx context.Context, base *url.URL, at string, into any) (*url.URL, error) {
	res, u, err := in.open(ctx, base, at)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(io.LimitReader(res.Body, maxDocument)).Decode(into); err != nil {
		kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
		return nil, fmt.Errorf("%s answers something else than the registry's JSON (%s): %w", u.Redacted(), kind, err)
	}
	return u, nil
}

// download writes a package into a file and returns its hash.
func (in *Installer) download(ctx context.Context, base *url.URL, at string, to *os.File) (hash string, err error) {
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	res, u, err := in.open(ctx, base, at)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	return copyHashed(to, res.Body, u.Redacted())
}

// downloadTimeout bounds the download of a package of hundreds of megabytes by a slow line.
const downloadTimeout = 30 * time.Minute

// copyHashed copies a package and returns its hash.
func copyHashed(to io.Writer, from io.Reader, name string) (string, error) {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(from, maxPackage+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", name, err)
	case n > maxPackage:
		return "", fmt.Errorf("%s: %w: it is larger than %d GiB", name, errPackage, maxPackage>>30)
	}
	return "zh:" + hex.EncodeToString(sum.Sum(nil)), nil
}
