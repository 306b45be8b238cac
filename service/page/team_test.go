package page_test

import (
	"context"
	"time"

	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// team is a service with hostile names.
type team struct{}

func (team) Roles() []string { return []string{"reader", "admin"} }

func (team) Tokens(context.Context) ([]wire.Token, error) {
	return []wire.Token{{
		ID: "1", Name: hostile, Creator: hostile, Grants: []wire.Grant{{Role: hostile, On: hostile}}, Expires: time.Now().Add(time.Hour), Created: time.Now(),
	}}, nil
}

func (team) CreateToken(context.Context, string, []wire.Grant, time.Duration) (wire.Token, error) {
	return wire.Token{Name: hostile, Secret: hostile}, nil
}

func (team) RevokeToken(context.Context, string) error { return nil }

func (team) Audit(_ context.Context, stack string, after uint64) (wire.Audit, error) {
	e := wire.AuditEntry{Seq: 1, Author: wire.Author{Account: hostile, From: hostile}, Action: "run.start", Stage: hostile, Detail: hostile}
	if after > 0 {
		return wire.Audit{Last: 1}, nil
	}
	return wire.Audit{Entries: []wire.AuditEntry{e}, Last: 1}, nil
}
