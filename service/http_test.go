package service_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/proctest"
	"github.com/athanor-dev/athanor/statestore/remote"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

var prod = statestore.Stage{Stack: "shop", Name: "prod"}

// served is one service in front of a file.
type served struct {
	*testing.T
	store   *bolt.Store
	service *service.Service
	url     string
}

func serve(t *testing.T, change ...func(*service.Settings)) *served {
	t.Helper()
	store, err := bolt.Open(filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	set := settings(t)
	for _, c := range change {
		c(&set)
	}
	s := service.New(t.Context(), store, set)
	server := httptest.NewServer(described(t, s))
	t.Cleanup(func() { s.Stop(); server.Close(); store.Close() })
	return &served{t, store, s, server.URL}
}

// client is a store with a token of the given grants.
func (s *served) client(grants ...wire.Grant) *remote.Store {
	s.Helper()
	return s.with(newToken(s, s.store, grants...))
}

func (s *served) with(token string) *remote.Store {
	s.Helper()
	store, err := remote.Open(s.url, func(string) (string, error) { return token, nil })
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { store.Close() })
	return store
}

// send sends one request as it is and returns status, header and body.
func (s *served) send(method, path, token, body string, header ...string) (int, http.Header, string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.Fatal(err)
	}
	return res.StatusCode, res.Header, string(text)
}

// code is the code of a problem.
func code(body string) string {
	var p wire.Problem
	_ = json.Unmarshal([]byte(body), &p)
	return p.Code
}

func row(address string, version uint64) statestore.Row {
	return statestore.Row{Address: address, Version: version, Birth: address, Generations: []statestore.Generation{{
		Number: 1, State: statestore.Live, Kind: "k", Place: statestore.Place{Provider: "p"}, Identity: address,
	}}}
}

const stageURL = "/v1/stacks/shop/stages/prod"

