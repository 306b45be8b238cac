package page_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/service/page"
)

// TestDoor opens the pages of this machine as a browser does, and as others would: without the token, with a used one, under
// a name that was rebound to the loopback, and from another origin.
func TestDoor(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	door := page.NewDoor(listener.Addr(), "ada")
	p := page.New(context.WithoutCancel(t.Context()), page.Settings{Store: deployed(t), Admit: door.Admit})
	server := &http.Server{Handler: door.Guard(p)} //nolint:gosec // it ends with the test
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	base := "http://" + listener.Addr().String()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(address string, change func(*http.Request)) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(r)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return answer, string(body)
	}
	as := func(host string) func(*http.Request) { return func(r *http.Request) { r.Host = host } }
	refused := func(what string, answer *http.Response, body string, status int) {
		t.Helper()
		if answer.StatusCode != status || strings.Contains(body, "shop") || len(answer.Cookies()) > 0 || answer.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %s %v\n%s", what, answer.Status, answer.Cookies(), body)
		}
	}
	first := door.URL()
	answer, body := ask(first, as("evil.example:"+listener.Addr().String()[strings.LastIndex(listener.Addr().String(), ":")+1:]))
	refused("a name that was rebound", answer, body, http.StatusMisdirectedRequest)
	answer, body = ask(base+"/", nil)
	refused("no session", answer, body, http.StatusUnauthorized)
	answer, body = ask(base+"/s/shop/prod/graph", nil)
	refused("no session", answer, body, http.StatusUnauthorized)
	answer, body = ask(base+"/open?token=wrong", nil)
	refused("a wrong token", answer, body, http.StatusUnauthorized)
	answer, body = ask(base+"/open", nil)
	refused("no token", answer, body, http.StatusUnauthorized)

	answer, _ = ask(first, nil)
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/" || len(answer.Cookies()) != 1 {
		t.Fatalf("the token: %s %v", answer.Status, answer.Header)
	}
	session := answer.Cookies()[0]
	if !session.HttpOnly || session.SameSite != http.SameSiteStrictMode || session.Path != "/" || !session.Expires.IsZero() {
		t.Errorf("the session: %+v", session)
	}
	answer, body = ask(first, nil)
	refused("a used token", answer, body, http.StatusUnauthorized)
	with := func(r *http.Request) { r.AddCookie(session) }
	if answer, body = ask(base+"/", with); answer.StatusCode != http.StatusOK || !strings.Contains(body, "/s/shop/prod") {
		t.Errorf("with the session: %s", answer.Status)
	}
	if answer, _ = ask(first, with); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("the address again in the browser that is in: %s", answer.Status)
	}
	answer, body = ask(base+"/", func(r *http.Request) { with(r); r.Host = "evil.example" })
	refused("a name that was rebound, with the session", answer, body, http.StatusMisdirectedRequest)
	answer, body = ask(base+"/", func(r *http.Request) { with(r); r.Header.Set("Origin", "http://evil.example") })
	refused("another origin", answer, body, http.StatusForbidden)
	answer, body = ask(base+"/", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: session.Name, Value: session.Value + "x"}) })
	refused("another session", answer, body, http.StatusUnauthorized)
}
