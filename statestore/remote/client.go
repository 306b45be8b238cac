package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// attemptTimeout is how long one request may take before it is sent again, and slowest the bytes a second that a large
// body is given time for.
const (
	attemptTimeout = 30 * time.Second
	slowest        = 64 << 10
)

// client sends requests to one service. Every request is idempotent: each is sent again until it is answered.
type client struct {
	origin   string
	http     *http.Client
	patience time.Duration
	met      atomic.Bool // the service answered once

	once  sync.Once
	find  func(origin string) (string, error)
	token string
	err   error
}

func newClient(origin string, token func(string) (string, error)) *client {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: attemptTimeout,
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
	}
	return &client{
		origin: origin, patience: 10 * time.Second, find: token,
		// A redirect is never followed: the token is for this origin alone.
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// loopback reports whether a host is this machine, without asking anybody.
func loopback(name string) bool {
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}

// request is one request.
type request struct {
	method, path string
	body         any    // nil: none
	token        string // of a run; empty: the API token
}

// TokenError says that there is no token for a service.
type TokenError struct {
	Origin string
	Err    error
}

func (e *TokenError) Error() string { return fmt.Sprintf("%s: %v", e.Origin, e.Err) }
func (e *TokenError) Unwrap() error { return e.Err }

// Hint says what the user can do.
func (e *TokenError) Hint() string { return "athanor login " + e.Origin }

// RefusedError is a refusal of the service that is none of a store.
type RefusedError struct {
	Origin  string
	Problem *wire.Problem
}

func (e *RefusedError) Error() string { return e.Origin + ": " + e.Problem.Error() }
func (e *RefusedError) Unwrap() error { return e.Problem }

// Hint says what the user can do.
func (e *RefusedError) Hint() string { return e.Problem.Hint }

// call sends a request until it is answered, within the client's patience, and decodes the answer unless into is nil.
func (c *client) call(ctx context.Context, stage statestore.Stage, r request, into any) error {
	token := r.token
	if token == "" {
		c.once.Do(func() { c.token, c.err = c.find(c.origin) })
		if c.err != nil {
			return &TokenError{c.origin, c.err}
		}
		token = c.token
	}
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return err
		}
	}
	return c.patiently(ctx, func() error { return c.try(ctx, stage, r, token, body, into) })
}

// retryError is an outcome that is not known, or a refusal that passes.
type retryError struct {
	err   error
	after time.Duration // not before
}

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

// patiently calls try again while its outcome is not known.
func (c *client) patiently(ctx context.Context, try func() error) error {
	began, pause := time.Now(), 20*time.Millisecond
	for {
		err := try()
		again, ok := errors.AsType[*retryError](err)
		if !ok {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		patience := c.patience
		if !c.met.Load() {
			patience /= 3
		}
		wait := max(pause, again.after)
		if time.Since(began)+wait > patience {
			if p, ok := errors.AsType[*wire.Problem](again.err); ok && p.Code == wire.CodeTooMany {
				return &RefusedError{c.origin, p}
			}
			return &statestore.UnavailableError{Path: c.origin, Err: again.err}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		pause = min(2*pause, time.Second)
	}
}

// try sends a request once.
func (c *client) try(ctx context.Context, stage statestore.Stage, r request, token string, body []byte, into any) error {
	ctx, stop := context.WithTimeout(ctx, attemptTimeout+time.Duration(len(body))*time.Second/slowest)
	defer stop()
	req, err := c.request(ctx, r, token, body)
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return &retryError{err: lastOf(err)}
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 4*wire.MaxBody))
	if err != nil {
		return &retryError{err: err}
	}
	return c.meaning(stage, res, answer, into)
}

// packFrom is the size from which on a body is compressed.
const packFrom = 1 << 10

func (c *client) request(ctx context.Context, r request, token string, body []byte) (*http.Request, error) {
	var packed bytes.Buffer
	if len(body) >= packFrom {
		z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		if err != nil {
			return nil, err
		}
		if _, err := z.Write(body); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		body = packed.Bytes()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.origin+r.path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if packed.Len() > 0 {
		req.Header.Set("Content-Encoding", "gzip")
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "athanor")
	req.Header.Set(wire.VersionHeader, strconv.Itoa(wire.Version))
	return req, nil
}

// meaning reads an answer. What is not the service's own comes from a proxy on the way, and passes.
func (c *client) meaning(stage statestore.Stage, res *http.Response, answer []byte, into any) error {
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case err == nil && media == wire.ProblemType:
		p := new(wire.Problem)
		if err := json.Unmarshal(answer, p); err != nil || p.Status != res.StatusCode {
			return &retryError{err: errors.New("an answer that was cut")}
		}
		return c.problem(stage, res, p)
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return fmt.Errorf("%s redirects to another address, which gets no token", c.origin)
	case err != nil || media != "application/json" || res.StatusCode >= 300:
		return &retryError{err: fmt.Errorf("status %d, and no answer of the service", res.StatusCode)}
	}
	c.met.Store(true)
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return &retryError{err: fmt.Errorf("an answer that cannot be read: %w", err)}
	}
	return nil
}

func (c *client) problem(stage statestore.Stage, res *http.Response, p *wire.Problem) error {
	c.met.Store(true)
	err := p.Err(stage, c.origin)
	again := p.Code == wire.CodeUnavailable || p.Code == wire.CodeTooMany
	switch {
	case again:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // without one it is asked soon
		return &retryError{err: p, after: time.Duration(seconds) * time.Second}
	case statestore.Refused(err), errors.Is(err, statestore.ErrNoVersion):
		return err
	case p.Status >= http.StatusInternalServerError:
		return &statestore.UnavailableError{Path: c.origin, Err: p}
	}
	return &RefusedError{c.origin, p}
}

// lastOf takes out what the library says around the reason.
func lastOf(err error) error {
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return network
	}
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
