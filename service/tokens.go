package service

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// How long API tokens are good for, and how stale what a replica knows of one may be.
const (
	DefaultLife = 90 * 24 * time.Hour
	MaxLife     = 365 * 24 * time.Hour
	trusted     = 3 * time.Second  // a revoked token is refused by every replica after it
	usedEvery   = 10 * time.Minute // between two notes of when a token was last used
)

const (
	apiPrefix    = "ath_"
	runPrefix    = "athr_"
	tokensFolder = "service.tokens"
)

// apiToken is an API token as it is stored. The secret is not.
type apiToken struct {
	ID       string       `json:"id"`
	Name     string       `json:"name"`
	Hash     []byte       `json:"hash"`
	Grants   []wire.Grant `json:"grants"`
	Created  time.Time    `json:"created"`
	Creator  string       `json:"creator"`
	Expires  time.Time    `json:"expires"`
	LastUsed time.Time    `json:"lastUsed,omitzero"`
	Revoked  time.Time    `json:"revoked,omitzero"`
	// Subject is the issuer and subject of an ID token that was exchanged for it.
	Subject string `json:"subject,omitempty"`
	// Person: the subject is of a person. Maker is the subject, or the token, that created it.
	Person bool   `json:"person,omitzero"`
	Maker  string `json:"maker,omitempty"`
}

func (t *apiToken) shown() wire.Token {
	return wire.Token{
		ID: t.ID, Name: t.Name, Grants: t.Grants, Created: t.Created, Creator: t.Creator, Expires: t.Expires, LastUsed: t.LastUsed,
		Revoked: t.Revoked, Subject: t.Subject,
	}
}

// Tokens are the API tokens in a store.
type Tokens struct {
	store statestore.Folders
	now   func() time.Time
	log   *auditLog

	mu    sync.Mutex
	known map[string]*knownToken
}

// knownToken is a token as it was read a moment ago; nil when there is none.
type knownToken struct {
	token  *apiToken
	grants []grant
	at     time.Time
}

// NewTokens returns the API tokens of a store. Clock is the wall clock.
func NewTokens(store statestore.Folders, clock func() time.Time) *Tokens {
	return newTokens(store, clock, &auditLog{store: store})
}

func newTokens(store statestore.Folders, clock func() time.Time, log *auditLog) *Tokens {
	return &Tokens{store: store, now: clock, log: log, known: map[string]*knownToken{}}
}

// ErrNoToken says that a store has no such token.
var ErrNoToken = errors.New("there is no such token")

// Create makes a token and returns it with its secret, which is not kept. Life is 90 days when it is zero.
func (t *Tokens) Create(ctx context.Context, by wire.Author, name string, grants []wire.Grant, life time.Duration) (wire.Token, error) {
	return t.create(ctx, by, apiToken{Name: name, Grants: grants}, life)
}

// create makes a token of a name, grants and subject. Tokens of ID tokens that expired a day ago are dropped: CI makes many.
func (t *Tokens) create(ctx context.Context, by wire.Author, token apiToken, life time.Duration) (wire.Token, error) {
	if _, err := givenGrants(token.Grants); err != nil {
		return wire.Token{}, err
	}
	if life == 0 {
		life = DefaultLife
	}
	switch {
	case token.Name == "" || len(token.Name) > 100 || strings.ContainsAny(token.Name, "()\n"):
		return wire.Token{}, errors.New("a token needs a name of 1 to 100 characters, without parentheses")
	case life < time.Minute || life > MaxLife:
		return wire.Token{}, fmt.Errorf("a token is good for a minute to %d days", MaxLife/(24*time.Hour))
	}
	raw := make([]byte, 38)
	_, _ = rand.Read(raw) // it never fails
	now := t.now().UTC().Truncate(time.Second)
	token.ID, token.Created, token.Creator, token.Expires = hex.EncodeToString(raw[:6]), now, by.Account, now.Add(life)
	secret := apiPrefix + token.ID + "_" + base64.RawURLEncoding.EncodeToString(raw[6:])
	token.Hash = hashOf(secret)
	err := t.store.ChangeFolder(ctx, tokensFolder, func(f statestore.Folder) (bool, error) {
		if token.Subject != "" {
			if err := dropExpired(f, now); err != nil {
				return false, err
			}
		}
		return true, putToken(f, &token)
	})
	if err == nil {
		err = t.audit(ctx, by, auditCreate, token.ID, token.Name)
	}
	if err != nil {
		return wire.Token{}, err
	}
	shown := token.shown()
	shown.Secret = secret
	return shown, nil
}

