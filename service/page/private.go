package page

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/athanor-dev/athanor/statestore"
)

// Private says which stages show addresses, kinds and statuses only.
type Private func(ctx context.Context) (func(statestore.Stage) bool, error)

// privateKey is the key of what Private said at the beginning of a request.
type privateKey struct{}

// withPrivate asks once for all that a request reads.
func (p *Page) withPrivate(ctx context.Context) (context.Context, error) {
	if p.settings.Private == nil {
		return ctx, nil
	}
	private, err := p.settings.Private(ctx)
	if err != nil {
		return ctx, err
	}
	return context.WithValue(ctx, privateKey{}, private), nil
}

// isPrivate reports whether a stage is private: as it was when the request began, and now where there is no request.
func (p *Page) isPrivate(ctx context.Context, stage statestore.Stage) (bool, error) {
	if p.settings.Private == nil {
		return false, nil
	}
	private, known := ctx.Value(privateKey{}).(func(statestore.Stage) bool)
	if !known {
		var err error
		if private, err = p.settings.Private(ctx); err != nil {
			return false, err
		}
	}
	return private(stage), nil
}

// maskedStore is a store without what private stages do not show. All pages read it, so that none can forget.
type maskedStore struct {
	statestore.Store

	page *Page
}

// Load implements [statestore.Store]. Of the objects of a private stage it leaves their kinds and how they stand.
func (s maskedStore) Load(ctx context.Context, stage statestore.Stage) (*statestore.Snapshot, error) {
	hide, err := s.page.isPrivate(ctx, stage)
	if err != nil {
		return nil, err
	}
	snap, err := s.Store.Load(ctx, stage)
	if err != nil || !hide {
		return snap, err
	}
	for address, row := range snap.Rows {
		row.Generations = slices.Clone(row.Generations)
		for i := range row.Generations {
			row.Generations[i].Identity, row.Generations[i].Place = "", statestore.Place{}
		}
		snap.Rows[address] = row
	}
	for address, damage := range snap.Damaged {
		shown := *damage
		shown.Identities = slices.Clone(shown.Identities)
		for i := range shown.Identities {
			shown.Identities[i].Identity = ""
		}
		snap.Damaged[address] = &shown
	}
	return snap, nil
}

// Events implements [statestore.Store]. Of the events of a private stage it leaves which resource was changed how, when and with what
// outcome: texts, errors and paths are left out.
func (s maskedStore) Events(ctx context.Context, stage statestore.Stage, run string, after uint64, limit int) ([]statestore.Event, error) {
	hide, err := s.page.isPrivate(ctx, stage)
	if err != nil {
		return nil, err
	}
	events, err := s.Store.Events(ctx, stage, run, after, limit)
	if err != nil || !hide {
		return events, err
	}
	masked := make([]statestore.Event, len(events))
	for i, stored := range events {
		masked[i] = stored
		var e event
		if json.Unmarshal(stored.Body, &e) != nil {
			e = event{}
		}
		e.Note, e.Error, e.Hint, e.Cause, e.Paths = "", "", "", "", nil
		if e.Status == "failed" {
			e.Error = hiddenText
		}
		if masked[i].Body, err = json.Marshal(e); err != nil {
			return nil, err
		}
	}
	return masked, nil
}

// hiddenText stands for an error of a private stage.
const hiddenText = "not shown: the stage is private"

// asPrivate reports whether the stage of a visit is still as private as when the visit began: a stream that goes on ends when that changes.
func (p *Page) asPrivate(v *visit) bool {
	began, err := p.isPrivate(v.Context(), v.stage)
	if err != nil || p.settings.Private == nil {
		return err == nil
	}
	private, err := p.settings.Private(v.Context())
	return err == nil && private(v.stage) == began
}
