package page

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/statestore"
)

// Door lets one browser of this machine in, which brings the token of the address that the terminal shows. It answers no
// other name than that of the loopback, so that a page elsewhere cannot rebind its name to it.
type Door struct {
	user, port string

	mu      sync.Mutex
	token   string // "" once it was used
	session string
}

// NewDoor returns the door of a server that listens on an address of the loopback.
func NewDoor(listener net.Addr, user string) *Door {
	_, port, _ := net.SplitHostPort(listener.String())
	return &Door{user: user, port: port, token: rand.Text()}
}

// URL is the address that lets a browser in, once.
func (d *Door) URL() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return "http://127.0.0.1:" + d.port + "/open?token=" + d.token
}

// cookie is the name of the session. Cookies are not kept apart by port, so that two servers need two names.
func (d *Door) cookie() string { return "athanor_ui_" + d.port }

// Guard answers requests that name the loopback, and exchanges the token for a session.
func (d *Door) Guard(next http.Handler) http.Handler {
	hosts := []string{"127.0.0.1:" + d.port, "localhost:" + d.port, "[::1]:" + d.port}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(hosts, strings.ToLower(r.Host)) {
			Secure(w.Header())
			http.Error(w, "this server answers at http://127.0.0.1:"+d.port+" alone", http.StatusMisdirectedRequest)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && !slices.Contains(hosts, strings.ToLower(strings.TrimPrefix(origin, "http://"))) {
			Secure(w.Header())
			http.Error(w, "the request came from another site", http.StatusForbidden)
			return
		}
		if r.URL.Path == "/open" && r.Method == http.MethodGet {
			d.open(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// open begins the session. The token is good once: the history of the browser keeps nothing that opens again.
func (d *Door) open(w http.ResponseWriter, r *http.Request) {
	Secure(w.Header())
	d.mu.Lock()
	defer d.mu.Unlock()
	given := r.URL.Query().Get("token")
	if d.token == "" || subtle.ConstantTimeCompare([]byte(given), []byte(d.token)) != 1 {
		if d.admits(r) {
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		http.Error(w, "the token was used or is wrong: start athanor ui again and open the address that it prints", http.StatusUnauthorized)
		return
	}
	d.token, d.session = "", rand.Text()+rand.Text()
	http.SetCookie(w, &http.Cookie{Name: d.cookie(), Value: d.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// admits reports whether a request has the session. The lock is held.
func (d *Door) admits(r *http.Request) bool {
	c, err := r.Cookie(d.cookie())
	return err == nil && d.session != "" && subtle.ConstantTimeCompare([]byte(c.Value), []byte(d.session)) == 1
}

// Admit returns the one visitor, who may do everything that pages can.
func (d *Door) Admit(r *http.Request) (*Visitor, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.admits(r) {
		return nil, nil //nolint:nilnil // nobody has signed in, which is no error
	}
	return &Visitor{Name: d.user, Secret: d.session, May: func(Right, statestore.Stage) bool { return true }}, nil
}
