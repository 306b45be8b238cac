package postgres

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// line stands between a store and its server: it counts round trips, and holds back what the client sends.
type line struct {
	mu    sync.Mutex
	trips int          // times that the client sent after it had received
	sent  int          // bytes that the client sent
	limit int          // bytes that may still pass, -1: any number
	held  func([]byte) // told of the rest
}

type lineConn struct {
	net.Conn
	line     *line
	received bool
}

// through leads a store over a line of its own.
func through(t testing.TB, s *Store) *line {
	t.Helper()
	l := &line{limit: -1}
	config := s.pool.Config()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &lineConn{Conn: conn, line: l, received: true}, nil
	}
	s.pool.Close()
	var err error
	if s.pool, err = pgxpool.NewWithConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	return l
}

func (c *lineConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.line.mu.Lock()
		c.received = true
		c.line.mu.Unlock()
	}
	return n, err
}

func (c *lineConn) Write(b []byte) (int, error) {
	l := c.line
	l.mu.Lock()
	if c.received {
		c.received = false
		l.trips++
	}
	l.sent += len(b)
	pass := len(b)
	if l.limit >= 0 {
		pass = min(pass, l.limit)
		l.limit -= pass
	}
	held := l.held
	l.mu.Unlock()
	if n, err := c.Conn.Write(b[:pass]); err != nil {
		return n, err
	}
	if pass < len(b) && held != nil {
		held(b[pass:])
	}
	return len(b), nil // to the client it looks as if all of it was on its way
}

// count is how many round trips, and bytes sent, use takes.
func (l *line) count(use func()) (trips, sent int) {
	l.mu.Lock()
	l.trips, l.sent = 0, 0
	l.mu.Unlock()
	use()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trips, l.sent
}

// stop lets so many more bytes pass and calls held when the next ones are held back.
func (l *line) stop(limit int, held func([]byte)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit, l.held = limit, held
}
