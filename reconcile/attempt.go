package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// DefaultAttemptTimeout is how long nothing may move in either direction before an attempt counts as lost.
const DefaultAttemptTimeout = time.Minute

// SilentError says that a service did not answer: nothing moved in either direction for the time that an attempt has. What was
// asked for may have been done.
type SilentError struct{ After time.Duration }

func (e *SilentError) Error() string { return fmt.Sprintf("no answer: nothing moved for %s", e.After) }

// Timeout makes it an error of the network, which counts as a lost answer.
func (e *SilentError) Timeout() bool { return true }

// Temporary is part of what an error of the network says.
func (e *SilentError) Temporary() bool { return true }

type attemptKey struct{}

// WithAttemptTimeout sets how long nothing may move before an attempt under ctx counts as lost. 0 and less: for ever. It is for
// users, and for calls whose answer legitimately comes late.
func WithAttemptTimeout(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, attemptKey{}, d)
}

func attemptTimeout(ctx context.Context) time.Duration {
	if d, ok := ctx.Value(attemptKey{}).(time.Duration); ok {
		return d
	}
	return DefaultAttemptTimeout
}

// LimitAttempts ends each request of next with a *SilentError when nothing moved for too long: no connection was made, no byte
// of the body was taken, and none of the answer came. A long upload or download moves, and is not ended.
func LimitAttempts(next http.RoundTripper) http.RoundTripper { return &limited{next} }

type limited struct{ next http.RoundTripper }

// RoundTrip makes one request.
func (l *limited) RoundTrip(req *http.Request) (*http.Response, error) {
	limit := attemptTimeout(req.Context())
	if limit <= 0 {
		return l.next.RoundTrip(req)
	}
	ctx, cancel := context.WithCancel(req.Context())
	a := &attempt{limit: limit, end: cancel}
	a.begin()
	req = req.Clone(httptrace.WithClientTrace(ctx, a.trace()))
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &moving{req.Body, a, false}
	}
	if body := req.GetBody; body != nil {
		req.GetBody = func() (io.ReadCloser, error) {
			again, err := body()
			return &moving{again, a, false}, err
		}
	}
	res, err := l.next.RoundTrip(req)
	a.pause()
	if err != nil {
		cancel()
		return nil, a.reason(err)
	}
	res.Body = &moving{res.Body, a, true}
	return res, nil
}

// attempt is one request under way, and the timer that ends it.
type attempt struct {
	limit time.Duration
	end   context.CancelFunc

	mu    sync.Mutex
	timer *time.Timer // nil while nobody waits for the service
	lost  bool        // the service was silent for too long
}

func (a *attempt) silent() {
	a.mu.Lock()
	a.lost = true
	a.mu.Unlock()
	a.end()
}

// begin counts from now on.
func (a *attempt) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer == nil {
		a.timer = time.AfterFunc(a.limit, a.silent)
	}
}

// moved begins to count anew.
func (a *attempt) moved() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Reset(a.limit)
	}
}

// pause counts no more until begin.
func (a *attempt) pause() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

// trace tells of what moves beside bodies.
func (a *attempt) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn:              func(httptrace.GotConnInfo) { a.moved() },
		WroteHeaders:         a.moved,
		WroteRequest:         func(httptrace.WroteRequestInfo) { a.moved() },
		GotFirstResponseByte: a.moved,
	}
}

// reason is the silence that an error comes of, else the error.
func (a *attempt) reason(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost && err != nil && !errors.Is(err, io.EOF) {
		return &SilentError{After: a.limit}
	}
	return err
}

// moving is a body that tells when bytes move. While an answer is not read, nobody waits for the service.
type moving struct {
	io.ReadCloser
	attempt *attempt
	answer  bool
}

// Read reads, and ends when the service is silent for too long.
func (m *moving) Read(p []byte) (int, error) {
	if m.answer {
		m.attempt.begin()
		defer m.attempt.pause()
	}
	n, err := m.ReadCloser.Read(p)
	if n > 0 {
		m.attempt.moved()
	}
	return n, m.attempt.reason(err)
}

// Close ends the attempt with its answer.
func (m *moving) Close() error {
	err := m.ReadCloser.Close()
	if m.answer {
		m.attempt.pause()
		m.attempt.end()
	}
	return err
}
