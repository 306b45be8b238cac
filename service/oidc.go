package service

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// OIDC says whose ID tokens are exchanged for API tokens, and for what rights.
type OIDC struct {
	// Audience is what the ID tokens of CI jobs must be made for: the URL of the service.
	Audience string   `json:"audience"`
	Issuers  []Issuer `json:"issuers"`

	// Client asks the issuers for their keys; nil for one with timeouts that follows no redirect.
	Client *http.Client `json:"-"`
}

// Issuer is one identity provider. One with a client id is of people, any other of CI jobs.
type Issuer struct {
	Issuer   string   `json:"issuer"`
	ClientID string   `json:"clientId,omitempty"`
	Scopes   []string `json:"scopes,omitempty"` // that people are asked for besides openid
	// Life is how long the API tokens are good for; empty for an hour for jobs and twelve for people.
	Life  string `json:"life,omitempty"`
	Rules []Rule `json:"rules"`
}

// Rule gives a role to the ID tokens whose claims it matches, all of them. A value is the claim's own, or a pattern in which *
// stands for any text without a slash; a claim with many values matches when one of them does.
type Rule struct {
	Claims map[string]string `json:"claims"`
	Role   string            `json:"role"`
	On     string            `json:"on"`
}

// How far clocks may differ, and how long a key of an issuer is taken for good.
const (
	leeway       = time.Minute
	keysFor      = 10 * time.Minute
	keysAgain    = 30 * time.Second // between two requests for a key that is not known
	mostOfIssuer = 1 << 20
	lifeOfJob    = time.Hour
	lifeOfPerson = 12 * time.Hour
)

// Check refuses settings that would let in more than they say.
func (o *OIDC) Check() error {
	for i := range o.Issuers {
		issuer := &o.Issuers[i]
		at, err := url.Parse(issuer.Issuer)
		if err != nil || at.Host == "" || at.Scheme != "https" && (at.Scheme != "http" || !isLoopback(at.Hostname())) {
			return fmt.Errorf("issuer %q: it is an https URL", issuer.Issuer)
		}
		if _, err := issuer.life(); err != nil {
			return fmt.Errorf("issuer %s: life %q: it is a duration of a minute to a day", issuer.Issuer, issuer.Life)
		}
		if issuer.ClientID == "" && o.Audience == "" {
			return fmt.Errorf("issuer %s: jobs need an audience", issuer.Issuer)
		}
		for _, rule := range issuer.Rules {
			if err := rule.check(issuer.ClientID != ""); err != nil {
				return fmt.Errorf("issuer %s: %w", issuer.Issuer, err)
			}
		}
	}
	return nil
}

func isLoopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

func (i *Issuer) life() (time.Duration, error) {
	if i.Life == "" && i.ClientID != "" {
		return lifeOfPerson, nil
	}
	if i.Life == "" {
		return lifeOfJob, nil
	}
	life, err := parseDuration(i.Life)
	if err == nil && (life < time.Minute || life > 24*time.Hour) {
		err = errors.New("out of range")
	}
	return life, err
}

// check refuses a rule that anybody at the issuer would meet. On a shared issuer of jobs a rule without a repository is met by
// everybody's, and one without a branch or an environment by every pull request.
func (r *Rule) check(people bool) error {
	if _, err := givenGrants([]wire.Grant{{Role: r.Role, On: r.On}}); err != nil {
		return err
	}
	if len(r.Claims) == 0 {
		return errors.New("a rule needs claims")
	}
	for name, value := range r.Claims {
		if strings.Trim(value, "*") == "" {
			return fmt.Errorf("claim %s: %q matches everything", name, value)
		}
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return r.Claims[name] != "" })
	}
	if !people && (!has("repository_id", "repository", "project_id", "project_path") || !has("ref", "environment")) {
		return errors.New("a rule for jobs needs a repository (repository_id, project_id) and a ref or environment")
	}
	return nil
}

// matches reports whether the claims of a token are those of the rule.
func (r *Rule) matches(claims map[string]any) bool {
	for name, pattern := range r.Claims {
		if !slices.ContainsFunc(values(claims[name]), func(value string) bool { return segmentsMatch(pattern, value) }) {
			return false
		}
	}
	return true
}