// dropExpired drops the tokens of ID tokens that expired a day ago.
func dropExpired(f statestore.Folder, now time.Time) error {
	var old []string
	for id, document := range f.Documents("", "") {
		var token apiToken
		if json.Unmarshal(document, &token) == nil && token.Subject != "" && now.Sub(token.Expires) > 24*time.Hour {
			old = append(old, id)
		}
	}
	for _, id := range old {
		if err := f.Delete(id); err != nil {
			return err
		}
	}
	return nil
}

// audit notes what was done to a token, once.
func (t *Tokens) audit(ctx context.Context, by wire.Author, action, id, name string) error {
	entry := wire.AuditEntry{Author: by, Action: action, Detail: wire.Text(id + " " + name)}
	return t.log.add(ctx, t.now(), action+" "+id, entry)
}

// List returns all tokens, the newest first.
func (t *Tokens) List(ctx context.Context) ([]wire.Token, error) {
	var all []wire.Token
	err := t.store.ReadFolder(ctx, tokensFolder, func(f statestore.Folder) error {
		all = nil
		for id, document := range f.Documents("", "") {
			var token apiToken
			if err := json.Unmarshal(document, &token); err != nil {
				token = apiToken{ID: id, Name: "damaged"}
			}
			all = append(all, token.shown())
		}
		return nil
	})
	slices.SortStableFunc(all, func(a, b wire.Token) int { return b.Created.Compare(a.Created) })
	return all, err
}

// otherAdmin reports whether somebody else has a good token with the role admin on a stage.
func (t *Tokens) otherAdmin(ctx context.Context, me identity, stage statestore.Stage) (found bool, err error) {
	now := t.now()
	err = t.store.ReadFolder(ctx, tokensFolder, func(f statestore.Folder) error {
		found = false
		for _, document := range f.Documents("", "") {
			var token apiToken
			if json.Unmarshal(document, &token) != nil || !token.Revoked.IsZero() || !now.Before(token.Expires) {
				continue
			}
			grants, err := parseGrants(token.Grants)
			other := (&caller{token: &token}).identity()
			found = found || err == nil && roleOn(grants, stage) >= admin && !other.same(me)
		}
		return nil
	})
	return found, err
}

// Revoke ends a token, and with it its runs and streams: at once where it is called, within seconds on other replicas.
func (t *Tokens) Revoke(ctx context.Context, by wire.Author, id string) error {
	name := ""
	err := t.change(ctx, id, func(token *apiToken) bool {
		name = token.Name
		if !token.Revoked.IsZero() {
			return false
		}
		token.Revoked = t.now().UTC().Truncate(time.Second)
		return true
	})
	t.mu.Lock()
	delete(t.known, id)
	t.mu.Unlock()
	if err == nil {
		err = t.audit(ctx, by, auditRevoke, id, name)
	}
	return err
}

// change changes a token in one transaction, when the change says that there is something to change.
func (t *Tokens) change(ctx context.Context, id string, change func(*apiToken) bool) error {
	return t.store.ChangeFolder(ctx, tokensFolder, func(f statestore.Folder) (bool, error) {
		token, err := getToken(f, id)
		if err != nil || !change(token) {
			return false, err
		}
		return true, putToken(f, token)
	}, id)
}

func getToken(f statestore.Folder, id string) (*apiToken, error) {
	document, err := f.Get(id)
	if err != nil {
		return nil, err
	}
	if document == nil {
		return nil, ErrNoToken
	}
	token := new(apiToken)
	return token, json.Unmarshal(document, token)
}

