package service

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/athanor-dev/athanor/service/page"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// signIns are the issuers of people, for browsers: authorization code with PKCE that comes back to this service. There are none
// where the service does not know its own URL.
func (s *Service) signIns() []page.SignIn {
	if s.issuers == nil {
		return nil
	}
	own, err := url.Parse(s.issuers.settings.Audience)
	if err != nil || own.Host == "" {
		return nil
	}
	back := own.Scheme + "://" + own.Host + page.SignInBack
	var ways []page.SignIn
	for _, issuer := range s.issuers.settings.Issuers {
		at, err := url.Parse(issuer.Issuer)
		if issuer.ClientID == "" || err != nil {
			continue
		}
		ways = append(ways, page.SignIn{
			Name: at.Host,
			Begin: func(ctx context.Context) (string, string, error) {
				return s.beginSignIn(ctx, issuer, back)
			},
			End: func(r *http.Request, kept string) (string, error) {
				return s.endSignIn(r, issuer, back, kept)
			},
		})
	}
	return ways
}

// aboutIssuer asks an issuer for its addresses. Visitors are told that it does not answer, the log why.
func (s *Service) aboutIssuer(ctx context.Context, issuer string) (issuerAbout, error) {
	about, err := s.issuers.about(ctx, issuer)
	if err != nil {
		s.settings.Log(http.MethodGet, page.SignInBack, fmt.Errorf("issuer %s: %w", issuer, err))
		err = &page.Refusal{Status: http.StatusServiceUnavailable, Why: "The identity provider does not answer", Hint: "Try again."}
	}
	return about, err
}

// beginSignIn is the address at which a person signs in. The browser keeps the three secrets of this sign-in.
func (s *Service) beginSignIn(ctx context.Context, issuer Issuer, back string) (address, kept string, err error) {
	about, err := s.aboutIssuer(ctx, issuer.Issuer)
	if err != nil {
		return "", "", err
	}
	to, err := url.Parse(about.Authorize)
	if err != nil || to.Host == "" || to.Scheme != "https" && !isLoopback(to.Hostname()) {
		return "", "", fmt.Errorf("issuer %s: authorization_endpoint %q: it is no https URL", issuer.Issuer, about.Authorize)
	}
	state, nonce, verifier := rand.Text(), rand.Text(), rand.Text()+rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	query := to.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": issuer.ClientID, "redirect_uri": back, "state": state, "nonce": nonce,
		"scope": strings.Join(append([]string{"openid"}, issuer.Scopes...), " "), "code_challenge_method": "S256",
		"code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]),
	} {
		query.Set(name, value)
	}
	to.RawQuery = query.Encode()
	return to.String(), strings.Join([]string{state, nonce, verifier}, " "), nil
}

// endSignIn exchanges what the browser brings from an issuer for an API token.
func (s *Service) endSignIn(r *http.Request, issuer Issuer, back, kept string) (string, error) {
	secrets, query := strings.Fields(kept), r.URL.Query()
	if len(secrets) != 3 || subtle.ConstantTimeCompare([]byte(secrets[0]), []byte(query.Get("state"))) != 1 {
		return "", &page.Refusal{Status: http.StatusBadRequest, Why: "This is the answer to another sign-in", Hint: "Sign in again."}
	}
	from := remoteOf(r, s.settings.Proxies)
	if s.guesses.wait(from) > 0 {
		return "", &page.Refusal{Status: http.StatusTooManyRequests, Why: "Too many sign-ins failed", Hint: "Try again in a minute."}
	}
	refuse := func(why error) (string, error) {
		s.guesses.take(from)
		s.settings.Log(r.Method, r.URL.EscapedPath(), why)
		return "", &page.Refusal{Status: http.StatusUnauthorized, Why: "The identity provider did not sign you in", Hint: "The log of the service says why."}
	}
	code, by := query.Get("code"), query.Get("iss")
	if code == "" || by != "" && by != issuer.Issuer {
		return refuse(fmt.Errorf("issuer %s answers for %q: %q %q", issuer.Issuer, by, query.Get("error"), query.Get("error_description")))
	}
	about, err := s.aboutIssuer(r.Context(), issuer.Issuer)
	if err != nil {
		return "", err
	}
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {back}, "client_id": {issuer.ClientID}, "code_verifier": {secrets[2]},
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, about.Token, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	var answer struct {
		IDToken string `json:"id_token"`
	}
	if err := s.issuers.ask(req, &answer); err != nil {
		return refuse(err)
	}
	made, err := s.operation(s.signIn, r, nil, statestore.Stage{}, "", wire.SignIn{IDToken: answer.IDToken, Nonce: secrets[1]})
	token, _ := made.(wire.Token)
	return token.Secret, err
}
