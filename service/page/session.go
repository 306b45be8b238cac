package page

import (
	"net/http"
	"net/url"
	"strings"
)

// Sessions let browsers in by a secret that stays in a cookie, which scripts cannot read. The server keeps nothing, so that
// replicas are equal, and a secret that is revoked ends its sessions.
type Sessions struct {
	// Visitor returns whose secret it is; nil where the secret is not good.
	Visitor func(r *http.Request, secret string) (*Visitor, error)
	// Encrypted reports whether the browser talks TLS.
	Encrypted func(*http.Request) bool
}

// cookie is that of a session. Browsers take one with the prefix only from this host and by TLS.
func (s *Sessions) cookie(r *http.Request, secret string) *http.Cookie {
	c := &http.Cookie{Name: "athanor_session", Value: secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if s.Encrypted(r) {
		c.Name, c.Secure = "__Host-athanor", true
	}
	return c
}

func (s *Sessions) admit(r *http.Request) (*Visitor, error) {
	sent, err := r.Cookie(s.cookie(r, "").Name)
	if err != nil || sent.Value == "" {
		return nil, nil //nolint:nilnil // nobody has signed in, which is no error
	}
	v, err := s.Visitor(r, sent.Value)
	if v != nil {
		v.Secret, v.MaySignOut = sent.Value, true
	}
	return v, err
}

// signInBody is the form that asks for a secret.
type signInBody struct{ Problem, Next string }

// askSignIn asks who somebody is, and comes back to the page that was asked for.
func (p *Page) askSignIn(w http.ResponseWriter, r *http.Request, status int, body signInBody) {
	f := p.frame(nil, "Sign in")
	f.Body = body
	p.render(w, r, status, "signin", f)
}

// signIn takes the secret. Other sites cannot send the form: that was checked before.
func (p *Page) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	secret, next := strings.TrimSpace(r.PostFormValue("token")), ownPath(r.PostFormValue("next"))
	v, err := p.settings.Sessions.Visitor(r, secret)
	switch {
	case err != nil:
		p.problem(w, r, nil, err)
	case v == nil:
		p.askSignIn(w, r, http.StatusUnauthorized, signInBody{"The token is unknown, expired or revoked.", next})
	default:
		http.SetCookie(w, p.settings.Sessions.cookie(r, secret))
		http.Redirect(w, r, next, http.StatusSeeOther)
	}
}

// signOut ends the session of this browser.
func (p *Page) signOut(v *visit) error {
	c := p.settings.Sessions.cookie(v.Request, "")
	c.MaxAge = -1
	http.SetCookie(v.writer, c)
	http.Redirect(v.writer, v.Request, "/", http.StatusSeeOther)
	return nil
}

// ownPath returns a path of this server; / for what leads elsewhere.
func ownPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}
