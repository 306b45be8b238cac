package login

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
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

	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// IDTokenVariable holds the ID token of a CI job, where the CI system puts it into a variable.
const IDTokenVariable = "ATHANOR_ID_TOKEN"

// The variables of GitHub Actions by which a job with the permission id-token asks for an ID token.
const (
	githubURL   = "ACTIONS_ID_TOKEN_REQUEST_URL"
	githubToken = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
)

const (
	mostAnswer = 1 << 20
	patience   = 5 * time.Minute // for a person to sign in
)

// errNoSignIn says that a service takes no ID tokens of people.
var errNoSignIn = errors.New("the service has no identity provider for people, and this is no CI job with an ID token")

// client sends what it is given to the address that it is given alone.
func client() *http.Client {
	return &http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// SignIn gets an API token for the identity of a CI job, or of a person who signs in with a browser at the address that show
// is called with.
func SignIn(ctx context.Context, origin string, show func(address string)) (string, error) {
	var offered wire.Issuers
	if err := exchange(ctx, http.MethodGet, origin+"/v1/oidc", "", nil, "", &offered); err != nil {
		return "", err
	}
	body := wire.SignIn{IDToken: os.Getenv(IDTokenVariable)}
	var err error
	switch {
	case body.IDToken != "":
	case os.Getenv(githubURL) != "":
		body.IDToken, err = fromGitHub(ctx, offered.Audience)
	case len(offered.Issuers) == 0:
		err = errNoSignIn
	default:
		body.Nonce = rand.Text()
		body.IDToken, err = fromBrowser(ctx, offered.Issuers[0], body.Nonce, show)
	}
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	var token wire.Token
	err = exchange(ctx, http.MethodPost, origin+"/v1/oidc", "application/json", data, "", &token)
	return token.Secret, err
}

// exchange sends a request and reads a JSON answer.
func exchange(ctx context.Context, method, address, media string, body []byte, bearer string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	req.Header.Set("Accept", "application/json")
	res, err := client().Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	if err != nil {
		return err
	}
	if res.StatusCode >= http.StatusBadRequest && strings.HasPrefix(res.Header.Get("Content-Type"), wire.ProblemType) {
		problem := new(wire.Problem)
		if err := json.Unmarshal(data, problem); err == nil {
			return problem
		}
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s answers %s", req.URL.Host, res.Status)
	}
	return json.Unmarshal(data, into)
}

// fromGitHub asks GitHub Actions for the ID token of the job.
func fromGitHub(ctx context.Context, audience string) (string, error) {
	address, err := url.Parse(os.Getenv(githubURL))
	if err != nil {
		return "", fmt.Errorf("$%s: %w", githubURL, err)
	}
	query := address.Query()
	query.Set("audience", audience)
	address.RawQuery = query.Encode()
	var answer struct {
		Value string `json:"value"`
	}
	err = exchange(ctx, http.MethodGet, address.String(), "", nil, os.Getenv(githubToken), &answer)
	return answer.Value, err
}

// fromBrowser lets a person sign in: authorization code with PKCE, which comes back to a port of the loopback.
func fromBrowser(ctx context.Context, issuer wire.Issuer, nonce string, show func(string)) (string, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var about struct {
		Issuer    string `json:"issuer"`
		Authorize string `json:"authorization_endpoint"`
		Token     string `json:"token_endpoint"`
	}
	known := strings.TrimSuffix(issuer.Issuer, "/") + "/.well-known/openid-configuration"
	if err := exchange(ctx, http.MethodGet, known, "", nil, "", &about); err != nil {
		return "", err
	}
	if about.Issuer != issuer.Issuer {
		return "", fmt.Errorf("%s says that it is %q", issuer.Issuer, about.Issuer)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	back := "http://" + listener.Addr().String() + "/"
	state, verifier := rand.Text(), rand.Text()+rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	address, err := url.Parse(about.Authorize)
	if err != nil {
		return "", err
	}
	query := address.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": issuer.ClientID, "redirect_uri": back, "state": state, "nonce": nonce,
		"scope": strings.Join(append([]string{"openid"}, issuer.Scopes...), " "), "code_challenge_method": "S256",
		"code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]),
	} {
		query.Set(name, value)
	}
	address.RawQuery = query.Encode()
	code, err := waitForCode(ctx, listener, state, func() { show(address.String()) })
	if err != nil {
		return "", err
	}
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {back}, "client_id": {issuer.ClientID}, "code_verifier": {verifier},
	}
	var answer struct {
		IDToken string `json:"id_token"`
	}
	err = exchange(ctx, http.MethodPost, about.Token, "application/x-www-form-urlencoded", []byte(form.Encode()), "", &answer)
	return answer.IDToken, err
}

// waitForCode serves the address that the browser comes back to, until it does with the state that was sent.
func waitForCode(ctx context.Context, listener net.Listener, state string, listening func()) (string, error) {
	type answer struct {
		code string
		err  error
	}
	came := make(chan answer, 1)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if r.URL.Path != "/" || query.Get("state") != state {
			http.Error(w, "this is not the sign-in that athanor waits for", http.StatusBadRequest)
			return
		}
		got := answer{code: query.Get("code")}
		if got.code == "" {
			got.err = fmt.Errorf("the identity provider refused: %s %s", query.Get("error"), query.Get("error_description"))
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "athanor has what it needs; this page can be closed.\n")
		select {
		case came <- got:
		default:
		}
	})}
	go func() { _ = server.Serve(listener) }() // it ends with Shutdown
	defer func() {                             // the browser gets its answer before the server ends
		ending, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer stop()
		_ = server.Shutdown(ending)
	}()
	listening()
	select {
	case <-ctx.Done():
		return "", fmt.Errorf("nobody signed in: %w", ctx.Err())
	case got := <-came:
		return got.code, got.err
	}
}
