// Package page shows the stages, resources and runs of a store as web pages.
//
// It knows what stores keep in clear, and the text of events. It knows neither what a kind is nor how state entries are
// opened: who has a key gives [Settings.Open]. It never deploys; its only writes are forms, each sent with a token that
// other sites cannot know. Every page is whole without scripts.
package page

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/service/internal/sse"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// Right is what a visitor may do on a stage.
type Right int

// The rights.
const (
	Read   Right = iota
	Cancel       // ask a run to stop
)

// Visitor is who sends a request.
type Visitor struct {
	Name string
	// Secret is known to the visitor's browser and to the server alone. Tokens of forms are derived from it.
	Secret string
	// May reports whether the visitor has a right on a stage.
	May func(Right, statestore.Stage) bool
	// MaySignOut shows a form that ends the session.
	MaySignOut bool
	// Team is what a service shows beside stages; nil where there is none, or where the visitor may not see it.
	Team Team
}

// Entry is the opened state entry of one resource. Secrets are masked.
type Entry struct {
	Props, Attributes map[string]any
	// Mask is what stands for a secret value.
	Mask string
	// Problem is why the entry cannot be read.
	Problem string
}

// Settings say what the pages show, and to whom.
type Settings struct {
	Store statestore.Store
	// StoreName names the store for people, without passwords.
	StoreName string
	Version   string
	// Clock is the wall clock; nil for the real one.
	Clock func() time.Time
	// Admit returns who sends a request; nil: nobody who may. It is not asked where there are sessions.
	Admit func(*http.Request) (*Visitor, error)
	// Sessions let visitors sign in; nil where Admit knows them.
	Sessions *Sessions
	// Open opens the state entry of a resource of a snapshot; nil where there is no key.
	Open func(ctx context.Context, snap *statestore.Snapshot, address string) (*Entry, error)
	// HoldsData reports whether objects of a kind hold data; nil: that is unknown.
	HoldsData func(kind string) bool
	// Declared says where the program declares the resources of a stage, by address, as FILE:LINE; nil: that is unknown.
	Declared func(ctx context.Context, stage statestore.Stage) map[string]string
	// SourceURL links to a line of the program, with {file} and {line}; "": lines are text.
	SourceURL string
	// Plans lists the plans of a stage that can be shown; nil for none.
	Plans func(r *http.Request, visitor *Visitor, stage statestore.Stage) ([]Plan, error)
	// DecidePlan approves or rejects a submitted plan; nil where that is not possible.
	DecidePlan func(r *http.Request, visitor *Visitor, stage statestore.Stage, id string, decision wire.Decision) error
	// Drift reads the newest report of drift of a stage; nil where nobody keeps them.
	Drift Drift
	// Notes say what another tool has left in a stage, and what to do about it; nil where there are no other tools.
	Notes func(r *http.Request, visitor *Visitor, stage statestore.Stage) ([]Note, error)
	// Private says which stages show addresses, kinds and statuses only; nil: none does.
	Private Private
	// Cancel asks a run to stop; nil where that is not possible.
	Cancel func(r *http.Request, visitor *Visitor, stage statestore.Stage, run string) error
	// Poll is how much later at most an event is sent than it is in the store; 0 for 250 ms.
	Poll time.Duration
	// Log is told of each request that failed for a reason of the server's own; nil: nobody is.
	Log func(method, path string, err error)
	// Plainly says the text of an error without words that only a programmer knows; nil: it is shown as it is.
	Plainly func(text string) string
}

// Page answers requests for pages. Stop ends its event streams.
type Page struct {
	settings Settings
	mux      *http.ServeMux
	cross    *http.CrossOriginProtection
	assets   map[string]asset
	ended    endedRuns
	asked    sync.Map // stages whose program was asked where it declares resources
	streams  *sse.Counter
	stopping context.Context //nolint:containedctx // it ends with the server, which outlives every request
	stop     context.CancelFunc
}

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// templates are parsed for the first page: most commands show none.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"count": count, "shell": shellCommand, "seconds": seconds, "add": func(a, b int) int { return a + b }, "digest": shortDigest,
	}).ParseFS(templateFiles, "templates/*.html"))
})

