package service

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/service/page"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// Caller is the authenticated sender of a request that a mounted handler answers.
type Caller struct {
	who    *caller
	author wire.Author
}

// Account names the caller as runs and the audit log do.
func (c *Caller) Account() string { return c.who.account() }

// TokenID is the id of the API token that the caller has, or that its run was started with.
func (c *Caller) TokenID() string { return c.who.token.ID }

// TokenName is the name of that token.
func (c *Caller) TokenName() string { return c.who.token.Name }

// Require returns an error unless the caller has a role on a stage.
func (c *Caller) Require(name string, stage statestore.Stage) error {
	return require(c.who, roleOn(c.who.grants, stage), role(slices.Index(roles, name)))
}

// RunToken returns the token of a run that the caller starts. The same nonce gives the same token.
func (c *Caller) RunToken(stage statestore.Stage, run string, nonce []byte) string {
	return runToken(c.who, stage, run, nonce)
}

// Mount adds a handler of another package to the service. It authenticates its requests with [Service.Admit].
func (s *Service) Mount(pattern string, handler http.Handler) { s.mux.Handle(pattern, handler) }

// Explain lets the pages ask for what another tool has left in the stages whose stack begins with a prefix.
func (s *Service) Explain(prefix string, notes func(context.Context, statestore.Stage) ([]page.Note, error)) {
	s.explains = append(s.explains, explanation{prefix, notes})
}

type explanation struct {
	prefix string
	notes  func(context.Context, statestore.Stage) ([]page.Note, error)
}

// notes asks the tool of a stage, if it is not athanor.
func (s *Service) notes(r *http.Request, _ *page.Visitor, stage statestore.Stage) ([]page.Note, error) {
	for _, e := range s.explains {
		if !strings.HasPrefix(stage.Stack, e.prefix) {
			continue
		}
		notes, err := e.notes(r.Context(), stage)
		if err != nil { // the page shows the rest
			s.Report(r, err)
			notes = []page.Note{{Title: "What the tool has left could not be read.", Detail: "The log of the service says why."}}
		}
		return notes, nil
	}
	return nil, nil
}

// Store returns the store that the service stands in front of.
func (s *Service) Store() statestore.Folders { return s.store }

// Now returns the time by the service's wall clock.
func (s *Service) Now() time.Time { return s.settings.Clock() }

// Report passes a failure of the service's own to the log of its settings.
func (s *Service) Report(r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // the caller went away
	}
	s.settings.Log(r.Method, r.URL.EscapedPath(), err)
}

// Admit returns the caller whose API token a secret is, within the limits on rates. With byRun the secret is the token
// of a run, and whether it is that of the run that a request names is decided in the transaction that writes.
func (s *Service) Admit(r *http.Request, secret string, byRun bool) (*Caller, error) {
	in := &request{Request: r, secret: secret}
	var err error
	if in.caller, err = s.authenticate(route{byRun: byRun}, in); err != nil {
		return nil, err
	}
	if wait := s.rates.take(in.caller.token.ID); wait > 0 {
		return nil, tooMany(wait)
	}
	return &Caller{in.caller, s.author(in)}, nil
}

// Audit appends what a caller did to the audit log of a stack, once for each id.
func (s *Service) Audit(ctx context.Context, by *Caller, action string, stage statestore.Stage, run, detail, id string) error {
	return s.audit(ctx, id, wire.AuditEntry{
		Author: by.author, Action: action, Stack: wire.Text(stage.Stack), Stage: wire.Text(stage.Name), Run: wire.Text(run),
		Detail: wire.Text(detail),
	})
}
