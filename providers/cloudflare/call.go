package cloudflare

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"

	"github.com/athanor-dev/athanor/reconcile"
)

// Request is a call that is made without the client's own types.
type Request struct {
	// Method and Path below the endpoint, with its query. Parts that are not fixed are escaped by url.PathEscape.
	Method, Path string
	// Header is sent along. Nil: none.
	Header http.Header
	// Body is sent as JSON. Nil: none.
	Body any
}

// Call makes a call for which the client has no method, or types that cannot be made outside of it, by the same way as
// all others. What is under "result" of the answer is decoded into the value that into points to, unless that is nil.
func Call(ctx context.Context, cloud reconcile.Cloud, r Request, into any) error {
	c, ok := cloud.(*Cloud)
	if !ok {
		return fmt.Errorf("%T is no place in Cloudflare", cloud)
	}
	way, err := c.way()
	if err != nil {
		return err
	}
	var text io.Reader
	if r.Body != nil {
		encoded, err := json.Marshal(r.Body)
		if err != nil {
			return err
		}
		text = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, way.endpoint+r.Path, text)
	if err != nil {
		return err
	}
	maps.Copy(req.Header, r.Header)
	req.Header.Set("Authorization", "Bearer "+way.token)
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.pass(req, c.http.Do)
	if err != nil || into == nil {
		return err
	}
	return json.NewDecoder(res.Body).Decode(&struct {
		Result any `json:"result"`
	}{into})
}
