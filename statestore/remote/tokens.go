package remote

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// Tokens are the API tokens of a service, as far as the caller rules over them.
type Tokens struct{ Store *Store }

// Create makes a token; the service says who made it. An answer that is lost leaves a token that nobody knows, which List
// shows.
func (t Tokens) Create(ctx context.Context, _ wire.Author, name string, grants []wire.Grant, life time.Duration) (wire.Token, error) {
	body := wire.NewToken{Name: name, Grants: grants}
	if life != 0 {
		body.Expires = life.String()
	}
	var made wire.Token
	err := t.Store.client.call(ctx, statestore.Stage{}, request{method: http.MethodPost, path: "/v1/tokens", body: body}, &made)
	return made, err
}

// List returns the tokens, newest first.
func (t Tokens) List(ctx context.Context) ([]wire.Token, error) {
	var all wire.Tokens
	err := t.Store.client.call(ctx, statestore.Stage{}, request{method: http.MethodGet, path: "/v1/tokens"}, &all)
	return all.Tokens, err
}

// Revoke ends a token.
func (t Tokens) Revoke(ctx context.Context, _ wire.Author, id string) error {
	return t.Store.client.call(ctx, statestore.Stage{}, request{method: http.MethodDelete, path: "/v1/tokens/" + url.PathEscape(id)}, nil)
}

// Audit calls each with the entries of the audit log of a stack, or of that of tokens for an empty one, from the first that is kept
// on. Whether they are a whole log is not checked: see [Store.AuditPages].
func (s *Store) Audit(ctx context.Context, stack string, each func(wire.AuditEntry) error) error {
	return s.AuditPages(ctx, stack, 0, func(page *wire.Audit) error {
		for _, entry := range page.Entries {
			if err := each(entry); err != nil {
				return err
			}
		}
		return nil
	})
}

// AuditPages calls each with the pages of the audit log of a stack, or of that of tokens for an empty one, behind an entry. A page
// says what is signed and what is no longer kept: [wire.Chain] checks it.
func (s *Store) AuditPages(ctx context.Context, stack string, after uint64, each func(*wire.Audit) error) error {
	path := "/v1/audit"
	if stack != "" {
		path = "/v1/stacks/" + wire.Segment(stack) + "/audit"
	}
	for {
		var page wire.Audit
		query := request{method: http.MethodGet, path: path + "?after=" + strconv.FormatUint(after, 10)}
		if err := s.client.call(ctx, statestore.Stage{}, query, &page); err != nil {
			return err
		}
		if err := each(&page); err != nil {
			return err
		}
		after = max(after, page.Dropped.Seq) + uint64(len(page.Entries))
		if len(page.Entries) == 0 || after >= page.Last {
			if after < page.Last {
				return fmt.Errorf("entries %d to %d are missing", after+1, page.Last)
			}
			return nil
		}
	}
}
