package cloudflaretest

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/miniflare"
	"github.com/athanor-dev/athanor/providers/wiretest"
)

// Server is one test's Cloudflare, behind a proxy that records and breaks calls.
type Server struct {
	*wiretest.Proxy

	// URL is the endpoint, "http://127.0.0.1:PORT/client/v4".
	URL string
	// Account is the id of the only account that the token reaches, and AccountName its name.
	Account, AccountName string
	// Token is the API token.
	Token string

	world *world
	close func()

	local  *miniflare.Server // nil until something runs
	filled map[string]int    // databases that it has, each with how many statements
}

// Start gives the test a Cloudflare with one account and nothing in it.
func Start(t testing.TB) *Server {
	t.Helper()
	s := serve(load(t), nil, t)
	t.Cleanup(s.close)
	return s
}

// Serve is [Start] for a program: it listens where listener does until close is called. What no call may do, what the server
// itself does wrong and what Workers print goes to a reporter.
func Serve(listener net.Listener, report Reporter) (s *Server, closeServer func(), err error) {
	found := loaded()
	if found.err != nil {
		return nil, nil, found.err
	}
	s = serve(found.catalog, listener, report)
	endDatabases, err := s.startDatabases()
	switch {
	case errors.Is(err, errNoPython):
		report.Log(err)
		return s, s.close, nil
	case err != nil:
		s.close()
		return nil, nil, err
	}
	return s, func() {
		s.close()
		endDatabases()
	}, nil
}

// Reporter is told what goes wrong, and what Workers print. A testing.TB is one.
type Reporter interface {
	Errorf(format string, args ...any)
	Log(args ...any)
}

// serve starts a server, at a port of its own where there is no listener.
func serve(c *catalog, listener net.Listener, report Reporter) *Server {
	w := &world{report: report, catalog: c, handlers: all(), token: newToken(), accounts: map[string]string{}, files: map[string]asset{}, tailMade: make(chan struct{}), images: newImages()}
	account := hexID(16)
	w.accounts[account] = "Example"
	w.subdomains = map[string]string{account: "example"}
	proxy := wiretest.New(w)
	routes := http.NewServeMux()
	routes.Handle("/", proxy)
	routes.HandleFunc(tailPath, w.serveTail)
	routes.Handle("/v2/", w.images)
	front := httptest.NewUnstartedServer(routes)
	if listener != nil {
		_ = front.Listener.Close()
		front.Listener = listener
	}
	front.Start()
	w.url, w.images.host = front.URL, front.Listener.Addr().String()
	return &Server{
		Proxy: proxy, URL: front.URL + prefix, Account: account, AccountName: "Example", Token: w.token, world: w,
		close: func() {
			proxy.Close()
			w.endTails()
			front.CloseClientConnections()
			front.Close()
			w.end()
		},
	}
}

// newToken is a token of the form that Cloudflare's have: 40 characters of [A-Za-z0-9_-], https://developers.cloudflare.com/api/tokens/.
func newToken() string { return hexID(20) }

const prefix = "/client/v4"

// hexID is an id of n random bytes.
func hexID(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Cloud is a handle of the account, for the tested code.
func (s *Server) Cloud() *cloudflare.Cloud { return cloudflare.FromToken(s.URL, s.Token, s.Account) }

// AddAccount makes the token reach a further account, and gives its id.
func (s *Server) AddAccount(name string) string {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	id := hexID(16)
	s.world.accounts[id] = name
	return id
}

// Env is the environment that leads Cloudflare's tools, and athanor, here and nowhere else.
func (s *Server) Env() map[string]string {
	env := map[string]string{}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "CLOUDFLARE_") || strings.HasPrefix(name, "CF_") || strings.HasPrefix(name, "WRANGLER_") {
			env[name] = ""
		}
	}
	maps.Copy(env, map[string]string{
		"CLOUDFLARE_API_BASE_URL": s.URL, "CLOUDFLARE_API_TOKEN": s.Token, "CLOUDFLARE_ACCOUNT_ID": s.Account,
	})
	return env
}

// Names are what differs from one server to the next, by what stands for it in golden files.
func (s *Server) Names() map[string]string {
	return map[string]string{"ACCOUNT": s.Account, "ENDPOINT": s.URL}
}

// Setenv sets the environment of [Server.Env] for the rest of the test.
func (s *Server) Setenv(t testing.TB) {
	t.Helper()
	for name, value := range s.Env() {
		t.Setenv(name, value)
	}
}

// T is the part of testing.TB that [Server.Do] uses.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Do is a call of somebody else, neither recorded nor broken, and what it answers. The path is below the endpoint, with
// ACCOUNT for the account. An answer that is an error fails the test.
func (s *Server) Do(t T, method, path string, body any) any {
	t.Helper()
	return s.DoWith(t, method, path, nil, body)
}

// DoWith is [Server.Do] with a header.
func (s *Server) DoWith(t T, method, path string, header http.Header, body any) any {
	t.Helper()
	status, envelope := s.TryWith(t, method, path, header, body)
	if status >= 300 {
		t.Fatalf("%s %s: %d %v", method, path, status, envelope["errors"])
	}
	return envelope["result"]
}

// TryWith is [Server.DoWith] whose answer may be an error.
func (s *Server) TryWith(t T, method, path string, header http.Header, body any) (status int, envelope map[string]any) {
	t.Helper()
	if body == nil {
		return s.send(t, method, path, header, "", nil)
	}
	return s.send(t, method, path, header, "application/json", plain(body))
}

// send is a call of somebody else with a body of any kind, "" for none.
func (s *Server) send(t T, method, path string, header http.Header, kind string, body []byte) (status int, envelope map[string]any) {
	t.Helper()
	req, err := http.NewRequest(method, s.URL+strings.Replace(path, "ACCOUNT", s.Account, 1), bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Authorization", "Bearer "+s.Token)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := wiretest.Outsider{Next: transport}.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&envelope); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return res.StatusCode, envelope
}
