package cloudflare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/internal/limit"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/rate"
)

type (
	readingKey struct{}
	askingKey  struct{}
	namedKey   struct{} // the operation that a call is
)

// Reading is for operations that do what they are told in a language of their own, such as a query of a database: the
// caller vouches that what it sends under this context changes nothing.
func Reading(ctx context.Context) context.Context {
	return context.WithValue(ctx, readingKey{}, true)
}

// pass makes every request of a client go through the gates of its context, and tells what became of it.
func (c *Cloud) pass(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	ctx := req.Context()
	way, err := c.way()
	if err != nil {
		return nil, err
	}
	op, named := ctx.Value(namedKey{}).(Operation)
	if !named {
		op = OperationOf(req.Method, below(req.URL, way.endpoint))
	}
	call, err := c.call(ctx, op)
	if err != nil {
		return nil, err
	}
	limiter := c.limits.Of(way.endpoint, way.token)
	var res *http.Response
	err = limiter.Through(ctx, call, rate.Attempt{
		Do: func(ctx context.Context) error {
			var err error
			if res, err = next(req.WithContext(ctx)); err != nil {
				res = nil
				return err
			}
			if left, reset, ok := limit.Remaining(res.Header); ok {
				defer limiter.Told(left, reset)
			}
			return whole(op, way.token, res)
		},
		Judge: func(err error) (reconcile.Class, time.Duration) {
			if err == nil || res == nil {
				return classOf(err), 0
			}
			return classOf(err), retryAfter(res.Header)
		},
		Again: func() error { return rewind(req) },
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// errOnce says that the content of a request was a stream, which can be sent once.
var errOnce = errors.New("the content can be sent once only")

// rewind makes a request ready to be sent again.
func rewind(req *http.Request) (err error) {
	switch {
	case req.Body == nil || req.Body == http.NoBody:
	case req.GetBody == nil:
		return errOnce
	default:
		req.Body, err = req.GetBody()
	}
	return err
}

// call is the operation under way. Its place is known before anything else is called, so that no call reaches an
// account that is not meant.
func (c *Cloud) call(ctx context.Context, op Operation) (reconcile.Call, error) {
	call := reconcile.Call{
		Service: op.Service, Operation: op.Name,
		Mutates: !op.Reads() && ctx.Value(readingKey{}) == nil,
	}
	if ctx.Value(askingKey{}) != nil {
		return call, nil // it is how the account is found
	}
	var err error
	call.Place, err = c.Place(ctx)
	return call, err
}

// whole reads an answer to its end, so that one which is cut counts as lost, and tells a refusal.
func whole(op Operation, token string, res *http.Response) error {
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", op.Name, errCut, err)
	}
	if err := refusal(op, token, res, body); err != nil {
		return err
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")) // then it is no JSON
	if strings.HasSuffix(kind, "json") && !json.Valid(body) {
		return fmt.Errorf("%s: %w", op.Name, errCut)
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}
