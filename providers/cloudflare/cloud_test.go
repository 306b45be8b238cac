package cloudflare_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/cloudflare/cloudflare-go/v6/kv"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile"
)

// create makes a namespace by way of the handle, as a kind would.
func create(ctx context.Context, cloud *cloudflare.Cloud, title string) error {
	client, err := cloudflare.Client(cloud, sdk.NewNamespaceService)
	if err != nil {
		return err
	}
	place, err := cloud.Place(ctx)
	if err != nil {
		return err
	}
	var p sdk.NamespaceNewParams
	p.AccountID.Value = place.Account
	p.Title.Value, p.Title.Present = title, true
	_, err = client.New(ctx, p)
	return err
}

func TestPlace(t *testing.T) {
	s := cloudflaretest.Start(t)
	other := s.AddAccount("Example Europe")
	twin := s.AddAccount("Example Europe")
	for _, c := range []struct{ want, account, err string }{
		{s.Account, s.Account, ""},
		{"Example", s.Account, ""},
		{other, other, ""},
		{twin, twin, ""},
		{"Example Europe", "", `several accounts are called "Example Europe"`},
		{"", "", "no account is named, and the token reaches"},
		{"Nobody", "", `the token does not reach the account "Nobody", but`},
	} {
		place, err := cloudflare.FromToken(s.URL, s.Token, c.want).Place(t.Context())
		if place.Account != c.account || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v, %v", c.want, place, err)
		}
		if err != nil && len(reconcile.Hints(err)) == 0 {
			t.Errorf("%q: no hint", c.want)
		}
	}
}

// TestPlaceOfZones is about a token for zones alone, which is shown no accounts.
func TestPlaceOfZones(t *testing.T) {
	s := cloudflaretest.Start(t)
	s.HideAccounts()
	if _, err := s.Cloud().Place(t.Context()); err == nil || !strings.Contains(err.Error(), "no account") {
		t.Errorf("neither accounts nor zones: %v", err)
	}
	s.AddZone(s.Account, "shop.example")
	if place, err := s.Cloud().Place(t.Context()); err != nil || place.String() != "cloudflare/"+s.Account {
		t.Errorf("%v, %v", place, err)
	}
}

// TestAccountOwnedToken: a token that belongs to the account, and to no user, cannot list accounts. It is taken for the account whose
// id is given; without an id, or with a name, the error says what to set.
func TestAccountOwnedToken(t *testing.T) {
	s := cloudflaretest.Start(t)
	s.OwnToken()
	cloud := cloudflare.FromToken(s.URL, s.Token, s.Account)
	if place, err := cloud.Place(t.Context()); err != nil || place.Account != s.Account {
		t.Fatalf("%v, %v", place, err)
	}
	if zone, err := cloudflare.ZoneOf(t.Context(), cloud, s.AddZone(s.Account, "shop.example")); err != nil || zone.Name != "shop.example" {
		t.Errorf("%v, %v", zone, err)
	}
	for _, account := range []string{"", "Example"} {
		cloud := cloudflare.FromToken(s.URL, s.Token, account)
		_, err := cloud.Place(t.Context())
		if err == nil || !strings.Contains(strings.Join(reconcile.Hints(err), " "), "to the id of the account") || cloud.Classify(err) != reconcile.Invalid {
			t.Errorf("account %q: %q %v, hint %q", account, cloud.Classify(err), err, strings.Join(reconcile.Hints(err), " "))
		}
	}
}

// TestOtherAccount: with a token of another account nothing is called but the question which accounts it reaches.
func TestOtherAccount(t *testing.T) {
	s := cloudflaretest.Start(t)
	cloud := cloudflare.FromToken(s.URL, s.Token, strings.Repeat("0", 32))
	client, err := cloudflare.Client(cloud, sdk.NewNamespaceService)
	if err != nil {
		t.Fatal(err)
	}
	var p sdk.NamespaceNewParams
	p.AccountID.Value = s.Account
	p.Title.Value, p.Title.Present = "x", true
	_, err = client.New(t.Context(), p)
	if _, ok := errors.AsType[*cloudflare.AccountError](err); !ok || cloud.Classify(err) != reconcile.Denied || len(s.Wrote()) > 0 {
		t.Errorf("%v, wrote %v", err, s.Wrote())
	}
}

