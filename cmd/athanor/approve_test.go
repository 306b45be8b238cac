//go:build unix

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// provider is an OpenID provider that believes everybody to be who they say.
type provider struct {
	*httptest.Server
	who string
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	p := &provider{}
	var asked url.Values
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			answer = map[string]string{
				"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token",
			}
		case "/keys":
			answer = map[string]any{"keys": []any{map[string]string{"kid": "k", "kty": "EC", "crv": "P-256", "x": b64(point[1:33]), "y": b64(point[33:])}}}
		case "/auth":
			asked = r.URL.Query()
			http.Redirect(w, r, asked.Get("redirect_uri")+"?code=c&state="+asked.Get("state"), http.StatusFound)
			return
		case "/token":
			sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
			if r.FormValue("code") != "c" || b64(sum[:]) != asked.Get("code_challenge") {
				http.Error(w, "{}", http.StatusBadRequest)
				return
			}
			now := time.Now().Unix()
			claims, _ := json.Marshal(map[string]any{
				"iss": p.URL, "aud": asked.Get("client_id"), "sub": p.who, "name": p.who, "nonce": asked.Get("nonce"), "iat": now, "exp": now + 60, "jti": rand.Text(),
			})
			signed := b64([]byte(`{"alg":"ES256","kid":"k"}`)) + "." + b64(claims)
			digest := sha256.Sum256([]byte(signed))
			a, b, err := ecdsa.Sign(rand.Reader, key, digest[:])
			if err != nil {
				t.Error(err)
			}
			answer = map[string]string{"id_token": signed + "." + b64(append(a.FillBytes(make([]byte, 32)), b.FillBytes(make([]byte, 32))...))}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(p.Close)
	return p
}

// signIn signs somebody in with a browser, for a world.
func (p *provider) signIn(w *world, service, who string) {
	w.t.Helper()
	p.who = who
	login := w.start("athanor", "login", service, "--oidc")
	login.errs.until(w.t, "\n")
	_, address, _ := strings.Cut(strings.TrimSpace(login.errs.String()), "machine: ")
	res, err := http.Get(address) //nolint:noctx // it ends with the provider
	if err != nil {
		w.t.Fatal(err)
	}
	_ = res.Body.Close()
	login.end(0)
}

