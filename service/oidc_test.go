package service_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// issuer is an identity provider with one RSA key and one of P-256.
type issuer struct {
	*testing.T
	url   string
	rsa   *rsa.PrivateKey
	ec    *ecdsa.PrivateKey
	asked atomic.Int64 // for its keys

	// who signs in at it with a browser, and what it was asked for last. It answers with the code c, once.
	who   atomic.Value
	query atomic.Pointer[url.Values]
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{T: t}
	var err error
	if i.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	if i.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{
			"issuer": i.url, "jwks_uri": i.url + "/keys", "authorization_endpoint": i.url + "/auth?tenant=1", "token_endpoint": i.url + "/token",
		})
	})
	mux.HandleFunc("/auth", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		i.query.Store(&query)
		back := url.Values{"code": {"c"}, "state": {query.Get("state")}, "iss": {i.url}}
		http.Redirect(w, r, query.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		asked := i.query.Swap(nil)
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if asked == nil || r.FormValue("code") != "c" || r.FormValue("redirect_uri") != asked.Get("redirect_uri") || b64(sum[:]) != asked.Get("code_challenge") ||
			r.FormValue("client_id") != asked.Get("client_id") || asked.Get("code_challenge_method") != "S256" || asked.Get("scope") != "openid groups" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		who, _ := i.who.Load().(string)
		_ = json.NewEncoder(w).Encode(map[string]string{"id_token": i.sign(rs256, i.job(map[string]any{
			"aud": "athanor", "sub": who, "groups": "platform", "nonce": asked.Get("nonce"), "email": who + "@acme.example",
		}))})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.asked.Add(1)
		point, err := i.ec.PublicKey.Bytes()
		if err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []map[string]string{
			{"kid": "r", "kty": "RSA", "n": b64(i.rsa.N.Bytes()), "e": b64(big.NewInt(int64(i.rsa.E)).Bytes())},
			{"kid": "e", "kty": "EC", "crv": "P-256", "use": "sig", "x": b64(point[1:33]), "y": b64(point[33:])},
			{"kid": "x", "kty": "RSA", "use": "enc", "n": b64(i.rsa.N.Bytes()), "e": "AQAB"},
		}})
	})
	server := httptest.NewServer(mux)
	i.url = server.URL
	t.Cleanup(server.Close)
	return i
}

func b64(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// sign makes a token of a header and claims.
func (i *issuer) sign(head, claims map[string]any) string {
	i.Helper()
	h, _ := json.Marshal(head)
	c, _ := json.Marshal(claims)
	signed := b64(h) + "." + b64(c)
	sum := sha256.Sum256([]byte(signed))
	var signature []byte
	var err error
	switch head["alg"] {
	case "RS256":
		signature, err = rsa.SignPKCS1v15(rand.Reader, i.rsa, crypto.SHA256, sum[:])
	case "PS256":
		signature, err = rsa.SignPSS(rand.Reader, i.rsa, crypto.SHA256, sum[:], nil)
	case "ES256":
		r, s, signing := ecdsa.Sign(rand.Reader, i.ec, sum[:])
		signature, err = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...), signing
	case "HS256": // with the public key as the secret
		public, _ := x509.MarshalPKIXPublicKey(&i.rsa.PublicKey)
		mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
		mac.Write([]byte(signed))
		signature = mac.Sum(nil)
	}
	if err != nil {
		i.Fatal(err)
	}
	return signed + "." + b64(signature)
}

