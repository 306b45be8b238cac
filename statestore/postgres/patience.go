package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/athanor-dev/athanor/statestore"
)

var errSilent = errors.New("the server does not answer")

// slowest is how fast a connection must take what is sent, in bytes per second, not to be taken for a dead one.
const slowest = 64 << 10

// watch ends a call when the server gives no sign for too long: a connection whose other end vanished without a word
// would otherwise be waited for until the system gives up, a quarter of an hour later.
type watch struct {
	outer    context.Context //nolint:containedctx // of the caller, to tell who ended the call
	inner    context.Context //nolint:containedctx // of the call
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	patience time.Duration
}

func (s *Store) watch(ctx context.Context) (context.Context, *watch) {
	w := &watch{outer: ctx, patience: s.patience}
	w.inner, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(s.patience, func() { w.cancel(errSilent) })
	return w.inner, w
}

// alive notes a sign of the server.
func (w *watch) alive() { w.timer.Reset(w.patience) }

// sending allows the time that it takes to send so many bytes.
func (w *watch) sending(bytes int) {
	w.timer.Reset(w.patience + time.Duration(bytes)*time.Second/slowest)
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// reason is errSilent for an error that comes of it.
func (w *watch) reason(err error) error {
	if err != nil && w.outer.Err() == nil && errors.Is(context.Cause(w.inner), errSilent) {
		return errSilent
	}
	return err
}

// patiently runs a call, again while the server is away, as long as the store's patience lasts: servers are restarted
// and replaced, which takes seconds, and a run in its middle should not notice. Everything but what stands under
// backend.once can be sent again without harm.
func (s *Store) patiently(ctx context.Context, call func() error) error {
	deadline := time.Now().Add(s.patience)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		err := call()
		if !lost(err) || !s.met.Load() || !time.Now().Before(deadline) || ctx.Err() != nil {
			return s.meaning(ctx, err)
		}
		pause(ctx, wait)
	}
}

// pause waits, at most until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	select {
	case <-ctx.Done():
		timer.Stop()
	case <-timer.C:
	}
}

// lost reports whether the server went away, is going or coming, or asks to try again: it did nothing then, or it is not
// known what it did.
func lost(err error) bool {
	if err == nil || errors.Is(err, statestore.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		return slices.Contains([]string{
			"53300",                   // too many connections
			"57P01", "57P02", "57P03", // shutting down, crashed, starting up
		}, server.Code) || strings.HasPrefix(server.Code, "08") || strings.HasPrefix(server.Code, "40") // connection; conflict with another transaction
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return connecting || network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) || pgconn.SafeToRetry(err)
}
