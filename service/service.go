// Package service is the HTTP service in front of a store: runs with leases, commits, events, tokens and roles.
//
// It knows the protocol of docs/service.md and who may do what. State is in the store alone, so that replicas are equal:
// which run holds a stage, and whether a write may happen, is decided there, in one transaction each. The service has no
// key of any stage. It does not know what a resource is, nor what the sealed bytes mean that it passes on.
package service

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/athanor-dev/athanor/service/internal/sse"
	"github.com/athanor-dev/athanor/service/page"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// Settings say how a service behaves. The zero value is a service of the loopback.
type Settings struct {
	// Version is what the program calls itself.
	Version string
	// Clock is the wall clock; nil for the real one. Leases are counted by the store's.
	Clock func() time.Time
	// Rate is how many requests a second one token may send on average, and Burst how many at once. Zero: 200 and 2,000.
	Rate, Burst float64
	// Streams is how many event streams one token may have open; 0 for 50.
	Streams int
	// Orphaned is how long a lease must have ended until its run is ended by [Service.Collect]; 0 for ten minutes, in
	// which a machine that slept may go on.
	Orphaned time.Duration
	// ApprovalLife is how long an approval of a plan is good for; 0 for [ApprovalLife].
	ApprovalLife time.Duration
	// OIDC says whose ID tokens are taken; nil: nobody's.
	OIDC *OIDC
	// Webhooks are told what the audit log gets, by [Service.Deliver].
	Webhooks []Webhook
	// AuditKeys sign the audit log: the first one signs, and each of them may have signed what is there. None: nothing is signed.
	AuditKeys []ed25519.PrivateKey
	// AuditKeep is how long entries of the audit log are kept at least, by [Service.Retain], where no stage of the stack demands more; 0 for
	// ever.
	AuditKeep time.Duration
	// Log is told of each request that failed for a reason of the service's own; nil: nobody is.
	Log func(method, path string, err error)
	// Plainly says the text of an error on a page without words that only a programmer knows; nil: it is shown as it is.
	Plainly func(text string) string
	// Proxies are the networks whose X-Forwarded-For is believed.
	Proxies []*net.IPNet
}

// Service answers requests. Stop ends its event streams.
type Service struct {
	store    statestore.Folders
	settings Settings
	tokens   *Tokens
	auditLog *auditLog
	rates    *limiter
	guesses  *limiter
	issuers  *issuers
	metrics  *metrics
	streams  *sse.Counter
	pages    *page.Page
	explains []explanation // set before the first request
	mux      *http.ServeMux
	stop     context.CancelFunc
	stopping context.Context //nolint:containedctx // it ends with the service, which outlives every request
}

// New returns the service in front of a store.
func New(ctx context.Context, store statestore.Folders, settings Settings) *Service {
	if settings.Clock == nil {
		settings.Clock = time.Now
	}
	if settings.Rate == 0 {
		settings.Rate, settings.Burst = 200, 2000
	}
	if settings.ApprovalLife == 0 {
		settings.ApprovalLife = ApprovalLife
	}
	if settings.Streams == 0 {
		settings.Streams = 50
	}
	if settings.Orphaned == 0 {
		settings.Orphaned = 10 * time.Minute
	}
	if settings.Log == nil {
		settings.Log = func(string, string, error) {}
	}
	log := &auditLog{store: store, keys: settings.AuditKeys, unsound: func(stack string, err error) {
		settings.Log("AUDIT", stack, fmt.Errorf("the audit log was changed in the store, and is not signed any more: %w", err))
	}}
	s := &Service{
		store: store, settings: settings, tokens: newTokens(store, settings.Clock, log), auditLog: log, mux: http.NewServeMux(),
		rates: newLimiter(settings.Rate, settings.Burst, settings.Clock),
		// Tokens have 256 random bits: this bounds what guessing costs the service, not what it could find.
		guesses: newLimiter(1, 20, settings.Clock), streams: sse.NewCounter(settings.Streams),
		issuers: newIssuers(settings.OIDC, settings.Clock), metrics: newMetrics(),
	}
	s.stopping, s.stop = context.WithCancel(ctx)
	s.open()
	s.openPages()
	for _, r := range s.routes() {
		s.mux.Handle(r.method+" "+r.path, s.handler(r))
	}
	return s
}

// Stop ends the event streams, whose readers go on at another replica, so that a shutdown need not wait for them.
func (s *Service) Stop() { s.stop() }

// HTTPServer returns a server with limits and timeouts for a handler.
func HTTPServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
}

// exchange is the time that one request may take, its body of the largest size included.
const exchange = 5 * time.Minute

// ServeHTTP answers a request, and counts it.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := s.settings.Clock()
	seen := &observed{ResponseWriter: w}
	defer func() {
		key := requestKey{methodOf(r), routeOf(r), seen.status}
		s.metrics.answered(key, s.settings.Clock().Sub(began), w.Header().Get("Content-Type") == sse.Type)
	}()
	s.serve(seen, r)
}

