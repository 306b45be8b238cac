package awstest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/athanor-dev/athanor/providers/wiretest"
)

// Front stands between a test's clients and its cloud, for what AWS is documented to do and moto does not. Every
// call still reaches the proxy that counts and breaks it.
type Front struct {
	// URL is the endpoint for clients.
	URL string

	cloud   *Server
	origin  *url.URL
	forward http.RoundTripper
}

// Before starts a front whose requests go to handler, which passes them on with [Front.Send]. It ends with the test.
func Before(t testing.TB, cloud *Server, handler http.Handler) *Front {
	t.Helper()
	origin, err := url.Parse(cloud.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	return &Front{URL: server.URL, cloud: cloud, origin: origin, forward: transport}
}

// Direct is the way to a cloud without a front.
func (s *Server) Direct() Direct { return Direct{s} }

// Direct leads clients to a cloud itself. See [Server.Direct].
type Direct struct{ cloud *Server }

// Observed is [Server.ObservedConfig].
func (d Direct) Observed(t testing.TB) aws.Config { return d.cloud.ObservedConfig(t) }

// Outside is [Server.Config].
func (d Direct) Outside(t testing.TB) aws.Config { return d.cloud.Config(t) }

// Observed is [Server.ObservedConfig] through the front: for the tested code.
func (f *Front) Observed(t testing.TB) aws.Config { return f.through(f.cloud.ObservedConfig(t)) }

// Outside is [Server.Config] through the front: for somebody else, whose calls are neither counted nor broken.
func (f *Front) Outside(t testing.TB) aws.Config { return f.through(f.cloud.Config(t)) }

func (f *Front) through(cfg aws.Config) aws.Config {
	cfg.BaseEndpoint = &f.URL
	return cfg
}

// Send passes a request on to the cloud, with another body unless that is nil. Without an answer the error says so, and
// the handler gives none either: panic(http.ErrAbortHandler).
func (f *Front) Send(r *http.Request, body []byte) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = f.origin.Scheme, f.origin.Host, ""
	if body != nil {
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		out.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	return f.forward.RoundTrip(out)
}

// Exchange is [Front.Send] with the whole answer. The status is 0 when there was none; effect tells whether the request
// reached the cloud, and so may have had its effect.
func (f *Front) Exchange(r *http.Request, body []byte) (status int, header http.Header, answer []byte, effect bool) {
	res, err := f.Send(r, body)
	if wiretest.FromOutside(r) {
		effect = err == nil
	} else {
		effect = f.reached(r.Method, r.URL.RequestURI(), body)
	}
	if err != nil {
		return 0, nil, nil, effect
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	if err != nil {
		return 0, nil, nil, effect
	}
	return res.StatusCode, res.Header, answer, effect
}

// reached reports that the last recorded call like this one went through.
func (f *Front) reached(method, uri string, body []byte) bool {
	for _, c := range slices.Backward(f.cloud.Calls()) {
		if c.Method == method && c.URI == uri && bytes.Equal(c.Body, body) {
			return c.Forwarded
		}
	}
	return false
}