// job are the claims of a good token of a CI job, with changes; nil removes a claim.
func (i *issuer) job(changes map[string]any) map[string]any {
	now := time.Now().Unix()
	claims := map[string]any{
		"iss": i.url, "aud": "https://athanor.example", "sub": "repo:acme/shop:ref:refs/heads/main", "jti": rand.Text(), "iat": now, "nbf": now,
		"exp": now + 300, "repository_id": "42", "repository": "acme/shop", "ref": "refs/heads/main", "event_name": "push",
	}
	for name, value := range changes {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	return claims
}

// takes are settings in which an issuer signs people and jobs.
func (i *issuer) takes(jobs *issuer) func(*service.Settings) {
	return func(s *service.Settings) {
		s.Log = func(method, path string, err error) { i.Logf("%s %s: %v", method, path, err) }
		s.OIDC = &service.OIDC{Audience: "https://athanor.example", Issuers: []service.Issuer{
			{Issuer: i.url, ClientID: "athanor", Scopes: []string{"groups"}, Rules: []service.Rule{
				{Claims: map[string]string{"groups": "platform"}, Role: "admin", On: "*/*"},
				{Claims: map[string]string{"groups": "shop-*"}, Role: "planner", On: "shop/*"},
			}},
			{Issuer: jobs.url, Life: "20m", Rules: []service.Rule{
				{Claims: map[string]string{"repository_id": "42", "ref": "refs/heads/*"}, Role: "deployer", On: "shop/prod"},
				{Claims: map[string]string{"repository_id": "42", "ref": "refs/pull/*/merge"}, Role: "deployer", On: "shop/pr"},
			}},
		}}
		if err := s.OIDC.Check(); err != nil {
			i.Fatal(err)
		}
	}
}

func (s *served) signIn(token, nonce string) (int, wire.Token) {
	s.Helper()
	body, _ := json.Marshal(wire.SignIn{IDToken: token, Nonce: nonce})
	code, _, text := s.send("POST", "/v1/oidc", "", string(body))
	var answer wire.Token
	_ = json.Unmarshal([]byte(text), &answer)
	return code, answer
}

var rs256 = map[string]any{"alg": "RS256", "kid": "r"}

// TestSignIn: an ID token of a job or a person is exchanged once for a token with what the rules give, and no more.
func TestSignIn(t *testing.T) {
	t.Parallel()
	people, jobs := newIssuer(t), newIssuer(t)
	s := serve(t, people.takes(jobs))
	if code, _, body := s.send("GET", "/v1/oidc", "", ""); code != 200 || !strings.Contains(body, `"clientId":"athanor"`) || strings.Contains(body, jobs.url) {
		t.Errorf("issuers: %d %s", code, body)
	}
	for _, head := range []map[string]any{rs256, {"alg": "ES256", "kid": "e"}} {
		code, token := s.signIn(jobs.sign(head, jobs.job(map[string]any{"aud": []string{"other", "https://athanor.example"}})), "")
		if code != 201 || fmt.Sprint(token.Grants) != "[{deployer shop/prod}]" || token.Name != "acme/shop@main" ||
			token.Subject != jobs.url+" repo:acme/shop:ref:refs/heads/main" || token.Expires.Sub(token.Created) != 20*time.Minute {
			t.Errorf("a job: %d %+v", code, token)
		}
		if code, _, body := s.send("GET", stageURL+"/state", token.Secret, ""); code != 200 {
			t.Errorf("with its token: %d %s", code, body)
		}
		if code, _, _ := s.send("GET", "/v1/tokens", token.Secret, ""); code != http.StatusForbidden {
			t.Errorf("a job reads tokens: %d", code)
		}
	}
	for name, changes := range map[string]map[string]any{
		"a pull request":                 {"ref": "refs/pull/7/merge", "event_name": "pull_request"},
		"a pull request by its ref":      {"ref": "refs/pull/7/merge", "event_name": "push"},
		"a pull request on its target":   {"event_name": "pull_request_target"},
		"a merge request":                {"pipeline_source": "merge_request_event"},
		"an external pull request":       {"pipeline_source": "external_pull_request_event"},
		"a pull request after its merge": {"event_name": "pull_request"},
	} {
		if code, token := s.signIn(jobs.sign(rs256, jobs.job(changes)), ""); code != 201 || len(token.Grants) != 1 || token.Grants[0].Role != "planner" {
			t.Errorf("%s: %d %+v", name, code, token)
		}
	}
	once := jobs.sign(rs256, jobs.job(nil))
	if first, _ := s.signIn(once, ""); first != 201 {
		t.Errorf("first: %d", first)
	}
	if again, _ := s.signIn(once, ""); again != http.StatusUnauthorized {
		t.Errorf("again: %d", again)
	}

	person := map[string]any{"aud": "athanor", "sub": "u1", "email": "ann@acme.example", "groups": []string{"staff", "shop-ops"}, "nonce": "n"}
	code, token := s.signIn(people.sign(rs256, people.job(person)), "n")
	if code != 201 || fmt.Sprint(token.Grants) != "[{planner shop/*}]" || token.Name != "ann@acme.example" || token.Subject != people.url+" u1" {
		t.Errorf("a person: %d %+v", code, token)
	}
	person["groups"] = "platform"
	if code, token := s.signIn(people.sign(rs256, people.job(person)), "n"); code != 201 || token.Grants[0].Role != "admin" {
		t.Errorf("a person of the platform group: %d %+v", code, token)
	}
	if n := jobs.asked.Load(); n != 1 {
		t.Errorf("the keys were asked for %d times", n)
	}
}

// TestWrongIDTokens: every way in which an ID token can be wrong is refused, with one answer.
func TestWrongIDTokens(t *testing.T) {
	t.Parallel()
	people, jobs, stranger := newIssuer(t), newIssuer(t), newIssuer(t)
	now := time.Now().Unix()
	person := map[string]any{"aud": "athanor", "groups": "platform", "nonce": "n"}
	changed := func(name string, value any) map[string]any {
		claims := maps.Clone(person)
		claims[name] = value
		return people.job(claims)
	}
	good := jobs.sign(rs256, jobs.job(nil))
	parts := strings.Split(good, ".")
	forged, _ := json.Marshal(jobs.job(map[string]any{"repository_id": "42", "ref": "refs/heads/prod"}))
	none := b64([]byte(`{"alg":"none","kid":"r"}`)) + "." + parts[1] + "."
	for name, token := range map[string]string{
		"nothing":                           "",
		"no token":                          "ath_x",
		"two parts":                         parts[0] + "." + parts[1],
		"no signature":                      parts[0] + "." + parts[1] + ".",
		"claims of another":                 parts[0] + "." + b64(forged) + "." + parts[2],
		"no algorithm":                      none,
		"HS256 with the public key":         jobs.sign(map[string]any{"alg": "HS256", "kid": "r"}, jobs.job(nil)),
		"PS256":                             jobs.sign(map[string]any{"alg": "PS256", "kid": "r"}, jobs.job(nil)),
		"RS256 by the EC key":               jobs.sign(map[string]any{"alg": "RS256", "kid": "e"}, jobs.job(nil)),
		"ES256 by the RSA key":              jobs.sign(map[string]any{"alg": "ES256", "kid": "r"}, jobs.job(nil)),
		"an unknown key":                    jobs.sign(map[string]any{"alg": "RS256", "kid": "z"}, jobs.job(nil)),
		"a key for encryption":              jobs.sign(map[string]any{"alg": "RS256", "kid": "x"}, jobs.job(nil)),
		"a critical extension":              jobs.sign(map[string]any{"alg": "RS256", "kid": "r", "crit": []string{"b64"}}, jobs.job(nil)),
		"the key of another issuer":         stranger.sign(rs256, jobs.job(nil)),
		"an unknown issuer":                 stranger.sign(rs256, stranger.job(nil)),
		"an issuer with a slash":            jobs.sign(rs256, jobs.job(map[string]any{"iss": jobs.url + "/"})),
		"no issuer":                         jobs.sign(rs256, jobs.job(map[string]any{"iss": nil})),
		"another audience":                  jobs.sign(rs256, jobs.job(map[string]any{"aud": "https://athanor.example.evil"})),
		"no audience":                       jobs.sign(rs256, jobs.job(map[string]any{"aud": nil})),
		"no subject":                        jobs.sign(rs256, jobs.job(map[string]any{"sub": nil})),
		"expired":                           jobs.sign(rs256, jobs.job(map[string]any{"exp": now - 61})),
		"no expiry":                         jobs.sign(rs256, jobs.job(map[string]any{"exp": nil})),
		"an expiry that is text":            jobs.sign(rs256, jobs.job(map[string]any{"exp": fmt.Sprint(now + 300)})),
		"good for years":                    jobs.sign(rs256, jobs.job(map[string]any{"exp": now + 1e8})),
		"not yet good":                      jobs.sign(rs256, jobs.job(map[string]any{"nbf": now + 90})),
		"issued in the future":              jobs.sign(rs256, jobs.job(map[string]any{"iat": now + 90})),
		"no time of issue":                  jobs.sign(rs256, jobs.job(map[string]any{"iat": nil})),
		"another repository":                jobs.sign(rs256, jobs.job(map[string]any{"repository_id": "421"})),
		"a repository that is a number":     jobs.sign(rs256, jobs.job(map[string]any{"repository_id": 4.2e2})),
		"a branch with a slash":             jobs.sign(rs256, jobs.job(map[string]any{"ref": "refs/heads/main/x"})),
		"a tag":                             jobs.sign(rs256, jobs.job(map[string]any{"ref": "refs/tags/main"})),
		"a job with the audience of people": jobs.sign(rs256, jobs.job(map[string]any{"aud": "athanor"})),
		"a person of no group":              people.sign(rs256, changed("groups", "others")),
		"a person with another nonce":       people.sign(rs256, changed("nonce", "m")),
		"a person without a nonce":          people.sign(rs256, changed("nonce", nil)),
		"a person for another client":       people.sign(rs256, changed("azp", "other")),
		"a person with the jobs' audience":  people.sign(rs256, changed("aud", "https://athanor.example")),
	} {
		s := serve(t, people.takes(jobs))
		if code, answer := s.signIn(token, "n"); code != http.StatusUnauthorized || answer.Secret != "" {
			t.Errorf("%s: %d %+v", name, code, answer)
		}
	}

	// Who guesses has to wait, and a service without issuers takes nothing.
	s := serve(t, people.takes(jobs))
	for range 20 {
		s.signIn(good+"x", "")
	}
	if code, _ := s.signIn(good, ""); code != http.StatusTooManyRequests {
		t.Errorf("after guesses: %d", code)
	}
	if code, _, _ := s.send("GET", "/v1/oidc", "", ""); code != http.StatusTooManyRequests {
		t.Errorf("the list after guesses: %d", code)
	}
	if code, _ := serve(t).signIn(good, ""); code != http.StatusNotFound {
		t.Errorf("without issuers: %d", code)
	}
}

// TestIssuerSettings: rules that let in more than they say are refused when the service starts.
func TestIssuerSettings(t *testing.T) {
	t.Parallel()
	rule := func(claims ...string) service.Rule {
		r := service.Rule{Claims: map[string]string{}, Role: "deployer", On: "shop/*"}
		for i := 0; i < len(claims); i += 2 {
			r.Claims[claims[i]] = claims[i+1]
		}
		return r
	}
	for name, c := range map[string]struct {
		issuer service.Issuer
		fits   bool
	}{
		"good":             {service.Issuer{Issuer: "https://gitlab.com", Rules: []service.Rule{rule("project_id", "7", "ref", "main")}}, true},
		"plain http":       {service.Issuer{Issuer: "http://gitlab.com", Rules: []service.Rule{rule("project_id", "7", "ref", "main")}}, false},
		"no repository":    {service.Issuer{Issuer: "https://gitlab.com", Rules: []service.Rule{rule("ref", "main")}}, false},
		"no ref":           {service.Issuer{Issuer: "https://gitlab.com", Rules: []service.Rule{rule("project_id", "7")}}, false},
		"any ref":          {service.Issuer{Issuer: "https://gitlab.com", Rules: []service.Rule{rule("project_id", "7", "ref", "**")}}, false},
		"no claims":        {service.Issuer{Issuer: "https://id.example", ClientID: "c", Rules: []service.Rule{rule()}}, false},
		"a group":          {service.Issuer{Issuer: "https://id.example", ClientID: "c", Rules: []service.Rule{rule("groups", "ops")}}, true},
		"good for a day":   {service.Issuer{Issuer: "https://id.example", ClientID: "c", Life: "1d"}, true},
		"good for a week":  {service.Issuer{Issuer: "https://id.example", ClientID: "c", Life: "168h"}, false},
		"an unknown role":  {service.Issuer{Issuer: "https://id.example", ClientID: "c", Rules: []service.Rule{{Claims: map[string]string{"groups": "x"}, Role: "root", On: "*/*"}}}, false},
		"a broken pattern": {service.Issuer{Issuer: "https://id.example", ClientID: "c", Rules: []service.Rule{{Claims: map[string]string{"groups": "x"}, Role: "admin", On: "*"}}}, false},
		"another pattern":  {service.Issuer{Issuer: "https://id.example", ClientID: "c", Rules: []service.Rule{{Claims: map[string]string{"groups": "x"}, Role: "admin", On: "shop/{a,b}"}}}, false},
	} {
		set := service.OIDC{Audience: "https://athanor.example", Issuers: []service.Issuer{c.issuer}}
		if err := set.Check(); (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}