// TestApproval: on a stage that demands it, CI deploys what a person has approved, and exactly that.
func TestApproval(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	rules, _ := json.Marshal(map[string]any{"issuers": []any{map[string]any{
		"issuer": p.URL, "clientId": "athanor", "rules": []any{map[string]any{"claims": map[string]string{"sub": "u-*"}, "role": "admin", "on": "*/*"}},
	}}})
	s := &serving{world: newWorld(t, "stack: none\n"), store: "bolt:state.db", more: []string{"--oidc", "oidc.json"}}
	s.write("oidc.json", string(rules))
	s.begin("127.0.0.1:0")
	w := newWorld(t, "stack: shop\nresources:\n  first: {kind: local.File, props: {path: first.txt, content: one}}\n")
	w.env = append(w.env, "ATHANOR_STORE="+s.url)
	people := w.env
	robots := append(slices.Clip(people), "ATHANOR_TOKEN="+s.token("--name", "ci", "--role", "deployer"))
	p.signIn(w, s.url, "u-ann")
	w.run(0, "approve", "--require", "on")

	w.env = robots
	if _, errs, code := w.printed("", "deploy", "--yes"); code != 5 || !strings.Contains(errs, "plan --submit") {
		t.Errorf("without an approval: %d: %s", code, errs)
	}
	if w.has("first.txt") {
		t.Error("it was deployed without an approval")
	}
	submit := func() string {
		t.Helper()
		_, errs, code := w.printed("", "plan", "--submit")
		id := regexp.MustCompile(`submitted: plan ([0-9a-f]{12})`).FindStringSubmatch(errs)
		if code != 2 || id == nil {
			t.Fatalf("plan --submit: %d: %s", code, errs)
		}
		return id[1]
	}
	id := submit()
	if _, errs, code := w.printed("", "deploy", "--approved", id, "--yes"); code != 5 || !strings.Contains(errs, "waiting") {
		t.Errorf("before it is approved: %d: %s", code, errs)
	}
	if _, errs, code := w.printed("", "approve", id, "--yes"); code != 5 || !strings.Contains(errs, "person") {
		t.Errorf("a robot approves: %d: %s", code, errs)
	}
	p.signIn(w, s.url, "u-bob")
	w.env = people
	if list := w.run(0, "approve"); !strings.Contains(list, id+"  waiting") || !strings.Contains(list, "token ci") {
		t.Errorf("the list: %s", list)
	}
	// What is approved is what is planned anew: another program is another plan.
	w.write("athanor.yaml", "stack: shop\nresources:\n  first: {kind: local.File, props: {path: first.txt, content: two}}\n")
	if _, errs, code := w.printed("", "approve", id, "--yes"); code != 5 || !strings.Contains(errs, "another plan") {
		t.Errorf("another program: %d: %s", code, errs)
	}
	w.write("athanor.yaml", "stack: shop\nresources:\n  first: {kind: local.File, props: {path: first.txt, content: one}}\n")
	w.run(0, "approve", id, "--yes", "--note", "fine")

	w.env = robots
	w.write("athanor.yaml", "stack: shop\nresources:\n  first: {kind: local.File, props: {path: first.txt, content: three}}\n")
	if _, errs, code := w.printed("", "deploy", "--approved", id, "--yes"); code != 5 || !strings.Contains(errs, "not reviewed") {
		t.Errorf("another program: %d: %s", code, errs)
	}
	w.write("athanor.yaml", "stack: shop\nresources:\n  first: {kind: local.File, props: {path: first.txt, content: one}}\n")
	w.run(0, "deploy", "--approved", id, "--yes")
	if got := w.read("first.txt"); got != "one" {
		t.Errorf("deployed %q", got)
	}
	w.write("athanor.yaml", "stack: shop\nresources:\n  first: {kind: local.File, props: {path: first.txt, content: four}}\n")
	for _, command := range [][]string{{"deploy", "--yes"}, {"destroy", "--yes"}, {"state", "rm", "first", "--yes"}} {
		if _, errs, code := w.printed("", command...); code != 5 {
			t.Errorf("%v goes round the approval: %d: %s", command, code, errs)
		}
	}
	w.env = people
	id = func() string {
		w.env = robots
		defer func() { w.env = people }()
		w.write("athanor.yaml", "stack: shop\nresources: {}\n")
		return submit()
	}()
	// Who has the key sees the values of the submitted plan on the pages of this machine.
	ui := w.start("athanor", "ui", "--json")
	ui.out.until(t, "\n")
	var line struct{ URL string }
	if err := json.Unmarshal([]byte(ui.out.String()), &line); err != nil {
		t.Fatal(err)
	}
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar}
	base, _, _ := strings.Cut(line.URL, "/open")
	for _, path := range []string{line.URL, base + "/s/shop/dev-tester/plans/" + id} {
		res, err := browser.Get(path) //nolint:noctx // it ends with the process
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if path != line.URL && (!strings.Contains(string(body), "waits for approval") || !strings.Contains(string(body), "first.txt") || strings.Contains(string(body), "As claimed")) {
			t.Errorf("%s: %s\n%s", path, res.Status, body)
		}
	}
	w.run(0, "approve", id, "--reject", "--note", "no")
	if list := w.run(0, "approve"); !strings.Contains(list, id+"  rejected") {
		t.Errorf("the list: %s", list)
	}
	// Two people who are admin switch approvals off together.
	if _, errs, code := w.printed("", "stage", "set", "approval=off"); code != 5 || !strings.Contains(errs, "second admin") {
		t.Errorf("one admin alone: %d: %s", code, errs)
	}
	p.signIn(w, s.url, "u-ann")
	if said := w.run(0, "stage", "set", "approval=off", "private=on", "."); said != "shop/dev-tester: approval is off\nshop/dev-tester: private is on\n" {
		t.Errorf("stage set: %s", said)
	}
	if said := w.run(0, "stage", "set", "retention=400d12h", "."); said != "shop/dev-tester: retention is 400d12h\n" {
		t.Errorf("stage set retention: %s", said)
	}
	if said := w.run(0, "stage", "set", "retention=off"); said != "shop/dev-tester: retention is off\n" {
		t.Errorf("stage set retention=off: %s", said)
	}
	w.run(0, "deploy", "--yes")
	for text, args := range map[string][]string{
		"did you mean private?": {"privat=on"}, "it is on or off": {"private=yes"}, ". is no KEY=VALUE": {"."}, "retention=29d: it is less than 30d": {"retention=29d"},
		"retention=long: ": {"retention=long"}, "only a service": {"private=on", "--store", "bolt:x.db"},
	} {
		if _, errs, code := w.printed("", append([]string{"stage", "set"}, args...)...); code != 1 || !strings.Contains(errs, text) {
			t.Errorf("stage set %v: %d: %s", args, code, errs)
		}
	}
}