// New returns the pages of a store.
func New(ctx context.Context, settings Settings) *Page {
	if settings.Clock == nil {
		settings.Clock = time.Now
	}
	if settings.Poll == 0 {
		settings.Poll = 250 * time.Millisecond
	}
	if settings.Log == nil {
		settings.Log = func(string, string, error) {}
	}
	if settings.Plainly == nil {
		settings.Plainly = func(text string) string { return text }
	}
	p := &Page{settings: settings, mux: http.NewServeMux(), cross: http.NewCrossOriginProtection(), assets: readAssets(), streams: sse.NewCounter(mostStreams)}
	p.stopping, p.stop = context.WithCancel(ctx)
	if settings.Private != nil {
		p.settings.Store = maskedStore{settings.Store, p}
	}
	p.mux.HandleFunc("GET /assets/{name}", p.asset)
	if settings.Sessions != nil {
		p.settings.Admit = settings.Sessions.admit
		p.mux.HandleFunc("POST /signin", p.signIn)
		p.mux.Handle("POST /signout", p.handler(p.signOut))
		p.mux.HandleFunc("GET /signin/to/{number}", p.beginSignIn)
		p.mux.HandleFunc("GET "+SignInBack, p.endSignIn)
	}
	const stage = "/s/{stack}/{stage}"
	for pattern, view := range map[string]func(*visit) error{
		"GET /{$}":                             p.stacks,
		"GET " + stage:                         p.resources,
		"GET " + stage + "/resource":           p.resource,
		"GET " + stage + "/graph":              p.graph,
		"GET " + stage + "/plans":              p.plans,
		"GET " + stage + "/plans/{plan}":       p.plan,
		"POST " + stage + "/plans/{plan}":      p.decidePlan,
		"GET " + stage + "/history":            p.history,
		"GET " + stage + "/compare":            p.compare,
		"GET " + stage + "/runs/{run}":         p.run,
		"GET " + stage + "/runs/{run}/events":  p.follow,
		"GET " + stage + "/runs/{run}/cancel":  p.askCancel,
		"POST " + stage + "/runs/{run}/cancel": p.cancel,
		"GET /tokens":                          p.tokens,
		"POST /tokens":                         p.createToken,
		"POST /tokens/revoke":                  p.revokeToken,
		"GET /audit":                           p.audit,
	} {
		p.mux.Handle(pattern, p.handler(view))
	}
	return p
}

// Stop ends the event streams, so that a shutdown need not wait for them.
func (p *Page) Stop() { p.stop() }

// policy lets a page load nothing but files of its own origin. It has no inline script and no inline style.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP answers a request.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	Secure(w.Header())
	if err := p.cross.Check(r); err != nil {
		p.problem(w, r, nil, &problem{http.StatusForbidden, "The request came from another site", "A form of this page was sent from elsewhere.", ""})
		return
	}
	if _, pattern := p.mux.Handler(r); pattern == "" {
		p.problem(w, r, nil, notFound("There is no such page", ""))
		return
	}
	p.mux.ServeHTTP(w, r)
}

// Secure sets the headers that every answer to a browser has.
func Secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with none at all browsers send forms with the origin null
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// visit is one request of a visitor who may make it.
type visit struct {
	*http.Request
	writer  http.ResponseWriter
	visitor *Visitor
	stage   statestore.Stage // of the path; empty where it has none
	now     time.Time
}

// mostForm is how long in bytes a form can be.
const mostForm = 64 << 10

// handler finds out who sends a request, and whether they may read the stage of its path.
func (p *Page) handler(view func(*visit) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{Request: r, writer: w, now: p.settings.Clock()}
		err := p.admit(v)
		if err == nil && v.visitor == nil {
			return // it was answered by the form to sign in
		}
		if err == nil {
			var ctx context.Context
			if ctx, err = p.withPrivate(r.Context()); err == nil {
				v.Request = r.WithContext(ctx)
				err = view(v)
			}
		}
		if err != nil {
			p.problem(w, r, v.visitor, err)
			return
		}
		if v.stage.Stack != "" {
			p.declare(v.stage)
		}
	})
}

func (p *Page) admit(v *visit) (err error) {
	if v.visitor, err = p.settings.Admit(v.Request); err != nil {
		return err
	}
	if v.visitor == nil {
		if p.settings.Sessions == nil {
			return &problem{http.StatusUnauthorized, "Who are you?", "This browser has no session.", "Start athanor ui again and open the address that it prints."}
		}
		p.askSignIn(v.writer, v.Request, http.StatusUnauthorized, signInBody{Next: ownPath(v.URL.RequestURI())})
		return nil
	}
	if v.Method == http.MethodPost {
		v.Body = http.MaxBytesReader(v.writer, v.Body, mostForm)
		if !hmac.Equal([]byte(v.PostFormValue("csrf")), []byte(FormToken(v.visitor.Secret))) {
			return &problem{http.StatusForbidden, "The form is too old", "It was made for another session.", "Load the page again."}
		}
	}
	for name, into := range map[string]*string{"stack": &v.stage.Stack, "stage": &v.stage.Name} {
		if segment := v.PathValue(name); segment != "" {
			if *into, err = wire.Name(segment); err != nil {
				return notFound("There is no such page", "")
			}
		}
	}
	if v.stage.Stack != "" && !v.visitor.May(Read, v.stage) {
		return &problem{
			http.StatusForbidden, "You may not read " + v.stage.String(), v.visitor.Name + " needs the role reader on it.",
			"An admin gives it: athanor token create --role reader --on " + v.stage.String(),
		}
	}
	return nil
}

// FormToken returns what a form must carry, so that no other site can send it.
func FormToken(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("athanor page form"))
	return hex.EncodeToString(mac.Sum(nil))
}

