package page

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Sessions let browsers in by a secret that stays in a cookie, which scripts cannot read. The server keeps nothing, so that
// replicas are equal, and a secret that is revoked ends its sessions.
type Sessions struct {
	// Visitor returns whose secret it is; nil where the secret is not good.
	Visitor func(r *http.Request, secret string) (*Visitor, error)
	// Encrypted reports whether the browser talks TLS.
	Encrypted func(*http.Request) bool
	// SignIns are where people can sign in instead of pasting a secret.
	SignIns []SignIn
}

// SignIn is an identity provider that people come back from, to [SignInBack], with the answer of their sign-in in the query.
type SignIn struct {
	Name string
	// Begin returns the address at the provider, and what this browser keeps until it comes back.
	Begin func(ctx context.Context) (address, kept string, err error)
	// End returns the secret of a session for the answer that the browser brings.
	End func(r *http.Request, kept string) (secret string, err error)
}

// SignInBack is the path that identity providers send browsers back to.
const SignInBack = "/signin/back"

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

// keptSeconds is how long a browser has to come back from an identity provider.
const keptSeconds = 600

// keptCookie keeps what a sign-in elsewhere began with in the browser that began it: no other browser can be signed in by it.
func (s *Sessions) keptCookie(r *http.Request, value string) *http.Cookie {
	c := s.cookie(r, value)
	c.Name, c.MaxAge = c.Name+"_signin", keptSeconds
	return c
}

// signInBody is the form that asks for a secret.
type signInBody struct {
	Problem, Next string
	Links         []signInLink
}

type signInLink struct{ Name, URL string }

// askSignIn asks who somebody is, and comes back to the page that was asked for.
func (p *Page) askSignIn(w http.ResponseWriter, r *http.Request, status int, body signInBody) {
	for i, way := range p.settings.Sessions.SignIns {
		body.Links = append(body.Links, signInLink{way.Name, "/signin/to/" + strconv.Itoa(i) + "?" + url.Values{"next": {body.Next}}.Encode()})
	}
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
		p.askSignIn(w, r, http.StatusUnauthorized, signInBody{Problem: "The token is unknown, expired or revoked.", Next: next})
	default:
		http.SetCookie(w, p.settings.Sessions.cookie(r, secret))
		http.Redirect(w, r, next, http.StatusSeeOther)
	}
}

// signInWay is where the visitor signs in; nil when there is no such place.
func (p *Page) signInWay(number string) *SignIn {
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= len(p.settings.Sessions.SignIns) {
		return nil
	}
	return &p.settings.Sessions.SignIns[i]
}

// beginSignIn sends a browser to an identity provider.
func (p *Page) beginSignIn(w http.ResponseWriter, r *http.Request) {
	number := r.PathValue("number")
	way := p.signInWay(number)
	if way == nil {
		p.problem(w, r, nil, notFound("There is no such page", ""))
		return
	}
	address, kept, err := way.Begin(r.Context())
	if err != nil {
		p.problem(w, r, nil, err)
		return
	}
	value := url.Values{"number": {number}, "kept": {kept}, "next": {ownPath(r.URL.Query().Get("next"))}}.Encode()
	http.SetCookie(w, p.settings.Sessions.keptCookie(r, base64.RawURLEncoding.EncodeToString([]byte(value))))
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// endSignIn takes the answer that a browser brings from an identity provider, in the browser that was sent there.
func (p *Page) endSignIn(w http.ResponseWriter, r *http.Request) {
	cookie := p.settings.Sessions.keptCookie(r, "")
	cookie.MaxAge = -1
	sent, err := r.Cookie(cookie.Name)
	var value url.Values
	if err == nil {
		text, _ := base64.RawURLEncoding.DecodeString(sent.Value)
		value, err = url.ParseQuery(string(text))
	}
	way := p.signInWay(value.Get("number"))
	if err != nil || way == nil {
		p.problem(w, r, nil, &problem{http.StatusBadRequest, "This browser did not begin to sign in", "Or it did so more than ten minutes ago.", "Sign in again."})
		return
	}
	http.SetCookie(w, cookie)
	secret, err := way.End(r, value.Get("kept"))
	if err != nil {
		p.problem(w, r, nil, err)
		return
	}
	http.SetCookie(w, p.settings.Sessions.cookie(r, secret))
	http.Redirect(w, r, ownPath(value.Get("next")), http.StatusSeeOther)
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
