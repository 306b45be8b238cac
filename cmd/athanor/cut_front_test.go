//go:build peers && linux && amd64

package main

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// cutFront stands between a provider and its service, and counts the requests that change something there. One of them may be a cut: it never gets there.
type cutFront struct {
	mu       sync.Mutex
	at, seen int
	cut      func()
}

// arm makes the nth request from here on a cut; with 0 there is none.
func (f *cutFront) arm(n int, cut func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.seen, f.cut = n, 0, cut
}

// passes counts a request, and reports whether it goes on. After a cut none does.
func (f *cutFront) passes() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen++
	if f.at == f.seen {
		f.cut()
	}
	return f.at == 0 || f.seen < f.at
}

// ofHTTP is the address of a front of a server.
func (f *cutFront) ofHTTP(t *testing.T, base string) string {
	t.Helper()
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: to.Scheme, Host: to.Host})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead && !f.passes() {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + to.Path
}

// ofPostgres is the port of a front of a database's server.
func (f *cutFront) ofPostgres(t *testing.T, db database) int {
	t.Helper()
	front, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = front.Close() })
	socket := filepath.Join(db.address.Query().Get("host"), ".s.PGSQL.5432")
	go func() {
		for {
			in, err := front.Accept()
			if err != nil {
				return
			}
			out, err := new(net.Dialer).DialContext(context.Background(), "unix", socket)
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(in, out)
				_, _ = in.Close(), out.Close()
			}()
			go func() {
				_ = f.statements(out, in)
				_, _ = in.Close(), out.Close()
			}()
		}
	}()
	return front.Addr().(*net.TCPAddr).Port
}

// statements hands on what a client of PostgreSQL says, message by message, until a cut: the first has no kind, a query (Q) and the statement that is
// prepared (P) hold their text.
func (f *cutFront) statements(to io.Writer, from io.Reader) error {
	for kind := 0; ; kind = 1 {
		head := make([]byte, kind+4)
		if _, err := io.ReadFull(from, head); err != nil {
			return err
		}
		body := make([]byte, max(binary.BigEndian.Uint32(head[kind:]), 4)-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return err
		}
		text := string(body)
		if kind == 1 && head[0] == 'P' {
			_, text, _ = strings.Cut(text, "\x00") // its name
		}
		if kind == 1 && (head[0] == 'Q' || head[0] == 'P') && changes(text) && !f.passes() {
			return io.EOF
		}
		if _, err := to.Write(slices.Concat(head, body)); err != nil {
			return err
		}
	}
}

// changes reports a statement after which something may be another way.
func changes(statement string) bool {
	text, _, _ := strings.Cut(statement, "\x00")
	words := strings.Fields(strings.ToUpper(strings.TrimLeft(text, "; \t\n")))
	return len(words) > 0 && !slices.Contains([]string{"SELECT", "SHOW", "BEGIN", "START", "SET", "ROLLBACK", ";"}, strings.TrimRight(words[0], ";"))
}
