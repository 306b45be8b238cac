package cloudflare

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
)

// Request is a call that is made without the client's own types.
type Request struct {
	// Method and Path below the endpoint, with its query. Parts that are not fixed are escaped by url.PathEscape.
	Method, Path string
	// Header is sent along. Nil: none.
	Header http.Header
	// Body is sent as JSON, a [Form] as it is. Nil: none.
	Body any
	// Token is asked with instead of the API token, where a service has given one for this. "": none.
	Token string
	// Info is given what the answer says of itself under "result_info", such as a cursor. Nil: nobody asks.
	Info any
	// Whole: the whole answer is decoded, and not what is under "result".
	Whole bool
	// As is how the call is named, where [Operations] does not list it. Zero: by its method and path.
	As Operation
}

// Form is a body that is no JSON, with its content type.
type Form struct {
	Type    string
	Content []byte
}

// NewForm is a body of several parts, which write adds.
func NewForm(write func(*multipart.Writer) error) (Form, error) {
	var text bytes.Buffer
	form := multipart.NewWriter(&text)
	if err := errors.Join(write(form), form.Close()); err != nil {
		return Form{}, err
	}
	return Form{form.FormDataContentType(), text.Bytes()}, nil
}

// Send makes a call with a body and an answer in JSON. Either may be nil.
func Send(ctx context.Context, cloud reconcile.Cloud, method, path string, body, into any) error {
	return Call(ctx, cloud, Request{Method: method, Path: path, Body: body}, into)
}

// content is the body as it is sent, with its type.
func (r Request) content() (Form, error) {
	switch body := r.Body.(type) {
	case nil:
		return Form{}, nil
	case Form:
		return body, nil
	}
	encoded, err := json.Marshal(r.Body)
	return Form{"application/json", encoded}, err
}

// Call makes a call for which the client has no method, or types that cannot be made outside of it, by the same way as
// all others. What is under "result" of the answer is decoded into the value that into points to, unless that is nil.
func Call(ctx context.Context, cloud reconcile.Cloud, r Request, into any) error {
	res, err := answered(ctx, cloud, r)
	if err != nil || into == nil {
		return err
	}
	if r.Whole {
		return json.NewDecoder(res.Body).Decode(into)
	}
	return json.NewDecoder(res.Body).Decode(&struct {
		Result any `json:"result"`
		Info   any `json:"result_info"`
	}{into, r.Info})
}

// Download makes a call whose answer is no JSON, and returns that as it is with its headers.
func Download(ctx context.Context, cloud reconcile.Cloud, r Request) (http.Header, []byte, error) {
	res, err := answered(ctx, cloud, r)
	if err != nil {
		return nil, nil, err
	}
	content, err := io.ReadAll(res.Body)
	return res.Header, content, err
}

// answered makes a call. The answer is read to its end, and is no refusal.
func answered(ctx context.Context, cloud reconcile.Cloud, r Request) (*http.Response, error) {
	c, ok := cloud.(*Cloud)
	if !ok {
		return nil, fmt.Errorf("%T is no place in Cloudflare", cloud)
	}
	way, err := c.way()
	if err != nil {
		return nil, err
	}
	body, err := r.content()
	if err != nil {
		return nil, err
	}
	var text io.Reader
	if r.Body != nil {
		text = bytes.NewReader(body.Content)
	}
	if r.As.Name != "" {
		ctx = context.WithValue(ctx, namedKey{}, r.As)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, way.endpoint+r.Path, text)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, r.Header)
	req.Header.Set("Authorization", "Bearer "+cmp.Or(r.Token, way.token))
	if r.Body != nil {
		req.Header.Set("Content-Type", body.Type)
	}
	return c.pass(req, c.http.Do)
}

// PutSigned sends content to a URL that Cloudflare has signed for it, which needs no token and gets none, and returns the ETag of what
// arrived. The URL is a secret as long as it counts: no error shows it.
func PutSigned(ctx context.Context, cloud reconcile.Cloud, as Operation, signed string, content []byte) (etag string, err error) {
	c, ok := cloud.(*Cloud)
	if !ok {
		return "", fmt.Errorf("%T is no place in Cloudflare", cloud)
	}
	if checkEndpoint(signed) != nil {
		return "", fmt.Errorf("%s: Cloudflare named no URL that content can be sent to", as.Name)
	}
	req, err := http.NewRequestWithContext(context.WithValue(ctx, namedKey{}, as), as.Method, signed, bytes.NewReader(content))
	if err != nil {
		return "", fmt.Errorf("%s: Cloudflare named no URL that content can be sent to", as.Name)
	}
	res, err := c.pass(req, func(req *http.Request) (*http.Response, error) {
		res, err := c.http.Do(req)
		if failed, ok := errors.AsType[*url.Error](err); ok {
			failed.URL = as.Name
		}
		return res, err
	})
	if err != nil {
		return "", err
	}
	return strings.Trim(res.Header.Get("ETag"), `"`), nil
}
