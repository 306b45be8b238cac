package login_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/cmd/internal/login"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// TestJobs: a CI job gets its token by its ID token, which GitHub gives when it is asked for the audience of the service, and
// which others put into a variable.
func TestJobs(t *testing.T) {
	var audience, bearer string
	github := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		audience, bearer = r.URL.Query().Get("audience"), r.Header.Get("Authorization")
		_ = json.NewEncoder(w).Encode(map[string]string{"value": "id-of-" + r.URL.Query().Get("job")})
	}))
	t.Cleanup(github.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the service was sent a token")
		}
		if r.Method == http.MethodGet {
			_ = json.NewEncoder(w).Encode(wire.Issuers{Audience: "https://athanor.example"})
			return
		}
		var body wire.SignIn
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || !strings.HasPrefix(body.IDToken, "id-of-") {
			w.Header().Set("Content-Type", wire.ProblemType)
			w.WriteHeader(http.StatusUnauthorized)
			_ = json.NewEncoder(w).Encode(wire.NewProblem(http.StatusUnauthorized, wire.CodeUnauthorized, "the ID token is not taken", ""))
			return
		}
		_ = json.NewEncoder(w).Encode(wire.Token{Secret: "ath_" + body.IDToken})
	}))
	t.Cleanup(server.Close)
	signIn := func() (string, error) {
		return login.SignIn(t.Context(), server.URL, func(string) { t.Error("a browser was asked for") })
	}
	if token, err := signIn(); err == nil {
		t.Errorf("neither a job nor a provider for people: %q", token)
	}
	t.Setenv("ACTIONS_ID_TOKEN_REQUEST_URL", github.URL+"/?job=7")
	t.Setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "of-the-job")
	if token, err := signIn(); err != nil || token != "ath_id-of-7" || audience != "https://athanor.example" || bearer != "Bearer of-the-job" {
		t.Errorf("at GitHub: %q, %v, audience %q, %q", token, err, audience, bearer)
	}
	t.Setenv(login.IDTokenVariable, "id-of-gitlab")
	if token, err := signIn(); err != nil || token != "ath_id-of-gitlab" {
		t.Errorf("in a variable: %q, %v", token, err)
	}
	t.Setenv(login.IDTokenVariable, "wrong")
	if token, err := signIn(); err == nil || !strings.Contains(err.Error(), "not taken") {
		t.Errorf("a wrong one: %q, %v", token, err)
	}
}