func putToken(f statestore.Folder, token *apiToken) error {
	document, err := json.Marshal(token)
	if err != nil {
		return err
	}
	return f.Put(token.ID, document)
}

func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// caller is who sends a request.
type caller struct {
	token  *apiToken
	grants []grant
}

// account names the caller in runs and in the audit log.
func (c *caller) account() string { return "token " + c.token.Name }

// errUnauthorized is one answer for every token that is not good: which of its parts is wrong is nobody's business.
func errUnauthorized() error {
	p := wire.NewProblem(http.StatusUnauthorized, wire.CodeUnauthorized, "the token is not valid", "the token is unknown, expired or revoked")
	p.Hint = "athanor login URL with a new token"
	return p
}

// knows reports whether a secret names a token that was seen before, right or wrong: reading it again costs little.
func (t *Tokens) knows(secret string) bool {
	rest, ok := strings.CutPrefix(secret, apiPrefix)
	if !ok {
		rest = strings.TrimPrefix(secret, runPrefix)
	}
	id, _, _ := strings.Cut(rest, "_")
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[id] != nil
}

// authenticate returns the caller whose API token a secret is.
func (t *Tokens) authenticate(ctx context.Context, secret string) (*caller, error) {
	rest, ok := strings.CutPrefix(secret, apiPrefix)
	id, _, whole := strings.Cut(rest, "_")
	if !ok || !whole {
		return nil, errUnauthorized()
	}
	who, err := t.byID(ctx, id)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare(hashOf(secret), who.token.Hash) != 1 {
		return nil, errUnauthorized()
	}
	return who, nil
}

// byID returns the caller of a token that is neither expired nor revoked.
func (t *Tokens) byID(ctx context.Context, id string) (*caller, error) {
	known, err := t.read(ctx, id)
	if err != nil {
		return nil, err
	}
	now := t.now()
	if known.token == nil || !known.token.Revoked.IsZero() || !now.Before(known.token.Expires) {
		return nil, errUnauthorized()
	}
	return &caller{known.token, known.grants}, nil
}

// read returns what is stored of a token, not older than trusted.
func (t *Tokens) read(ctx context.Context, id string) (*knownToken, error) {
	now := t.now()
	t.mu.Lock()
	known := t.known[id]
	t.mu.Unlock()
	if known != nil && now.Sub(known.at) < trusted && !now.Before(known.at) {
		return known, nil
	}
	known = &knownToken{at: now}
	err := t.store.ReadFolder(ctx, tokensFolder, func(f statestore.Folder) (err error) {
		known.token, err = getToken(f, id)
		return err
	}, id)
	if errors.Is(err, ErrNoToken) {
		return &knownToken{}, nil // not remembered: guesses must not fill the memory
	}
	if err != nil {
		return nil, err
	}
	if known.grants, err = parseGrants(known.token.Grants); err != nil {
		return nil, err
	}
	if now.Sub(known.token.LastUsed) > usedEvery && known.token.Revoked.IsZero() {
		// Best effort: a use that is not noted stops nobody.
		_ = t.change(ctx, id, func(token *apiToken) bool {
			noted := now.Sub(token.LastUsed) <= usedEvery // by another request
			token.LastUsed = now.UTC().Truncate(time.Second)
			return !noted
		})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[id] = known
	return known, nil
}

// runToken is the token of a run: made of the client's nonce, so that the service can give it again and keeps its hash
// alone. It names the API token that the run was started with.
func runToken(who *caller, stage statestore.Stage, run string, nonce []byte) string {
	h := sha256.New()
	for _, part := range []string{"athanor run token", stage.Stack, stage.Name, run, string(nonce)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return runPrefix + who.token.ID + "_" + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// runCaller returns whose run a run token is of. Whether the token is the run's is decided in the transaction that writes.
func (t *Tokens) runCaller(ctx context.Context, secret string) (*caller, error) {
	rest, ok := strings.CutPrefix(secret, runPrefix)
	id, _, whole := strings.Cut(rest, "_")
	if !ok || !whole {
		return nil, errUnauthorized()
	}
	return t.byID(ctx, id)
}
