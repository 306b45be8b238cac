package page

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// newProvider starts an OpenID provider that believes every user to be u-bob.
func newProvider(t *testing.T) string {
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
	asked := make(chan url.Values, 1)
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			answer = map[string]string{
				"issuer": server.URL, "jwks_uri": server.URL + "/keys", "authorization_endpoint": server.URL + "/auth", "token_endpoint": server.URL + "/token",
			}
		case "/keys":
			answer = map[string]any{"keys": []any{map[string]string{"kid": "k", "kty": "EC", "crv": "P-256", "x": b64(point[1:33]), "y": b64(point[33:])}}}
		case "/auth":
			query := r.URL.Query()
			asked <- query
			http.Redirect(w, r, query.Get("redirect_uri")+"?code=c&state="+query.Get("state"), http.StatusFound)
			return
		case "/token":
			query := <-asked
			sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
			if r.FormValue("code") != "c" || b64(sum[:]) != query.Get("code_challenge") {
				http.Error(w, "{}", http.StatusBadRequest)
				return
			}
			now := time.Now().Unix()
			claims, _ := json.Marshal(map[string]any{
				"iss": server.URL, "aud": query.Get("client_id"), "sub": "u-bob", "name": "bob", "nonce": query.Get("nonce"), "iat": now, "exp": now + 60, "jti": rand.Text(),
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
	t.Cleanup(server.Close)
	return server.URL
}

// serve starts athanor serve with the store of the project, and returns its URL.
func (p *project) serve(issuer string) string {
	p.t.Helper()
	// The URL of the service stands in its settings. The port lies below those that a system gives to callers that ask
	// for any.
	address := fmt.Sprint("127.0.0.1:", 20000+os.Getpid()%10000)
	settings, _ := json.Marshal(map[string]any{"audience": "http://" + address, "issuers": []any{map[string]any{
		"issuer": issuer, "clientId": "athanor", "rules": []any{map[string]any{"claims": map[string]string{"sub": "u-*"}, "role": "deployer", "on": "*/*"}},
	}}})
	p.write("oidc.json", string(settings))
	cmd := p.command("serve", "--json", "--store", "bolt:service.db", "--listen", address, "--oidc", "oidc.json")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadBytes('\n'); err != nil {
		p.t.Fatalf("%s: %v", line, err)
	}
	return "http://" + address
}

// TestApprove: a person signs in at the team's identity provider, sees on the page the plan that a CI job has submitted, and
// approves it there; the job then deploys exactly that.
func TestApprove(t *testing.T) {
	p := newProject(t, "stack: shop\nresources:\n  first: {kind: local.File, props: {path: first.txt, content: one}}\n")
	service := p.serve(newProvider(t))
	token := func(role string) string {
		return strings.TrimSpace(p.run(0, "token", "create", "--store", "bolt:service.db", "--name", role, "--role", role))
	}
	p.env = append(p.env, "ATHANOR_STORE="+service, "ATHANOR_TOKEN="+token("admin"))
	p.run(0, "approve", "--require", "on", "--stage", "prod")
	p.env = append(p.env, "ATHANOR_TOKEN="+token("deployer"))
	var submit *exec.Cmd
	submitted := func() string {
		t.Helper()
		submit = p.command("plan", "--stage", "prod", "--submit")
		said, _ := submit.CombinedOutput()
		seen := regexp.MustCompile(`seen at (\S+)`).FindSubmatch(said)
		if submit.ProcessState.ExitCode() != 2 || seen == nil {
			t.Fatalf("plan --submit: %s", said)
		}
		return string(seen[1])
	}
	address := submitted()
	id := address[strings.LastIndex(address, "/")+1:]
	p.run(5, "deploy", "--yes", "--stage", "prod", "--approved", id)

	ctx := open(t)
	do(t, ctx, chromedp.Navigate(address))
	press(t, ctx, "main a.btn")
	until(t, ctx, `document.readyState === "complete" && document.querySelector("form.ask")`)
	if at := value[string](t, ctx, "location.href"); at != address {
		t.Errorf("signed in, the browser is at %s, not at %s", at, address)
	}
	if text := value[string](t, ctx, "document.body.innerText"); !strings.Contains(text, "first") || !strings.Contains(text, "As claimed by token deployer") ||
		!strings.Contains(text, "signed in as token bob") {
		t.Errorf("the plan: %s", text)
	}
	do(t, ctx, chromedp.SendKeys("#say", "looks right"))
	press(t, ctx, "button.primary")
	until(t, ctx, `document.readyState === "complete" && !document.querySelector("form.ask") && document.body.innerText.includes("looks right")`)
	for _, low := range value[[]string](t, ctx, lowContrast) {
		t.Errorf("contrast %s", low)
	}
	if shown := value[string](t, ctx, `[...document.querySelectorAll("code")].map(c => c.textContent).join("\n")`); !strings.Contains(shown, "athanor deploy --approved "+id+" --stage prod") {
		t.Errorf("the commands: %s", shown)
	}
	p.run(0, "deploy", "--yes", "--stage", "prod", "--approved", id)

	p.write("athanor.yaml", "stack: shop\nresources:\n  first: {kind: local.File, props: {path: first.txt, content: two}}\n")
	address = submitted()
	do(t, ctx, chromedp.Navigate(address))
	press(t, ctx, "button.danger")
	until(t, ctx, `document.querySelector("h1")?.innerText.includes("rejected")`)
	p.run(5, "deploy", "--yes", "--stage", "prod", "--approved", address[strings.LastIndex(address, "/")+1:])
}