// values are the texts of a claim: a list has many.
func values(claim any) []string {
	switch claim := claim.(type) {
	case string:
		return []string{claim}
	case json.Number:
		return []string{claim.String()}
	case bool:
		return []string{fmt.Sprint(claim)}
	case []any:
		var all []string
		for _, one := range claim {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}

// segmentsMatch matches a pattern in which no * reaches over a slash.
func segmentsMatch(pattern, text string) bool {
	patterns, texts := strings.Split(pattern, "/"), strings.Split(text, "/")
	if len(patterns) != len(texts) {
		return false
	}
	for i := range patterns {
		if !matches(patterns[i], texts[i]) {
			return false
		}
	}
	return true
}

// ofPullRequest reports whether a job runs what a stranger may have proposed.
func ofPullRequest(claims map[string]any) bool {
	text := func(name string) string { s, _ := claims[name].(string); return s }
	return strings.HasPrefix(text("event_name"), "pull_request") || strings.HasPrefix(text("ref"), "refs/pull/") ||
		strings.HasPrefix(text("ref"), "refs/merge-requests/") || text("pipeline_source") == "merge_request_event" ||
		text("pipeline_source") == "external_pull_request_event"
}

// grants are what the rules of an issuer give to claims. A job of a pull request never gets more than planner.
func (i *Issuer) grants(claims map[string]any) []wire.Grant {
	var all []wire.Grant
	for _, rule := range i.Rules {
		if !rule.matches(claims) {
			continue
		}
		grant := wire.Grant{Role: rule.Role, On: rule.On}
		if slices.Index(roles, rule.Role) > int(planner) && i.ClientID == "" && ofPullRequest(claims) {
			grant.Role = planner.String()
		}
		all = append(all, grant)
	}
	return all
}

// issuers knows the keys of the issuers.
type issuers struct {
	settings *OIDC
	client   *http.Client
	now      func() time.Time

	mu   sync.Mutex
	keys map[string]*issuerKeys
}

type issuerKeys struct {
	at   time.Time
	keys map[string]crypto.PublicKey
}

func newIssuers(settings *OIDC, now func() time.Time) *issuers {
	if settings == nil {
		return nil
	}
	client := settings.Client
	if client == nil {
		client = &http.Client{
			Timeout:       10 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &issuers{settings: settings, client: client, now: now, keys: map[string]*issuerKeys{}}
}

// fetch reads a JSON document of an issuer.
func (s *issuers) fetch(ctx context.Context, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	return s.ask(req, into)
}

// ask sends a request to an issuer and reads its JSON.
func (s *issuers) ask(req *http.Request, into any) error {
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", req.URL.Redacted(), res.Status)
	}
	return json.NewDecoder(io.LimitReader(res.Body, mostOfIssuer)).Decode(into)
}

// issuerAbout is what an issuer says of itself.
type issuerAbout struct {
	Issuer    string `json:"issuer"`
	Keys      string `json:"jwks_uri"`
	Authorize string `json:"authorization_endpoint"`
	Token     string `json:"token_endpoint"`
}

// about asks an issuer where its keys are, and where people sign in.
func (s *issuers) about(ctx context.Context, issuer string) (about issuerAbout, err error) {
	err = s.fetch(ctx, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", &about)
	if err == nil && about.Issuer != issuer {
		err = fmt.Errorf("%s says that it is %q", issuer, about.Issuer)
	}
	return about, err
}

// key returns a key of an issuer. A key that is not known is asked for, at most twice a minute.
func (s *issuers) key(ctx context.Context, issuer, id string) (crypto.PublicKey, error) {
	s.mu.Lock()
	known, now := s.keys[issuer], s.now()
	s.mu.Unlock()
	if known != nil && now.Sub(known.at) < keysFor {
		if key := known.keys[id]; key != nil || now.Sub(known.at) < keysAgain {
			return key, nil
		}
	}
	about, err := s.about(ctx, issuer)
	if err != nil {
		return nil, err
	}
	var set struct {
		Keys []jsonKey `json:"keys"`
	}
	if err := s.fetch(ctx, about.Keys, &set); err != nil {
		return nil, err
	}
	fresh := &issuerKeys{now, map[string]crypto.PublicKey{}}
	for _, one := range set.Keys {
		if key := one.public(); key != nil {
			fresh.keys[one.ID] = key
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[issuer] = fresh
	return fresh.keys[id], nil
}

// jsonKey is a key of an issuer as it publishes it.
type jsonKey struct {
	ID    string `json:"kid"`
	Type  string `json:"kty"`
	Use   string `json:"use"`
	Curve string `json:"crv"`
	N     string `json:"n"`
	E     string `json:"e"`
	X     string `json:"x"`
	Y     string `json:"y"`
}

// public is the key, nil for one that signs nothing that is taken here.
func (k *jsonKey) public() crypto.PublicKey {
	number := func(text string) *big.Int {
		raw, _ := base64.RawURLEncoding.DecodeString(text)
		return new(big.Int).SetBytes(raw)
	}
	switch {
	case k.Use != "" && k.Use != "sig":
	case k.Type == "RSA":
		key := &rsa.PublicKey{N: number(k.N), E: int(number(k.E).Int64())}
		if key.N.BitLen() >= 2048 && key.E >= 3 {
			return key
		}
	case k.Type == "EC" && k.Curve == "P-256":
		x, errX := base64.RawURLEncoding.DecodeString(k.X)
		y, errY := base64.RawURLEncoding.DecodeString(k.Y)
		if errX != nil || errY != nil || len(x) != 32 || len(y) != 32 {
			return nil
		}
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y))
		if err == nil {
			return key
		}
	}
	return nil
}

// errIDToken is one answer for every ID token that is not good. The reason is for the service's log.
func errIDToken() error {
	p := wire.NewProblem(http.StatusUnauthorized, wire.CodeUnauthorized, "the ID token is not taken",
		"its issuer, audience, signature, time or claims are not those that the service takes, or it was used before")
	p.Hint = "sign in again; the log of the service says which"
	return p
}

// verify returns the issuer and the claims of an ID token that is good now, by its issuer's keys.
func (s *issuers) verify(ctx context.Context, token, nonce string) (*Issuer, map[string]any, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(token) > 32<<10 {
		return nil, nil, errors.New("it is no signed token")
	}
	var head struct {
		Algorithm string   `json:"alg"`
		Key       string   `json:"kid"`
		Critical  []string `json:"crit"`
	}
	claims := map[string]any{}
	if err := part(parts[0], &head); err != nil {
		return nil, nil, err
	}
	if err := part(parts[1], &claims); err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(s.settings.Issuers, func(i Issuer) bool { return i.Issuer == claims["iss"] })
	if at < 0 {
		return nil, nil, fmt.Errorf("its issuer is %q", claims["iss"])
	}
	issuer := &s.settings.Issuers[at]
	if len(head.Critical) > 0 {
		return nil, nil, errors.New("it has critical extensions")
	}
	key, err := s.key(ctx, issuer.Issuer, head.Key)
	if err != nil {
		return nil, nil, &statestore.UnavailableError{Path: issuer.Issuer, Err: err}
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err == nil {
		err = checkSignature(head.Algorithm, key, []byte(parts[0]+"."+parts[1]), signature)
	}
	if err == nil {
		err = s.current(issuer, claims, nonce)
	}
	return issuer, claims, err
}

// part decodes one of the first two parts of a token.
func part(text string, into any) error {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return err
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	return d.Decode(into)
}

// checkSignature takes two algorithms, and each with a key of its own type alone.
func checkSignature(algorithm string, key crypto.PublicKey, signed, signature []byte) error {
	sum := sha256.Sum256(signed)
	switch key := key.(type) {
	case nil:
		return errors.New("the issuer has no such key")
	case *rsa.PublicKey:
		if algorithm != "RS256" {
			return fmt.Errorf("it is signed by %q with an RSA key", algorithm)
		}
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature)
	case *ecdsa.PublicKey:
		if algorithm != "ES256" || len(signature) != 64 {
			return fmt.Errorf("it is signed by %q with a key of P-256", algorithm)
		}
		if !ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
			return errors.New("the signature is wrong")
		}
	}
	return nil
}

// current checks whom a token is for, and when.
func (s *issuers) current(issuer *Issuer, claims map[string]any, nonce string) error {
	audience := s.settings.Audience
	if issuer.ClientID != "" {
		audience = issuer.ClientID
		if have, _ := claims["nonce"].(string); have != nonce || nonce == "" {
			return errors.New("its nonce is another one")
		}
		if by, has := claims["azp"]; has && by != issuer.ClientID {
			return fmt.Errorf("it was issued to %q", by)
		}
	}
	if !slices.Contains(values(claims["aud"]), audience) {
		return fmt.Errorf("its audience is %v", claims["aud"])
	}
	if subject, _ := claims["sub"].(string); subject == "" {
		return errors.New("it has no subject")
	}
	now := s.now()
	seconds := func(name string) (time.Time, bool) {
		number, ok := claims[name].(json.Number)
		n, err := number.Float64()
		return time.Unix(int64(n), 0), ok && err == nil
	}
	expires, has := seconds("exp")
	if !has || now.After(expires.Add(leeway)) || expires.Sub(now) > 24*time.Hour {
		return fmt.Errorf("it expires %v", claims["exp"])
	}
	if begins, has := seconds("nbf"); has && now.Add(leeway).Before(begins) || !has && claims["nbf"] != nil {
		return fmt.Errorf("it is not good before %v", claims["nbf"])
	}
	if issued, has := seconds("iat"); !has || now.Add(leeway).Before(issued) {
		return fmt.Errorf("it was issued %v", claims["iat"])
	}
	return nil
}

// usedFolder holds the ID tokens that were exchanged, until they expire.
const usedFolder = "service.oidc"

// use notes that an ID token was exchanged. The second time it is refused.
func (s *Service) use(ctx context.Context, token string, claims map[string]any) error {
	id, _ := claims["jti"].(string)
	if id == "" {
		id = token
	}
	sum := sha256.Sum256([]byte(fmt.Sprint(claims["iss"], "\n", id)))
	key, now := hex.EncodeToString(sum[:]), s.settings.Clock()
	return s.store.ChangeFolder(ctx, usedFolder, func(f statestore.Folder) (bool, error) {
		var old []string
		for key, until := range f.Documents("", "") {
			if at, err := time.Parse(time.RFC3339, string(until)); err != nil || now.After(at) {
				old = append(old, key)
			}
		}
		for _, key := range old {
			if err := f.Delete(key); err != nil {
				return false, err
			}
		}
		if known, err := f.Get(key); err != nil || known != nil {
			return false, errors.Join(err, errUsed)
		}
		return true, f.Put(key, []byte(now.Add(25*time.Hour).Format(time.RFC3339)))
	})
}

var errUsed = errors.New("it was used before")

// listIssuers says where people sign in, and for what audience jobs ask for ID tokens.
func (s *Service) listIssuers(*request) (any, error) {
	answer := wire.Issuers{Issuers: []wire.Issuer{}}
	if s.issuers == nil {
		return answer, nil
	}
	answer.Audience = s.issuers.settings.Audience
	for _, issuer := range s.issuers.settings.Issuers {
		if issuer.ClientID != "" {
			answer.Issuers = append(answer.Issuers, wire.Issuer{Issuer: issuer.Issuer, ClientID: issuer.ClientID, Scopes: issuer.Scopes})
		}
	}
	return answer, nil
}

// signIn exchanges an ID token for an API token with what the rules of its issuer give.
func (s *Service) signIn(in *request) (any, error) {
	var body wire.SignIn
	if err := decode(in, &body); err != nil {
		return nil, err
	}
	if s.issuers == nil {
		return nil, wire.NewProblem(http.StatusNotFound, wire.CodeNotFound, "the service takes no ID tokens", "")
	}
	refuse := func(why error) error {
		s.guesses.take(remoteOf(in.Request, s.settings.Proxies))
		s.settings.Log(in.Method, in.URL.EscapedPath(), fmt.Errorf("an ID token was refused: %w", why))
		return errIDToken()
	}
	issuer, claims, err := s.issuers.verify(in.Context(), body.IDToken, body.Nonce)
	if errors.Is(err, statestore.ErrUnavailable) {
		return nil, err
	}
	if err != nil {
		return nil, refuse(err)
	}
	grants := issuer.grants(claims)
	if len(grants) == 0 {
		return nil, refuse(fmt.Errorf("no rule matches the subject %q", claims["sub"]))
	}
	if err := s.use(in.Context(), body.IDToken, claims); errors.Is(err, errUsed) {
		return nil, refuse(err)
	} else if err != nil {
		return nil, err
	}
	life, err := issuer.life()
	if err != nil {
		return nil, err
	}
	subject, _ := claims["sub"].(string)
	by := wire.Author{Account: issuer.Issuer + " " + subject, From: remoteOf(in.Request, s.settings.Proxies)}
	return s.tokens.create(in.Context(), by, apiToken{
		Name: nameOf(issuer, claims), Grants: grants, Subject: by.Account, Person: issuer.ClientID != "",
	}, life)
}

// nameOf is what the history shows: the address of a person, the repository of a job.
func nameOf(issuer *Issuer, claims map[string]any) string {
	names := []string{"repository", "project_path", "sub"}
	if issuer.ClientID != "" {
		names = []string{"email", "preferred_username", "name", "sub"}
	}
	for _, name := range names {
		if text, _ := claims[name].(string); text != "" {
			if ref, _ := claims["ref"].(string); issuer.ClientID == "" && ref != "" && name != "sub" {
				text += "@" + strings.TrimPrefix(ref, "refs/heads/")
			}
			text = strings.Map(func(r rune) rune {
				if strings.ContainsRune("()\n", r) {
					return '_'
				}
				return r
			}, text)
			return text[:min(len(text), 100)]
		}
	}
	return "somebody"
}
