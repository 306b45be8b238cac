package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/athanor-dev/athanor/service/page"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// openPages adds the pages for people. A browser signs in with an API token, and may what the token may.
func (s *Service) openPages() {
	pages := page.New(s.stopping, page.Settings{
		Store: s.store, StoreName: "this service", Version: s.settings.Version, Clock: s.settings.Clock, Log: s.settings.Log, Plainly: s.settings.Plainly, Cancel: s.cancelFromPage,
		Plans: s.plansOnPage, DecidePlan: s.decideFromPage,
		Notes: s.notes, Private: s.private,
		Drift: func(r *http.Request, _ *page.Visitor, stage statestore.Stage) (*wire.Drift, error) {
			return s.readDrift(r.Context(), stage)
		},
		Sessions: &page.Sessions{
			Visitor: s.visitor, Encrypted: func(r *http.Request) bool { return r.TLS != nil || len(s.settings.Proxies) > 0 }, SignIns: s.signIns(),
		},
	})
	s.pages = pages
	for _, path := range []string{"GET /{$}", "/s/", "GET /assets/", "/tokens", "/tokens/", "GET /audit", "POST /signin", "GET /signin/", "POST /signout"} {
		s.mux.Handle(path, pages)
	}
}

// Warm does before the first page what it would wait for.
func (s *Service) Warm(ctx context.Context) { s.pages.Warm(ctx) }

// visitor returns whose token a browser has; nil where the token is not good.
func (s *Service) visitor(r *http.Request, secret string) (*page.Visitor, error) {
	in := &request{Request: r, secret: secret}
	who, err := s.authenticate(route{}, in)
	if limit, ok := errors.AsType[*limitError](err); ok {
		return nil, refusal(limit.problem)
	}
	if p, ok := errors.AsType[*wire.Problem](err); ok && p.Status == http.StatusUnauthorized {
		return nil, nil //nolint:nilnil // who has no good token signs in
	}
	if err != nil {
		return nil, err
	}
	if wait := s.rates.take(who.token.ID); wait > 0 {
		return nil, refusal(wire.NewProblem(http.StatusTooManyRequests, wire.CodeTooMany, "too many requests", "the token asks too often"))
	}
	v := &page.Visitor{Name: who.account(), May: func(right page.Right, stage statestore.Stage) bool {
		need := deployer
		if right == page.Read {
			need = reader
		}
		return roleOn(who.grants, stage) >= need
	}}
	if highest(who.grants) >= admin {
		v.Team = &pageTeam{s, r, who}
	}
	return v, nil
}

// refusal shows a problem of the protocol to a visitor.
func refusal(p *wire.Problem) *page.Refusal {
	return &page.Refusal{Status: p.Status, Why: p.Error(), Hint: p.Hint}
}

// operation runs an operation of the protocol for a visitor, by its rules and with its entries in the audit log.
func (s *Service) operation(do func(*request) (any, error), r *http.Request, who *caller, stage statestore.Stage, run string, body any, path ...string) (any, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	inner := r.Clone(r.Context())
	inner.Body, inner.Header = io.NopCloser(bytes.NewReader(text)), http.Header{"X-Forwarded-For": r.Header.Values("X-Forwarded-For")}
	for i := 0; i < len(path); i += 2 {
		inner.SetPathValue(path[i], path[i+1])
	}
	answer, err := do(&request{Request: inner, caller: who, stage: stage, run: run})
	if err != nil {
		if p := wire.FromError(err); p != nil && p.Status < http.StatusInternalServerError {
			return nil, refusal(p)
		}
	}
	return answer, err
}

// cancelFromPage asks a run to stop.
func (s *Service) cancelFromPage(r *http.Request, v *page.Visitor, stage statestore.Stage, run string) error {
	who, err := s.tokens.authenticate(r.Context(), v.Secret)
	if err == nil {
		_, err = s.operation(s.interrupt(false), r, who, stage, run, wire.Order{Who: wire.Text("page (" + who.account() + ")"), Why: "cancelled on the page"})
	}
	return err
}