func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if handler, pattern := s.mux.Handler(r); pattern == "" {
		answer := &statusOnly{header: http.Header{}}
		handler.ServeHTTP(answer, r)
		p := wire.NewProblem(http.StatusNotFound, wire.CodeNotFound, "there is no such address", "")
		if answer.status == http.StatusMethodNotAllowed {
			p.Status, p.Title = answer.status, "the address does not take this method"
			h.Set("Allow", answer.header.Get("Allow"))
		}
		s.fail(w, r, p)
		return
	}
	control := http.NewResponseController(w)
	deadline := time.Now().Add(exchange)
	_, _ = control.SetReadDeadline(deadline), control.SetWriteDeadline(deadline) // a recorder in a test has none
	s.mux.ServeHTTP(w, r)
}

// statusOnly takes from the library's own answer what it says, without its text.
type statusOnly struct {
	header http.Header
	status int
}

func (a *statusOnly) Header() http.Header         { return a.header }
func (a *statusOnly) Write(p []byte) (int, error) { return len(p), nil }
func (a *statusOnly) WriteHeader(status int)      { a.status = status }

// Collect ends the runs whose lease ended a while ago and that nobody took over, and returns how many. Any replica may do
// so at any time: whether the lease has ended is decided in the statement that ends the run.
func (s *Service) Collect(ctx context.Context) (int, error) {
	stages, err := s.store.Stages(ctx)
	if err != nil {
		return 0, err
	}
	ended := 0
	for _, stage := range stages {
		done, err := s.store.Interrupt(ctx, stage, statestore.Order{Unlock: true, Who: "athanor serve", Expired: s.settings.Orphaned})
		if err != nil {
			return ended, err
		}
		if !done {
			continue
		}
		ended++
		s.metrics.orphan()
		if err := s.collected(ctx, stage); err != nil {
			return ended, err
		}
	}
	return ended, nil
}

// request is one request whose caller is known.
type request struct {
	*http.Request
	caller *caller
	secret string
	stage  statestore.Stage
	run    string
	writer http.ResponseWriter
}

// route is one operation of the protocol.
type route struct {
	method, path string
	// need is the role on the stage of the path; without a stage in the path, on any.
	need role
	// everywhere: the role is needed on all stages.
	everywhere bool
	// byRun: the token is that of the run.
	byRun bool
	// open: it needs no token.
	open bool
	do   func(*request) (any, error)
	// created: the answer says that something was made.
	created bool
}

// handler checks who sends a request and whether they may, and writes the answer.
func (s *Service) handler(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		in := &request{Request: req, writer: w}
		answer, err := s.answer(r, in)
		switch {
		case err != nil:
			s.fail(w, req, err)
		case answer == nil: // it was written already
		case r.created:
			s.write(w, req, http.StatusCreated, answer)
		default:
			s.write(w, req, http.StatusOK, answer)
		}
	})
}

func (s *Service) answer(r route, in *request) (any, error) {
	if err := checkProtocol(in.Header.Get(wire.VersionHeader)); err != nil {
		return nil, err
	}
	if r.open {
		if wait := s.guesses.wait(remoteOf(in.Request, s.settings.Proxies)); wait > 0 {
			return nil, tooMany(wait)
		}
		return r.do(in)
	}
	if err := s.admit(r, in); err != nil {
		return nil, err
	}
	if wait := s.rates.take(in.caller.token.ID); wait > 0 {
		return nil, tooMany(wait)
	}
	return r.do(in)
}

// admit reads the names of the path and finds out whose token a request carries and whether it may.
func (s *Service) admit(r route, in *request) (err error) {
	if in.secret, err = bearer(in.Header.Get("Authorization")); err != nil {
		return err
	}
	if in.caller, err = s.authenticate(r, in); err != nil {
		return err
	}
	if in.stage, in.run, err = names(in.Request); err != nil {
		return err
	}
	have := highest(in.caller.grants)
	if in.stage.Stack != "" || r.everywhere {
		have = roleOn(in.caller.grants, in.stage)
	}
	return require(in.caller, have, r.need)
}

// require returns an error unless the role that a caller has is the one that is needed, or a stronger one.
func require(who *caller, have, need role) error {
	if have < need {
		p := wire.NewProblem(http.StatusForbidden, wire.CodeForbidden, "the token may not do this",
			who.account()+" needs the role "+need.String())
		p.Hint = "ask an admin for a token with the role " + need.String()
		return p
	}
	return nil
}

// authenticate finds the caller of a request. An address from which too many wrong tokens came has to wait with tokens that
// were never seen to be good: others, which may come from the same address, are not held up.
func (s *Service) authenticate(r route, in *request) (*caller, error) {
	from := remoteOf(in.Request, s.settings.Proxies)
	if wait := s.guesses.wait(from); wait > 0 && !s.tokens.knows(in.secret) {
		return nil, tooMany(wait)
	}
	authenticate := s.tokens.authenticate
	if r.byRun {
		authenticate = s.tokens.runCaller
	}
	who, err := authenticate(in.Context(), in.secret)
	if p, ok := errors.AsType[*wire.Problem](err); ok && p.Status == http.StatusUnauthorized {
		s.guesses.take(from)
	}
	return who, err
}

// names are the stage and run of a path; empty where it has none.
func names(r *http.Request) (stage statestore.Stage, run string, err error) {
	for name, into := range map[string]*string{"stack": &stage.Stack, "stage": &stage.Name, "run": &run} {
		if segment := r.PathValue(name); segment != "" {
			if *into, err = wire.Name(segment); err != nil {
				return stage, run, &statestore.InvalidError{Rule: "the name of a " + name + ": " + err.Error()}
			}
		}
	}
	return stage, run, nil
}
