package cloudflare

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/athanor-dev/athanor/reconcile"
)

// Call makes a call that the client has no method for, by the same way as all others. The path is below the endpoint;
// body is nil for none, and what is under "result" is decoded into the value that into points to, unless that is nil.
func Call(ctx context.Context, cloud reconcile.Cloud, method, path string, body, into any) error {
	c, ok := cloud.(*Cloud)
	if !ok {
		return fmt.Errorf("%T is no place in Cloudflare", cloud)
	}
	way, err := c.way()
	if err != nil {
		return err
	}
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		text = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, way.endpoint+path, text)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+way.token)
	if body != nil {
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
