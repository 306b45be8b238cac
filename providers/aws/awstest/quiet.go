package awstest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// quietLimit is how long a call that has begun may take to end.
const quietLimit = 2 * time.Minute

// Quiet waits until everything that was sent to the proxy is over. After a process was killed its last
// calls may still be in the proxy, or on the way to it; once Quiet returns they have had their effect or never
// will. It is for processes that ended: clients of the test itself must have closed their connections, which
// those of [Server.Config] do by themselves.
func (s *Server) Quiet(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), quietLimit)
	defer cancel()
	if err := s.connections.quiet(ctx, s.front.Listener.Addr()); err != nil {
		t.Fatalf("the proxy does not come to rest: %v", err)
	}
}

// connections are those that callers have open.
type connections struct {
	mu      sync.Mutex
	open    map[string]bool // by the caller's address
	changed chan struct{}   // closed by the next change
}

// note follows one connection, as http.Server.ConnState.
func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.open[conn.RemoteAddr().String()] = true
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn.RemoteAddr().String())
	default:
		return
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// quiet waits until none is open. Connections are taken in the order in which they were made, so once one of our own
// was taken, those made before it were.
func (c *connections) quiet(ctx context.Context, front net.Addr) error {
	var d net.Dialer
	own, err := d.DialContext(ctx, front.Network(), front.String())
	if err != nil {
		return err
	}
	address := own.LocalAddr().String()
	err = c.wait(ctx, func() bool { return c.open[address] })
	if closing := own.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return c.wait(ctx, func() bool { return len(c.open) == 0 })
}

// wait waits until done says so; it is called under the lock.
func (c *connections) wait(ctx context.Context, done func() bool) error {
	for {
		c.mu.Lock()
		ok, changed := done(), c.changed
		c.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
