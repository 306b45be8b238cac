package service_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// browser is one browser with its cookies.
type browser struct {
	t      *testing.T
	url    string
	client *http.Client
}

func (b *browser) get(path string) (int, string) {
	b.t.Helper()
	answer, err := b.client.Get(b.url + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// post sends a form with the token of the page that the path names.
func (b *browser) post(from, to string, form url.Values) (int, string) {
	b.t.Helper()
	_, body := b.get(from)
	if token := regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`).FindStringSubmatch(body); token != nil {
		form.Set("csrf", token[1])
	}
	answer, err := b.client.PostForm(b.url+to, form)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// TestPages signs browsers in with tokens of two roles: each sees and may what its token may, what it does is in the audit log,
// and a revoked token ends its session.
func TestPages(t *testing.T) {
	store, err := bolt.Open(filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	prod, staging := statestore.Stage{Stack: "shop", Name: "prod"}, statestore.Stage{Stack: "shop", Name: "staging"}
	for _, stage := range []statestore.Stage{prod, staging} {
		if _, err := store.Acquire(t.Context(), stage, statestore.Claim{Run: "20261123-103104-K4TQZE", Command: "deploy", User: "ada", TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	s := service.New(t.Context(), store, service.Settings{})
	server := httptest.NewServer(s)
	t.Cleanup(func() { s.Stop(); server.Close() })
	tokens := service.NewTokens(store, time.Now)
	token := func(name, role, on string) wire.Token {
		t.Helper()
		token, err := tokens.Create(t.Context(), wire.Author{Account: "test"}, name, []wire.Grant{{Role: role, On: on}}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	open := func() *browser {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		return &browser{t, server.URL, &http.Client{Jar: jar}}
	}
	const run = "/runs/20261123-103104-K4TQZE"

	reader := open()
	if status, body := reader.get("/s/shop/prod"); status != http.StatusUnauthorized || strings.Contains(body, "ada") || !strings.Contains(body, `name="next" value="/s/shop/prod"`) {
		t.Errorf("without a session: %d\n%s", status, body)
	}
	if status, body := reader.post("/", "/signin", url.Values{"token": {"ath_wrong_wrong"}}); status != http.StatusUnauthorized || !strings.Contains(body, "unknown, expired or revoked") {
		t.Errorf("a wrong token: %d", status)
	}
	readers := token("watch", "reader", "shop/prod")
	if status, body := reader.post("/s/shop/prod", "/signin", url.Values{"token": {readers.Secret}, "next": {"//evil.example/"}}); status != http.StatusOK || !strings.Contains(body, "/s/shop/prod") || strings.Contains(body, "staging") {
		t.Errorf("a reader: %d\n%s", status, body)
	}
	for path, want := range map[string]int{"/s/shop/prod": 200, "/s/shop/prod" + run: 200, "/s/shop/staging": 403, "/s/shop/prod" + run + "/cancel": 403, "/tokens": 404, "/audit": 404} {
		if status, body := reader.get(path); status != want || strings.Contains(body, readers.Secret) {
			t.Errorf("a reader: %s: %d, want %d", path, status, want)
		}
	}

	chief := open()
	chief.post("/", "/signin", url.Values{"token": {token("chief", "admin", "*/*").Secret}})
	if status, _ := chief.post("/s/shop/prod"+run+"/cancel", "/s/shop/prod"+run+"/cancel", url.Values{}); status != http.StatusOK {
		t.Errorf("cancel: %d", status)
	}
	if runs, err := store.Runs(t.Context(), prod, 1); err != nil || !runs[0].Cancelled {
		t.Errorf("the run was not asked to stop: %v %v", runs, err)
	}
	if _, body := chief.get("/audit?stack=shop"); !strings.Contains(body, "run.cancel") || !strings.Contains(body, "token chief") {
		t.Errorf("the audit log: %s", body)
	}
	status, body := chief.post("/tokens", "/tokens", url.Values{"name": {"ci"}, "role": {"deployer"}, "on": {"shop/*"}, "days": {"7"}})
	secret := regexp.MustCompile(`ath_[0-9a-f]+_[A-Za-z0-9_-]+`).FindString(body)
	if status != http.StatusOK || secret == "" {
		t.Errorf("a token: %d\n%s", status, body)
	}
	if _, body := chief.get("/tokens"); !strings.Contains(body, ">ci<") || strings.Contains(body, secret) {
		t.Errorf("the tokens: %s", body)
	}
	if status, body := chief.post("/tokens", "/tokens", url.Values{"name": {"ci"}, "role": {"king"}, "on": {"shop/*"}, "days": {"7"}}); status != 422 || !strings.Contains(body, "king") {
		t.Errorf("a wrong role: %d", status)
	}
	if status, _ := chief.post("/tokens", "/tokens/revoke", url.Values{"token": {readers.ID}}); status != http.StatusOK {
		t.Errorf("revoke: %d", status)
	}
	if status, _ := reader.get("/s/shop/prod"); status != http.StatusUnauthorized {
		t.Errorf("with a revoked token: %d", status)
	}
	chief.post("/", "/signout", url.Values{})
	if status, _ := chief.get("/"); status != http.StatusUnauthorized {
		t.Errorf("after signing out: %d", status)
	}
	// The token of a cookie is none for the protocol, so that no other site can use it there.
	if status, body := chief.get("/v1/stages"); status != http.StatusUnauthorized || !strings.HasPrefix(body, "{") {
		t.Errorf("the protocol with a cookie: %d", status)
	}
}