func TestZoneOf(t *testing.T) {
	s := cloudflaretest.Start(t)
	other := s.AddAccount("Other")
	id := s.AddZone(s.Account, "shop.example")
	foreign := s.AddZone(other, "foreign.example")
	s.AddZone(other, "shop.example")
	cloud := s.Cloud()
	for _, by := range []string{"shop.example", "Shop.Example", id} {
		if z, err := cloudflare.ZoneOf(t.Context(), cloud, by); err != nil || z != (cloudflare.Zone{ID: id, Name: "shop.example"}) {
			t.Errorf("%s: %v, %v", by, z, err)
		}
	}
	if n := s.Count("Zones.*"); n != 1 {
		t.Errorf("a zone is looked up %d times", n)
	}
	for _, by := range []string{"foreign.example", foreign, "nobody.example"} {
		if _, err := cloudflare.ZoneOf(t.Context(), cloud, by); !errors.Is(err, reconcile.ErrAbsent) {
			t.Errorf("%s: %v", by, err)
		}
	}
}

func TestReadOnly(t *testing.T) {
	s := cloudflaretest.Start(t)
	if err := create(reconcile.ReadOnly(t.Context()), s.Cloud(), "x"); !errors.Is(err, reconcile.ErrReadOnly) || len(s.Wrote()) > 0 {
		t.Errorf("%v, wrote %v", err, s.Wrote())
	}
}

// TestNoRetries: the client repeats nothing that may have been done, whatever is answered.
func TestNoRetries(t *testing.T) {
	for kind, class := range map[string]reconcile.Class{
		"broken": reconcile.Transient, "conflict": reconcile.Conflict, "lost": reconcile.Transient,
	} {
		s := cloudflaretest.Start(t)
		fault := map[string]cloudflaretest.Fault{
			"broken":   {Kind: cloudflaretest.ServerError},
			"conflict": {Kind: cloudflaretest.Refuse, Code: "1", Status: 409}, "lost": {Kind: cloudflaretest.DropAnswer},
		}[kind]
		fault.Op, fault.Times = "KV.CreateNamespace", -1
		s.Inject(fault)
		cloud := s.Cloud()
		err := create(t.Context(), cloud, "x")
		if n := s.Count("KV.CreateNamespace"); n != 1 || cloud.Classify(err) != class {
			t.Errorf("%s: %d calls, %q, %v", kind, n, cloud.Classify(err), err)
		}
	}
}

// TestThrottledIsRepeated: a call that the service refuses for its rate has done nothing. It alone is made again, in its turn.
func TestThrottledIsRepeated(t *testing.T) {
	s := cloudflaretest.Start(t)
	s.Inject(cloudflaretest.Fault{Kind: cloudflaretest.Throttle, Op: "KV.CreateNamespace", Times: 3})
	if err := create(t.Context(), s.Cloud(), "x"); err != nil || s.Count("KV.CreateNamespace") != 4 {
		t.Errorf("%d calls, %v", s.Count("KV.CreateNamespace"), err)
	}
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := `{"success":true,"result":[{"id":"0123456789abcdef0123456789abcdef","name":"Example"}],"result_info":{"total_count":1}}`
		switch n := calls.Add(1); {
		case n > 4: // the next page
			answer = `{"success":true,"result":[]}`
		case n <= 3:
			answer = `{"success":false,"errors":[{"code":971,"message":"slow down"}]}` // with status 200
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	if place, err := cloudflare.FromToken(server.URL, "token", "").Place(t.Context()); err != nil || calls.Load() < 4 {
		t.Errorf("%v after %d calls, %v", place, calls.Load(), err)
	}
}

// TestToken: what refuses a token does not repeat it, and says what to do.
func TestToken(t *testing.T) {
	s := cloudflaretest.Start(t)
	for _, token := range []string{"wrong-token-4f1b", "malformed token-4f1b", ""} {
		cloud := cloudflare.FromToken(s.URL, token, s.Account)
		_, err := cloud.Place(t.Context())
		if cloud.Classify(err) != reconcile.Denied || len(reconcile.Hints(err)) == 0 {
			t.Errorf("%q: %q, %v", token, cloud.Classify(err), err)
		}
	}
	if n := s.Count("*"); n != 2 {
		t.Errorf("a refusal is asked for %d times, want once for each token", n)
	}
}

// TestRedacted is about a service that repeats the token.
func TestRedacted(t *testing.T) {
	const token = "canary-token-4f1b"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"success":false,"errors":[{"code":1,"message":"bad ` + r.Header.Get("Authorization") +
			`","error_chain":[{"code":2,"message":"` + token + `"}]}]}`))
	}))
	defer server.Close()
	_, err := cloudflare.FromToken(server.URL, token, "").Place(t.Context())
	if err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "(2)") {
		t.Errorf("%v", err)
	}
}