// plansOnPage lists the plans that were submitted for a stage. Their documents are sealed: what they do is what their submitters
// say.
func (s *Service) plansOnPage(r *http.Request, v *page.Visitor, stage statestore.Stage) ([]page.Plan, error) {
	who, err := s.tokens.authenticate(r.Context(), v.Secret)
	if err != nil {
		return nil, err
	}
	rule, err := s.readRule(r.Context(), stage)
	if err != nil {
		return nil, err
	}
	var plans []page.Plan
	err = s.store.ReadFolder(r.Context(), plansFolder(stage), func(f statestore.Folder) error {
		plans = nil
		all, err := readPlans(f)
		for i := range all {
			plans = append(plans, s.planOnPage(who, &rule, stage, &all[i]))
		}
		return err
	})
	return plans, err
}

func (s *Service) planOnPage(who *caller, rule *storedRule, stage statestore.Stage, plan *storedPlan) page.Plan {
	now := s.shownPlan(plan)
	shown := page.Submitted(&now)
	if shown.State != wire.PlanWaiting {
		return shown
	}
	refused := require(who, roleOn(who.grants, stage), deployer)
	if refused == nil {
		refused = mayDecide(who, rule, plan, false, s.settings.Clock())
	}
	if shown.MayReject = refused == nil; shown.MayReject {
		refused = mayDecide(who, rule, plan, true, s.settings.Clock())
		shown.MayApprove = refused == nil
	}
	if refused != nil {
		shown.Why = string(wire.FromError(refused).Detail)
	}
	return shown
}

// decideFromPage approves or rejects a plan, by the rules of the protocol.
func (s *Service) decideFromPage(r *http.Request, v *page.Visitor, stage statestore.Stage, id string, decision wire.Decision) error {
	who, err := s.tokens.authenticate(r.Context(), v.Secret)
	if err != nil {
		return err
	}
	if err := require(who, roleOn(who.grants, stage), deployer); err != nil {
		return refusal(wire.FromError(err))
	}
	_, err = s.operation(s.decide, r, who, stage, "", decision, "plan", id)
	return err
}

// pageTeam is what an admin sees, by the rules of the protocol.
type pageTeam struct {
	s       *Service
	request *http.Request
	who     *caller
}

func (t *pageTeam) Roles() []string { return Roles() }

func (t *pageTeam) Tokens(context.Context) ([]wire.Token, error) {
	answer, err := t.s.operation(t.s.listTokens, t.request, t.who, statestore.Stage{}, "", nil)
	list, _ := answer.(wire.Tokens)
	return list.Tokens, err
}

func (t *pageTeam) CreateToken(_ context.Context, name string, grants []wire.Grant, life time.Duration) (wire.Token, error) {
	answer, err := t.s.operation(t.s.createToken, t.request, t.who, statestore.Stage{}, "", wire.NewToken{Name: name, Grants: grants, Expires: life.String()})
	token, _ := answer.(wire.Token)
	return token, err
}

func (t *pageTeam) RevokeToken(_ context.Context, id string) error {
	_, err := t.s.operation(t.s.revokeToken, t.request, t.who, statestore.Stage{}, "", nil, "token", id)
	return err
}

func (t *pageTeam) Audit(_ context.Context, stack string, after uint64) (wire.Audit, error) {
	if roleOn(t.who.grants, statestore.Stage{Stack: stack}) < admin {
		return wire.Audit{}, &page.Refusal{Status: http.StatusForbidden, Why: "You may not read this audit log", Hint: "It needs the role admin on all of it."}
	}
	inner := t.request.Clone(t.request.Context())
	inner.URL.RawQuery = "after=" + strconv.FormatUint(after, 10)
	answer, err := t.s.operation(t.s.listAudit, inner, t.who, statestore.Stage{Stack: stack}, "", nil)
	entries, _ := answer.(wire.Audit)
	return entries, err
}