// TestRoles: each operation needs its role on the stage, and a run token is good for its run alone.
func TestRoles(t *testing.T) {
	t.Parallel()
	s := serve(t)
	lease, err := s.client().Acquire(t.Context(), prod, statestore.Claim{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[string]string{}
	for _, role := range service.Roles() {
		tokens[role] = newToken(t, s.store, wire.Grant{Role: role, On: "shop/p*"}, wire.Grant{Role: "reader", On: "other/*"})
	}
	batch := fmt.Sprintf(`{"epoch":"%d","seq":"1","renew":true}`, lease.Epoch)
	for _, c := range []struct {
		method, path, body string
		from               string // the weakest role that may
	}{
		{"GET", stageURL + "/state", "", "reader"},
		{"GET", stageURL + "/versions", "", "reader"},
		{"GET", stageURL + "/runs", "", "reader"},
		{"GET", stageURL + "/runs/r1/events", "", "reader"},
		{"POST", stageURL + "/runs", `{"run":"r-ROLE","client":{"host":"h","pid":1}}`, "deployer"},
		{"POST", stageURL + "/runs/r1/cancel", `{}`, "deployer"},
		{"POST", stageURL + "/runs/r0/unlock", `{}`, "deployer"},
		{"GET", "/v1/tokens", "", "admin"},
		{"POST", "/v1/tokens", `{"name":"n","grants":[{"role":"reader","on":"shop/prod"}]}`, "admin"},
		{"GET", "/v1/service", "", "reader"},
		{"GET", "/v1/stages", "", "reader"},
	} {
		allowed := false
		for _, role := range service.Roles() {
			allowed = allowed || role == c.from
			status, _, body := s.send(c.method, c.path, tokens[role], strings.ReplaceAll(c.body, "ROLE", role))
			if allowed != (status < 300) || !allowed && (status != http.StatusForbidden || code(body) != wire.CodeForbidden) {
				t.Errorf("%s %s as %s: %d %s", c.method, c.path, role, status, body)
			}
		}
		for name, token := range map[string]string{"no": "", "a forged": tokens["admin"] + "x", "a run": string(lease.Token)} {
			if status, header, body := s.send(c.method, c.path, token, c.body); status != http.StatusUnauthorized || header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s %s with %s token: %d %s", c.method, c.path, name, status, body)
			}
		}
	}
	for path, want := range map[string]int{"shop/stages/dev": 403, "Shop/stages/prod": 403, "shop/stages/~cC9w": 200, "shop%2Fprod/stages/x": 403} {
		if status, _, body := s.send("GET", "/v1/stacks/"+path+"/state", tokens["admin"], ""); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for name, c := range map[string]struct{ path, token string }{
		"another run":   {stageURL + "/runs/r2/renew", string(lease.Token)},
		"another stage": {"/v1/stacks/shop/stages/dev/runs/r1/renew", string(lease.Token)},
		"a forged one":  {stageURL + "/runs/r1/renew", string(lease.Token)[:len(lease.Token)-2] + "xx"},
	} {
		if status, _, body := s.send("POST", c.path, c.token, batch); status != http.StatusConflict || code(body) != wire.CodeFenced {
			t.Errorf("a run token with %s: %d %s", name, status, body)
		}
	}
	if status, _, body := s.send("POST", stageURL+"/runs/r1/renew", tokens["admin"], batch); status != http.StatusUnauthorized {
		t.Errorf("an API token in place of the run's: %d %s", status, body)
	}
	if status, _, body := s.send("POST", stageURL+"/runs/r1/renew", string(lease.Token), batch); status != http.StatusOK {
		t.Errorf("the run token: %d %s", status, body)
	}
}

// TestTokens: an admin makes tokens that are not stronger than its own, and a token that is revoked or expired is refused,
// those of its runs with it.
func TestTokens(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	pass := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	s := serve(t, func(set *service.Settings) {
		set.Clock = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	})
	boss := newToken(t, s.store, wire.Grant{Role: "admin", On: "shop/*"}, wire.Grant{Role: "reader", On: "*/*"})
	for _, c := range []struct {
		want int
		body string
	}{
		{http.StatusCreated, `{"name":"a","grants":[{"role":"deployer","on":"shop/*"}]}`},
		{http.StatusCreated, `{"name":"b","grants":[{"role":"admin","on":"shop/prod"}],"expires":"1h"}`},
		{http.StatusForbidden, `{"name":"c","grants":[{"role":"deployer","on":"*/*"}]}`},
		{http.StatusForbidden, `{"name":"d","grants":[{"role":"reader","on":"other/*"}]}`},
		{http.StatusForbidden, `{"name":"e","grants":[{"role":"reader","on":"shop/*"},{"role":"admin","on":"shop*/prod"}]}`},
		{http.StatusUnprocessableEntity, `{"name":"f","grants":[]}`},
		{http.StatusUnprocessableEntity, `{"name":"g","grants":[{"role":"owner","on":"shop/*"}]}`},
		{http.StatusUnprocessableEntity, `{"name":"h","grants":[{"role":"reader","on":"shop"}]}`},
		{http.StatusUnprocessableEntity, `{"name":"h1","grants":[{"role":"reader","on":"shop/["}]}`},
		{http.StatusUnprocessableEntity, `{"name":"h2","grants":[{"role":"reader","on":"shop/dev-?"}]}`},
		{http.StatusUnprocessableEntity, `{"name":"h3","grants":[{"role":"reader","on":"sh op/*"}]}`},
		{http.StatusCreated, `{"name":"h4","grants":[{"role":"reader","on":"shop/dev-_.:é*"}]}`},
		{http.StatusUnprocessableEntity, `{"name":"i","grants":[{"role":"reader","on":"shop/*"}],"expires":"9000h"}`},
		{http.StatusUnprocessableEntity, `{"name":"","grants":[{"role":"reader","on":"shop/*"}]}`},
		{http.StatusUnprocessableEntity, `{"name":"j (token root)","grants":[{"role":"reader","on":"shop/*"}]}`},
		{http.StatusBadRequest, `{"name":"k","grants":[{"role":"reader","on":"shop/*"}],"isAdmin":true}`},
		{http.StatusBadRequest, `{"name":"l","grants":[{"role":"reader","on":"shop/*"}]} {}`},
	} {
		if status, _, answer := s.send("POST", "/v1/tokens", boss, c.body); status != c.want {
			t.Errorf("%s: %d %s", c.body, status, answer)
		}
	}
	var made wire.Token
	_, _, answer := s.send("POST", "/v1/tokens", boss, `{"name":"ci","grants":[{"role":"deployer","on":"shop/*"}],"expires":"24h"}`)
	if err := json.Unmarshal([]byte(answer), &made); err != nil || !strings.HasPrefix(made.Secret, "ath_") || made.Creator != "token ci" {
		t.Fatalf("%s: %v", answer, err)
	}
	_, _, listed := s.send("GET", "/v1/tokens", boss, "")
	if !strings.Contains(listed, made.ID) || strings.Contains(listed, made.Secret) || strings.Contains(listed, `"role":"reader","on":"*/*"`) {
		t.Errorf("listed: %s", listed)
	}
	file := readAll(t, s.store.Path())
	for _, secret := range []string{made.Secret, boss} {
		if _, tail, _ := strings.Cut(strings.TrimPrefix(secret, "ath_"), "_"); bytes.Contains(file, []byte(tail)) {
			t.Error("the store holds a token in clear")
		}
	}
	lease, err := s.with(made.Secret).Acquire(t.Context(), prod, statestore.Claim{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(readAll(t, s.store.Path()), []byte(lease.Token)) || fmt.Sprintf("%+v %#v %v", lease, lease, lease.Token) != strings.ReplaceAll(fmt.Sprintf("%+v %#v %v", lease, lease, lease.Token), string(lease.Token), "") {
		t.Error("a run token is stored or shown in clear")
	}
	if status, _, body := s.send("DELETE", "/v1/tokens/nothing", boss, ""); status != http.StatusNotFound {
		t.Errorf("revoking nothing: %d %s", status, body)
	}
	for range 2 {
		if status, _, body := s.send("DELETE", "/v1/tokens/"+made.ID, boss, ""); status != http.StatusOK {
			t.Errorf("revoking: %d %s", status, body)
		}
	}
	refused := func(what, token string) {
		t.Helper()
		if status, _, body := s.send("GET", stageURL+"/runs", token, ""); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", what, status, body)
		}
	}
	refused("a revoked token", made.Secret)
	batch := fmt.Sprintf(`{"epoch":"%d","seq":"1","renew":true}`, lease.Epoch)
	if status, _, body := s.send("POST", stageURL+"/runs/r1/renew", string(lease.Token), batch); status != http.StatusUnauthorized {
		t.Errorf("a run of a revoked token: %d %s", status, body)
	}
	if status, _, body := s.send("GET", "/v1/service", boss, ""); status != http.StatusOK || !strings.Contains(body, `"account":"token ci"`) {
		t.Errorf("before it expires: %d %s", status, body)
	}
	pass(service.DefaultLife)
	refused("an expired token", boss)
}

// TestNames: what a caller says of itself cannot pass for what was authenticated, and one token cannot start what another
// one registered.
func TestNames(t *testing.T) {
	t.Parallel()
	s := serve(t)
	mine, other := newToken(t, s.store), newToken(t, s.store)
	body := func(run, user string) string {
		return fmt.Sprintf(`{"run":%q,"user":%q,"client":{"host":"h","pid":1}}`, run, user)
	}
	for user, want := range map[string]int{"ann": 201, "ann (token ci)": 201, "ann (token boss)": 403, "ann (uid 0)": 403} {
		if status, _, answer := s.send("POST", stageURL+"/runs", mine, body("r-"+strconv.Itoa(len(user)), user)); status != want {
			t.Errorf("%s: %d %s", user, status, answer)
		}
	}
	s.send("POST", stageURL+"/runs", mine, body("r1", "ann"))
	nonce := `{"nonce":"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}`
	if status, _, answer := s.send("POST", stageURL+"/runs/r1/start", other, nonce); status != http.StatusForbidden {
		t.Errorf("another token's run: %d %s", status, answer)
	}
	if status, _, answer := s.send("POST", stageURL+"/runs", other, body("r1", "eve")); status != http.StatusUnprocessableEntity {
		t.Errorf("registered over: %d %s", status, answer)
	}
	if status, _, answer := s.send("POST", stageURL+"/runs/r9/start", mine, nonce); status != http.StatusNotFound {
		t.Errorf("not registered: %d %s", status, answer)
	}
	if status, _, answer := s.send("POST", stageURL+"/runs/r1/start", mine, `{"nonce":"AAAA"}`); status != http.StatusUnprocessableEntity {
		t.Errorf("a short nonce: %d %s", status, answer)
	}
	first, _, one := s.send("POST", stageURL+"/runs/r1/start", mine, nonce)
	again, _, two := s.send("POST", stageURL+"/runs/r1/start", mine, nonce)
	var a, b wire.Lease
	if json.Unmarshal([]byte(one), &a) != nil || json.Unmarshal([]byte(two), &b) != nil || first != 200 || again != 200 || a.Token == "" || a.Token != b.Token || a.Epoch != b.Epoch {
		t.Errorf("%d %s, %d %s", first, one, again, two)
	}
	if _, err := s.client().Acquire(t.Context(), prod, statestore.Claim{Run: "r2"}); err == nil || !strings.Contains(err.Error(), "held by run r1 (") {
		t.Errorf("two at once: %v", err)
	}
}

// TestWire: what is no request of the protocol is refused by what is wrong with it.
func TestWire(t *testing.T) {
	t.Parallel()
	s := serve(t)
	token := newToken(t, s.store)
	var bomb bytes.Buffer
	z, _ := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	fmt.Fprint(z, `{"who":"`)
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	for range wire.MaxBody>>20 + 1 {
		z.Write(spaces)
	}
	z.Close()
	big := `{"who":"` + strings.Repeat("x", wire.MaxBody) + `"}`
	const cancel = stageURL + "/runs/r1/cancel"
	for name, c := range map[string]struct {
		method, path, body string
		header             []string
		status             int
		code               string
	}{
		"no address":         {"GET", "/v1/nothing", "", nil, 404, wire.CodeNotFound},
		"kept for Pulumi":    {"GET", "/api/user", "", nil, 404, wire.CodeNotFound},
		"kept for Terraform": {"GET", "/tf/shop/prod", "", nil, 404, wire.CodeNotFound},
		"no method":          {"DELETE", stageURL + "/state", "", nil, 405, wire.CodeNotFound},
		"a newer client":     {"GET", "/v1/service", "", []string{wire.VersionHeader, "2"}, 426, wire.CodeProtocol},
		"no JSON":            {"POST", cancel, "x", nil, 400, wire.CodeMalformed},
		"no body":            {"POST", cancel, "", nil, 400, wire.CodeMalformed},
		"an unknown field":   {"POST", cancel, `{"force":true}`, nil, 400, wire.CodeMalformed},
		"no gzip":            {"POST", cancel, "{}", []string{"Content-Encoding", "gzip"}, 400, wire.CodeMalformed},
		"another coding":     {"POST", cancel, "{}", []string{"Content-Encoding", "br"}, 415, wire.CodeMalformed},
		"a bomb":             {"POST", cancel, bomb.String(), []string{"Content-Encoding", "gzip"}, 413, wire.CodeTooLarge},
		"a large body":       {"POST", cancel, big, nil, 413, wire.CodeTooLarge},
		"a name of two ways": {"GET", "/v1/stacks/~c2hvcA/stages/prod/state", "", nil, 422, wire.CodeInvalid},
		"no base64url":       {"GET", "/v1/stacks/~!/stages/prod/state", "", nil, 422, wire.CodeInvalid},
		"no name":            {"GET", "/v1/stacks/~/stages/prod/state", "", nil, 422, wire.CodeInvalid},
		"no number":          {"GET", stageURL + "/runs?limit=x", "", nil, 400, wire.CodeMalformed},
		"no cursor":          {"GET", stageURL + "/runs/r1/events?after=-1", "", nil, 400, wire.CodeMalformed},
		"no serial":          {"GET", stageURL + "/versions/x", "", nil, 400, wire.CodeMalformed},
	} {
		status, header, body := s.send(c.method, c.path, token, c.body, c.header...)
		if status != c.status || code(body) != c.code || header.Get("Content-Type") != wire.ProblemType || header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %.200s", name, status, header, body)
		}
	}
	_, header, _ := s.send("GET", stageURL+"/state", token, "")
	if status, _, body := s.send("GET", stageURL+"/state", token, "", "If-None-Match", header.Get("ETag")); status != http.StatusNotModified || body != "" {
		t.Errorf("with its ETag: %d %s", status, body)
	}
	for _, path := range []string{"/livez", "/readyz", "/v1/openapi.json"} {
		if status, _, body := s.send("GET", path, "", ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// TestBatches: each of the requests that write takes its own kind of batch.
func TestBatches(t *testing.T) {
	t.Parallel()
	s := serve(t)
	lease, err := s.client().Acquire(t.Context(), prod, statestore.Claim{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := json.Marshal(wire.FromRow(new(row("a", 0))))
	batches := map[string]string{
		"commits": `"put":[` + string(rows) + `]`, "events": `"events":[{"seq":"1","body":"ZQ=="}]`, "renew": `"renew":true`,
		"complete": `"finish":"succeeded"`,
	}
	// A commit may carry all but the end.
	takes := map[string]string{"commits": "commits events renew", "events": "events", "renew": "renew", "complete": "complete"}
	seq := 0
	for _, request := range []string{"commits", "events", "renew", "complete"} {
		for _, kind := range []string{"complete", "commits", "events", "renew"} {
			if request == "renew" && kind == "events" {
				continue // a renewal carries events too
			}
			if request == "complete" && kind == "complete" {
				continue
			}
			may := strings.Contains(takes[request], kind)
			body := fmt.Sprintf(`{"epoch":"%d","seq":"%d",%s}`, lease.Epoch, seq+1, batches[kind])
			if request == "commits" && kind == "events" {
				body = strings.Replace(body, `"seq":"1","body"`, `"seq":"2","body"`, 1)
			}
			status, _, answer := s.send("POST", stageURL+"/runs/r1/"+request, string(lease.Token), body)
			if may {
				seq++
			}
			if may && status != http.StatusOK || !may && (status != http.StatusUnprocessableEntity || code(answer) != wire.CodeInvalid) {
				t.Errorf("%s takes a batch of %s: %d %s", request, kind, status, answer)
			}
		}
	}
	twice := fmt.Sprintf(`{"epoch":"%d","seq":"%d","meta":[{"name":"m","value":"AA=="},{"name":"m","value":null}]}`, lease.Epoch, seq+1)
	if status, _, answer := s.send("POST", stageURL+"/runs/r1/commits", string(lease.Token), twice); status != http.StatusUnprocessableEntity {
		t.Errorf("one fact twice: %d %s", status, answer)
	}
	end := fmt.Sprintf(`{"epoch":"%d","seq":"%d","finish":"succeeded"}`, lease.Epoch, seq+1)
	for range 2 { // the answer may have been lost
		if status, _, answer := s.send("POST", stageURL+"/runs/r1/complete", string(lease.Token), end); status != http.StatusOK {
			t.Errorf("complete: %d %s", status, answer)
		}
	}
}

// TestRates: a token that asks too often, and an address that guesses tokens, have to wait, and others do not.
func TestRates(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	s := serve(t, func(set *service.Settings) {
		set.Rate, set.Burst = 2, 10
		set.Clock = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	})
	pass := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	busy, calm := newToken(t, s.store), newToken(t, s.store)
	ask := func(token string) (int, string) {
		t.Helper()
		status, header, _ := s.send("GET", "/v1/service", token, "")
		return status, header.Get("Retry-After")
	}
	for i := range 10 {
		if status, _ := ask(busy); status != http.StatusOK {
			t.Errorf("request %d: %d", i, status)
		}
	}
	if status, wait := ask(busy); status != http.StatusTooManyRequests || wait != "1" {
		t.Errorf("one too many: %d, Retry-After %q", status, wait)
	}
	if status, _ := ask(calm); status != http.StatusOK {
		t.Errorf("another token: %d", status)
	}
	pass(500 * time.Millisecond)
	if status, _ := ask(busy); status != http.StatusOK {
		t.Errorf("half a second later: %d", status)
	}
	for i := range 20 {
		if status, _ := ask("ath_000000000000_x"); status != http.StatusUnauthorized {
			t.Errorf("guess %d: %d", i, status)
		}
	}
	unseen := newToken(t, s.store)
	for _, token := range []string{"ath_000000000000_x", unseen} {
		if status, _ := ask(token); status != http.StatusTooManyRequests {
			t.Errorf("a guess too many: %d", status)
		}
	}
	if status, _ := ask(calm); status != http.StatusOK {
		t.Errorf("a good token from the same address: %d", status)
	}
	pass(time.Second)
	if status, _ := ask(unseen); status != http.StatusOK {
		t.Errorf("a second later: %d", status)
	}
}

// streamed reads server-sent events behind a cursor until the run has ended, or so many came.
func (s *served) streamed(token, run string, after uint64, most int) (seqs []uint64, ended bool) {
	s.Helper()
	req, _ := http.NewRequestWithContext(s.Context(), http.MethodGet, s.url+stageURL+"/runs/"+run+"/events", nil)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "text/event-stream")
	if after > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatUint(after, 10))
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.Error(err)
		return nil, false
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		s.Errorf("stream: %s", res.Status)
		return nil, false
	}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() && (most == 0 || len(seqs) < most) {
		text := lines.Text()
		if text == "event: end" {
			ended = true
		}
		if data, ok := strings.CutPrefix(text, "data: "); ok && !ended {
			var e wire.Event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				s.Errorf("%s: %v", data, err)
			}
			seqs = append(seqs, e.Seq)
		}
	}
	return seqs, ended
}

// TestStream: a reader whose stream is cut again and again, and whose replica stops, gets every event once and in order,
// and the end.
func TestStream(t *testing.T) {
	t.Parallel()
	s := serve(t)
	token := newToken(t, s.store)
	journal, err := statestore.Begin(t.Context(), s.with(token), prod, statestore.Claim{Run: "r1", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	const events = 500
	var writing sync.WaitGroup
	defer writing.Wait()
	writing.Go(func() {
		for i := range events {
			journal.Emit([]byte(strconv.Itoa(i)))
			if i%7 == 0 {
				if err := journal.Renew(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
		if err := journal.Finish(t.Context(), statestore.Succeeded, nil); err != nil {
			t.Error(err)
		}
	})
	var all []uint64
	for cuts := 0; ; cuts++ {
		after := uint64(len(all))
		seqs, ended := s.streamed(token, "r1", after, 37)
		all = append(all, seqs...)
		if ended || len(seqs) == 0 && cuts > 10*events {
			break
		}
	}
	for i, seq := range all {
		if seq != uint64(i+1) {
			t.Fatalf("event %d is %d", i, seq)
		}
	}
	if len(all) != events {
		t.Errorf("%d events", len(all))
	}
	writing.Wait()
	journal.Close()
	// A service that stops ends its streams without the end of the run.
	if _, err := s.with(token).Acquire(t.Context(), prod, statestore.Claim{Run: "r2", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		_, ended := s.streamed(token, "r2", 0, 0)
		done <- ended
	}()
	s.service.Stop()
	if <-done {
		t.Error("the end of the service was taken for that of the run")
	}
}

// TestRevokedStream: the stream of a token that is revoked ends.
func TestRevokedStream(t *testing.T) {
	t.Parallel()
	s := serve(t)
	boss, token := newToken(t, s.store), newToken(t, s.store)
	if _, err := s.with(boss).Acquire(t.Context(), prod, statestore.Claim{Run: "r1", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		_, ended := s.streamed(token, "r1", 0, 0)
		done <- ended
	}()
	id, _, _ := strings.Cut(strings.TrimPrefix(token, "ath_"), "_")
	for begun := false; !begun; { // until the stream was begun, it would be refused
		_, _, body := s.send("GET", "/v1/tokens", boss, "")
		var list wire.Tokens
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		begun = slices.ContainsFunc(list.Tokens, func(other wire.Token) bool { return other.ID == id && !other.LastUsed.IsZero() })
	}
	if status, _, body := s.send("DELETE", "/v1/tokens/"+id, boss, ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if <-done {
		t.Error("the stream ended as if the run had")
	}
}

// TestCollect: a run whose lease ended long ago is ended by any replica, once, and one that lives is left alone.
func TestCollect(t *testing.T) {
	t.Parallel()
	s := serve(t, func(set *service.Settings) { set.Orphaned = time.Nanosecond })
	client := s.client()
	live := statestore.Stage{Stack: "shop", Name: "live"}
	if _, err := client.Acquire(t.Context(), live, statestore.Claim{Run: "live", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	lost, err := client.Acquire(t.Context(), prod, statestore.Claim{Run: "lost", TTL: statestore.MinTTL})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	ended := 0
	for range 4 {
		replica := service.New(t.Context(), s.store, service.Settings{Orphaned: time.Nanosecond})
		group.Go(func() {
			for range 1000 {
				n, err := replica.Collect(t.Context())
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				ended += n
				over := ended > 0
				mu.Unlock()
				if over {
					return
				}
			}
		})
	}
	group.Wait()
	if ended != 1 {
		t.Errorf("%d runs were ended", ended)
	}
	if _, err := client.Commit(t.Context(), lost, statestore.Batch{Seq: 1, Renew: true}); !errors.Is(err, statestore.ErrFenced) {
		t.Errorf("the run that was ended: %v", err)
	}
	for stage, want := range map[statestore.Stage]statestore.RunState{live: statestore.Running, prod: statestore.Lost} {
		if runs, err := client.Runs(t.Context(), stage, 1); err != nil || len(runs) != 1 || runs[0].State != want {
			t.Errorf("%s: %+v, %v", stage, runs, err)
		}
	}
}

// TestStagesShown: a token sees the stages that it may read.
func TestStagesShown(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, stage := range []statestore.Stage{prod, {Stack: "shop", Name: "dev"}, {Stack: "other", Name: "prod"}} {
		if _, err := s.client().Acquire(t.Context(), stage, statestore.Claim{Run: "r"}); err != nil {
			t.Fatal(err)
		}
	}
	for on, want := range map[string]int{"*/*": 3, "shop/*": 2, "*/prod": 2, "shop/prod": 1, "*op/*": 2, "x/*": 0, "s*/p*d": 1} {
		stages, err := s.client(wire.Grant{Role: "reader", On: on}).Stages(t.Context())
		if err != nil || len(stages) != want {
			t.Errorf("%s: %v, %v", on, stages, err)
		}
	}
}

// TestRedirect: a token goes to the origin that it is for, and to nobody that this one names.
func TestRedirect(t *testing.T) {
	t.Parallel()
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirect was followed: %v", r.Header)
	}))
	defer thief.Close()
	there := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer there.Close()
	store, err := remote.Open(there.URL, func(string) (string, error) { return "ath_x", nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load(t.Context(), prod); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("redirected: %v", err)
	}
	for address, fine := range map[string]bool{
		"https://athanor.example": true, "https://Athanor.example:8443/state/": true, "http://127.0.0.1:8080": true, "http://[::1]:1": true,
		"http://localhost:1": true, "http://athanor.example": false, "http://127.0.0.1.example": false, "https://u:p@athanor.example": false,
		"https://athanor.example/?a=b": false, "https:///x": false, "ftp://athanor.example": false,
	} {
		if _, err := remote.Origin(address); (err == nil) != fine {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestAway: a service that is not there, and one whose proxy answers in its place, is unavailable.
func TestAway(t *testing.T) {
	t.Parallel()
	port, err := proctest.Port() // nobody gets it meanwhile
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer proxy.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>welcome</html>") }))
	defer page.Close()
	for _, url := range []string{"http://127.0.0.1:" + port, proxy.URL, page.URL} {
		store, err := remote.Open(url, func(string) (string, error) { return "ath_x", nil }, remote.WithPatience(200*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Load(t.Context(), prod); !errors.Is(err, statestore.ErrUnavailable) {
			t.Errorf("%v", err)
		}
	}
}

func readAll(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