// TestAnswers are answers that are none: each is told apart.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		class  reconcile.Class
	}{
		{"half of an answer", 200, `{"success":true,"result":[{"id":"`, reconcile.Transient},
		{"a redirection", 302, ``, reconcile.Invalid},
		{"a page of the edge", 503, `<html>`, reconcile.Transient},
		{"404 that no table knows", 404, `{"success":false,"errors":[{"code":424242,"message":"?"}]}`, reconcile.Invalid},
		{"a bad token with status 400", 400, `{"success":false,"errors":[{"code":6003,"message":"Invalid request headers"}]}`, reconcile.Denied},
	} {
		var calls atomic.Int32
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if calls.Add(1) > 1 {
				cancel() // it asks again, and would go on
			}
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		cloud := cloudflare.FromToken(server.URL, "token", "")
		_, err := cloud.Place(ctx)
		cancel()
		server.Close()
		again := calls.Load() > 1
		if again != c.class.Retries() || !again && cloud.Classify(err) != c.class {
			t.Errorf("%s: %q after %d calls, %v", c.name, cloud.Classify(err), calls.Load(), err)
		}
	}
}

func TestSettings(t *testing.T) {
	provider := cloudflare.Provider()
	for endpoint, ok := range map[string]bool{
		"https://api.example/v4": true, "http://127.0.0.1:8787": true, "http://localhost:8787/client/v4": true,
		"http://api.example/v4": false, "api.example": false, "ftp://127.0.0.1": false,
	} {
		_, err := provider.Open(t.Context(), &cloudflare.Settings{Endpoint: &endpoint})
		if (err == nil) != ok {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

// TestEnvironment: account, endpoint and token come from the environment, and the token from another variable when the
// settings say so.
func TestEnvironment(t *testing.T) {
	s := cloudflaretest.Start(t)
	s.AddAccount("Other")
	s.Setenv(t)
	open := func(settings *cloudflare.Settings) reconcile.Cloud {
		cloud, err := cloudflare.Provider().Open(t.Context(), settings)
		if err != nil {
			t.Fatal(err)
		}
		return cloud
	}
	if place, err := open(nil).Place(t.Context()); err != nil || place.Account != s.Account {
		t.Errorf("%v, %v", place, err)
	}
	t.Setenv("CLOUDFLARE_API_TOKEN", "")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("SHOP_TOKEN", s.Token)
	if place, err := open(&cloudflare.Settings{TokenEnv: new("SHOP_TOKEN")}).Place(t.Context()); err != nil || place.Account != s.Account {
		t.Errorf("%v, %v", place, err)
	}
	_, err := open(nil).Place(t.Context())
	if missing, ok := errors.AsType[*cloudflare.TokenError](err); !ok || missing.Env != "CLOUDFLARE_API_TOKEN" {
		t.Errorf("%v", err)
	}
}
