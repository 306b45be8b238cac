package cloudflaretest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// witness is a test that is told what is wrong, and goes on.
type witness struct {
	testing.TB
	said []string
}

func (w *witness) Errorf(format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

// TestHeldToAccount: requests and answers that Cloudflare's descriptions do not allow fail the test.
func TestHeldToAccount(t *testing.T) {
	const spaces = "/accounts/ACCOUNT/storage/kv/namespaces"
	for _, c := range []struct {
		name         string
		method, path string
		body         any
		before       func(*Server)
		want         string
	}{
		{name: "right", method: http.MethodPost, path: spaces, body: object{"title": "a"}},
		{name: "a field that is not known", method: http.MethodPost, path: spaces, body: object{"title": "a", "name": "a"}, want: "additional properties 'name' not allowed"},
		{name: "a field that is missing", method: http.MethodPost, path: spaces, body: object{}, want: "missing property 'title'"},
		{name: "a field of another type", method: http.MethodPost, path: spaces, body: object{"title": 1}, want: "got number, want string"},
		{name: "a query that is not known", method: http.MethodGet, path: spaces + "?limit=1", want: "no such query parameter: limit"},
		{name: "no operation", method: http.MethodPatch, path: spaces, want: "is no operation"},
		{name: "an operation that is not done here", method: http.MethodGet, path: "/accounts/ACCOUNT/r2/metrics", want: "is not done here"},
		{ // else it would be kept apart from what these show
			name: "an operation on objects of which others are done by hand", method: http.MethodPut, path: "/accounts/ACCOUNT",
			body: object{"name": "another"}, want: "accounts.UpdateAccount is not done here",
		},
		{
			name: "an answer of another shape", method: http.MethodGet, path: spaces, want: "answer of kv.ListNamespaces",
			before: func(s *Server) {
				s.AddZone(s.Account, "x")
				s.world.handlers = map[string]handler{"kv.ListNamespaces": listZones}
			},
		},
		{
			name: "an error that is not declared", method: http.MethodGet, path: spaces, want: "an error that it does not declare",
			before: func(s *Server) {
				s.world.handlers = map[string]handler{"kv.ListNamespaces": func(*world, request) (any, *failure) {
					return nil, &failure{status: 400, code: 424242}
				}}
			},
		},
	} {
		w := &witness{TB: t}
		s := Start(w)
		if c.before != nil {
			c.before(s)
		}
		s.TryWith(lenient{t}, c.method, c.path, nil, c.body)
		if said := strings.Join(w.said, "\n"); c.want == "" && said != "" || !strings.Contains(said, c.want) {
			t.Errorf("%s: told %q, want %q", c.name, said, c.want)
		}
	}
}

// lenient lets an answer be no JSON, as that of the edge is.
type lenient struct{ testing.TB }

func (lenient) Fatalf(string, ...any) {}

// TestTokens: who asks without a good token, or for another account, is refused.
func TestTokens(t *testing.T) {
	s := Start(t)
	other := hexID(16)
	for _, c := range []struct {
		token, path  string
		status, code int
	}{
		{s.Token, "/accounts", 200, 0},
		{"", "/accounts", 400, 9106},
		{newToken(), "/accounts", 403, 9109},
		{"another", "/accounts", 400, 6003},
		{"mal formed", "/accounts", 400, 6003},
		{s.Token, "/accounts/" + other + "/queues", 403, 10000},
		{s.Token, "/accounts/example/queues", 404, 7003},
	} {
		as := *s
		as.Token = c.token
		status, envelope := as.TryWith(t, http.MethodGet, c.path, nil, nil)
		code := 0
		if errs, _ := envelope["errors"].([]any); len(errs) > 0 {
			code = int(errs[0].(object)["code"].(float64))
		}
		if status != c.status || code != c.code {
			t.Errorf("%q %s: %d %d, want %d %d", c.token, c.path, status, code, c.status, c.code)
		}
	}
}