// problem is an error that a visitor is shown.
type problem struct {
	Status              int
	Title, Detail, Hint string
}

func (e *problem) Error() string { return e.Title }

// Refusal is an error of a function of [Settings] that a visitor is shown, with its status.
type Refusal struct {
	Status    int
	Why, Hint string
}

func (e *Refusal) Error() string { return e.Why }

func notFound(title, hint string) *problem { return &problem{http.StatusNotFound, title, "", hint} }

// problem writes a page about an error. One that is the server's own is logged and not shown, as it may name hosts.
func (p *Page) problem(w http.ResponseWriter, r *http.Request, visitor *Visitor, err error) {
	if r.Context().Err() != nil {
		return // nobody reads it
	}
	shown, known := errors.AsType[*problem](err)
	if refusal, is := errors.AsType[*Refusal](err); is {
		shown, known = &problem{refusal.Status, refusal.Why, "", refusal.Hint}, true
	}
	if !known {
		p.settings.Log(r.Method, r.URL.EscapedPath(), err)
		shown = &problem{
			http.StatusInternalServerError, "It could not be read", "The state store did not answer as it should.", "Try again. Nothing was changed.",
		}
		if errors.Is(err, statestore.ErrUnavailable) {
			shown.Status, shown.Detail = http.StatusServiceUnavailable, "The state store cannot be reached."
		}
	}
	f := p.frame(visitor, shown.Title)
	f.Body = shown
	p.render(w, r, shown.Status, "problem", f)
}

// frame is what every page shows around its contents.
type frame struct {
	Title, Version, StoreName string
	Visitor                   *Visitor
	Site                      string // the current one of the links at the top
	FormToken                 string
	Stage                     *stageHead // nil on pages of no stage
	Tab, Crumb                string
	Refresh                   bool // without scripts the page is loaded again every few seconds
	Body                      any
}

func (p *Page) frame(visitor *Visitor, title string) *frame {
	f := &frame{Title: title, Version: p.settings.Version, StoreName: p.settings.StoreName, Visitor: visitor}
	if visitor != nil {
		f.FormToken = FormToken(visitor.Secret)
	}
	return f
}

// Asset is the path of a file of the page, which names its contents, so that browsers keep it.
func (f *frame) Asset(name string) string { return assetPath(name) }

// show writes a page.
func (p *Page) show(v *visit, name string, f *frame) error {
	p.render(v.writer, v.Request, http.StatusOK, name, f)
	return nil
}

// render writes a page at once, so that an error of a template is no half of a page.
func (p *Page) render(w http.ResponseWriter, r *http.Request, status int, name string, f *frame) {
	var out bytes.Buffer
	if err := templates().ExecuteTemplate(&out, name, f); err != nil {
		p.settings.Log(r.Method, r.URL.EscapedPath(), err)
		http.Error(w, "the page could not be written", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept-Encoding")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") || out.Len() < 1<<10 {
		w.WriteHeader(status)
		_, _ = w.Write(out.Bytes()) // a browser that went away asks again
		return
	}
	h.Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	if packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed); err == nil {
		_, _ = packed.Write(out.Bytes())
		_ = packed.Close()
	}
}

// asset is a file that pages load.
type asset struct {
	media, version string
	body           []byte
}

var readAssetsOnce = sync.OnceValue(func() map[string]asset {
	all := map[string]asset{}
	media := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	_ = fs.WalkDir(assetFiles, "assets", func(path string, _ fs.DirEntry, err error) error {
		if dot := strings.LastIndexByte(path, '.'); err == nil && dot > 0 && media[path[dot:]] != "" {
			body, reading := assetFiles.ReadFile(path)
			sum := sha256.Sum256(body)
			all[strings.TrimPrefix(path, "assets/")] = asset{media[path[dot:]], hex.EncodeToString(sum[:6]), body}
			return reading
		}
		return err
	})
	return all
})

func readAssets() map[string]asset { return readAssetsOnce() }

func assetPath(name string) string { return "/assets/" + name + "?v=" + readAssets()[name].version }

// asset writes a file. One that is asked for by its version never changes.
func (p *Page) asset(w http.ResponseWriter, r *http.Request) {
	a, known := p.assets[r.PathValue("name")]
	if !known {
		p.problem(w, r, nil, notFound("There is no such file", ""))
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.media)
	if r.URL.Query().Get("v") == a.version {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.body))
}

// stageURL is the path of a stage.
func stageURL(s statestore.Stage) string {
	return "/s/" + url.PathEscape(wire.Segment(s.Stack)) + "/" + url.PathEscape(wire.Segment(s.Name))
}

// resourceURL is the path of a resource. Addresses have slashes, and more.
func resourceURL(s statestore.Stage, address string) string {
	return stageURL(s) + "/resource?" + url.Values{"address": {address}}.Encode()
}

func runURL(s statestore.Stage, run string) string {
	return stageURL(s) + "/runs/" + url.PathEscape(wire.Segment(run))
}
