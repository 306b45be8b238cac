//go:build peers

package login_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/cmd/internal/login"
	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/remote"
)

// TestProvider: people sign in at a real OpenID provider (npm oidc-provider, in the folder $ATHANOR_OIDC), and the rules of the
// service give them the rights of their groups.
func TestProvider(t *testing.T) {
	folder := os.Getenv("ATHANOR_OIDC")
	if folder == "" {
		t.Fatal("$ATHANOR_OIDC names no folder with oidc-provider (task service)")
	}
	node := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "provider.mjs"), folder)
	node.Stderr = os.Stderr
	out, err := node.StdoutPipe()
	if err == nil {
		err = node.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = node.Process.Kill(); _ = node.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	issuer := strings.TrimSpace(line)

	store, err := bolt.Open(filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	settings := service.Settings{OIDC: &service.OIDC{Issuers: []service.Issuer{{
		Issuer: issuer, ClientID: "athanor", Scopes: []string{"groups"},
		Rules: []service.Rule{{Claims: map[string]string{"groups": "platform"}, Role: "admin", On: "*/*"}},
	}}}, Log: func(method, path string, err error) { t.Logf("%s %s: %v", method, path, err) }}
	if err := settings.OIDC.Check(); err != nil {
		t.Fatal(err)
	}
	s := service.New(t.Context(), store, settings)
	server := httptest.NewServer(s)
	t.Cleanup(func() { s.Stop(); server.Close(); store.Close() })

	token, err := login.SignIn(t.Context(), server.URL, func(address string) { browse(t, address, "ann") })
	if err != nil {
		t.Fatal(err)
	}
	client, err := remote.Open(server.URL, func(string) (string, error) { return token, nil })
	if err != nil {
		t.Fatal(err)
	}
	about, err := client.Service(t.Context())
	if err != nil || len(about.Grants) != 1 || about.Grants[0].Role != "admin" {
		t.Errorf("%+v, %v", about, err)
	}
	if _, err := login.SignIn(t.Context(), server.URL, func(address string) { browse(t, address, "eve") }); err == nil {
		t.Error("somebody of no group was let in")
	}
}

var action = regexp.MustCompile(`action="([^"]+)"`)

// browse signs somebody in like a browser: it follows, fills in the form, consents, and comes back.
func browse(t *testing.T, address, who string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	res, err := browser.Get(address) //nolint:noctx // it ends with the provider
	for _, form := range []url.Values{{"prompt": {"login"}, "login": {who}, "password": {"x"}}, {"prompt": {"consent"}}} {
		if err != nil {
			t.Fatal(err)
		}
		page, reading := io.ReadAll(res.Body)
		_ = res.Body.Close()
		found := action.FindSubmatch(page)
		if reading != nil || found == nil {
			t.Fatalf("%s: %v\n%s", res.Request.URL, reading, page)
		}
		target, parsing := res.Request.URL.Parse(string(found[1]))
		if parsing != nil {
			t.Fatal(parsing)
		}
		res, err = browser.PostForm(target.String(), form) //nolint:noctx // it ends with the provider
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
}
