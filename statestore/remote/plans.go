package remote

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// SubmitPlan submits a plan of a stage for approval. The same document is one plan.
func (s *Store) SubmitPlan(ctx context.Context, stage statestore.Stage, plan wire.NewPlan) (wire.Plan, error) {
	var answer wire.Plan
	err := s.client.call(ctx, stage, request{method: http.MethodPost, path: stagePath(stage) + "/plans", body: plan}, &answer)
	return answer, err
}

// Plans lists the submitted plans of a stage, the newest first.
func (s *Store) Plans(ctx context.Context, stage statestore.Stage) ([]wire.Plan, error) {
	var answer wire.Plans
	err := s.client.call(ctx, stage, request{method: http.MethodGet, path: stagePath(stage) + "/plans"}, &answer)
	return answer.Plans, err
}

// Plan reads a submitted plan.
func (s *Store) Plan(ctx context.Context, stage statestore.Stage, id string) (wire.Plan, error) {
	var answer wire.Plan
	err := s.client.call(ctx, stage, request{method: http.MethodGet, path: stagePath(stage) + "/plans/" + url.PathEscape(id)}, &answer)
	return answer, err
}

// Decide approves or rejects a submitted plan.
func (s *Store) Decide(ctx context.Context, stage statestore.Stage, id string, decision wire.Decision) (wire.Plan, error) {
	var answer wire.Plan
	path := stagePath(stage) + "/plans/" + url.PathEscape(id) + "/decision"
	err := s.client.call(ctx, stage, request{method: http.MethodPost, path: path, body: decision}, &answer)
	return answer, err
}

// SetRule changes what a stage demands of the runs on it and of the page, and returns its rule.
func (s *Store) SetRule(ctx context.Context, stage statestore.Stage, change wire.StageRuleChange) (wire.StageRule, error) {
	var rule wire.StageRule
	err := s.client.call(ctx, stage, request{method: http.MethodPut, path: stagePath(stage) + "/rule", body: change}, &rule)
	return rule, err
}

// UsePlan names the approved plan of the runs that this store begins. It is called before the first one.
func (s *Store) UsePlan(id string) { s.plan = id }

// ReportDrift keeps what a comparison of a stage has found, for the page.
func (s *Store) ReportDrift(ctx context.Context, stage statestore.Stage, found wire.NewDrift) error {
	return s.client.call(ctx, stage, request{method: http.MethodPut, path: stagePath(stage) + "/drift", body: found}, nil)
}

// Drift reads the newest report of drift of a stage; nil when there is none.
func (s *Store) Drift(ctx context.Context, stage statestore.Stage) (*wire.Drift, error) {
	report := new(wire.Drift)
	err := s.client.call(ctx, stage, request{method: http.MethodGet, path: stagePath(stage) + "/drift"}, report)
	if p, ok := errors.AsType[*wire.Problem](err); ok && p.Code == wire.CodeNotFound {
		return nil, nil //nolint:nilnil // there is none
	}
	return report, err
}
