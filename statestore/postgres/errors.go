package postgres

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/athanor-dev/athanor/statestore"
)

// What the server calls the errors that mean something here.
const (
	undefinedTable  = "42P01"
	undefinedSchema = "3F000"
	undefinedColumn = "42703"
)

func codeOf(err error) string {
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		return server.Code
	}
	return ""
}

// meaning gives the errors of a call their meaning: what is none of ours comes from the server or the way to it.
func (s *Store) meaning(ctx context.Context, err error) error {
	switch {
	case err == nil, statestore.Refused(err), errors.Is(err, statestore.ErrUnavailable):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, pgx.ErrNoRows):
		return &statestore.DamagedError{Path: s.place, Err: plain(err)}
	}
	return s.unavailable(err)
}

func (s *Store) unavailable(err error) error {
	return &statestore.UnavailableError{Path: s.place, Err: plain(err)}
}

// reason is an error with a text of one line.
type reason struct {
	text string
	err  error
}

func (r *reason) Error() string { return r.text }
func (r *reason) Unwrap() error { return r.err }

// plain takes out what the driver says around the reason: user and database again, and each address it tried.
func plain(err error) error {
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		return &reason{server.Message + " (" + server.Code + ")", err}
	}
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return &reason{network.Error(), err}
	}
	text := err.Error()
	if connecting, ok := errors.AsType[*pgconn.ConnectError](err); ok && connecting.Unwrap() != nil {
		text = connecting.Unwrap().Error()
	}
	lines := strings.Split(text, "\n")
	return &reason{strings.TrimSpace(lines[len(lines)-1]), err}
}
