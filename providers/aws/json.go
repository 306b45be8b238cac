package aws

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/rate"
)

// JSONService is a service that takes calls as JSON (the protocols AWS JSON 1.0 and 1.1), for kinds that need few operations of
// it: a client of the SDK is a module of its own, which every build loads and links.
type JSONService struct {
	// Name is the service in calls, such as "ECR".
	Name string
	// Env is what its environment variable for an endpoint ends with, which is its name in the SDK. "": Name in upper case.
	Env string
	// Signing is what requests are signed for, such as "ecr"; Host begins the name of its servers, such as "api.ecr".
	Signing, Host string
	// Target begins the operation's name in requests, such as "AmazonEC2ContainerRegistry_V20150921".
	Target string
	// Version is that of the protocol, "1.0" or "1.1".
	Version string

	// isGlobal: the service has one server for all regions of a partition, see [XMLService].
	isGlobal bool
	// refusal reads what the service says of a call that it refused. Nil: JSON.
	refusal func(*http.Response, []byte) error
}

// request is what is sent for an operation.
type request struct {
	operation, method, path string
	query                   url.Values
	body                    []byte
	header                  map[string]string
}

// mostAnswer bounds the answer to one call.
const mostAnswer = 16 << 20

// Call makes one call. It passes all that calls of the SDK's clients pass: gates, limits, the check of the account. in is written
// as JSON, and out is a pointer to what the answer is read into, nil for none. An error has the service's code.
func (s JSONService) Call(ctx context.Context, cloud reconcile.Cloud, operation string, in, out any) error {
	r, err := s.targeted(operation, in)
	if err != nil {
		return err
	}
	_, err = s.make(ctx, cloud, r, json.Unmarshal, out)
	return err
}

// CallUngated makes one call that is not about a resource: no gate, limit or check of the account is before it.
func (s JSONService) CallUngated(ctx context.Context, cloud reconcile.Cloud, operation string, in, out any) error {
	c, err := placeOf(cloud)
	if err != nil {
		return err
	}
	r, err := s.targeted(operation, in)
	if err != nil {
		return err
	}
	answer, err := s.send(ctx, c, r)
	if err != nil {
		return &smithy.OperationError{ServiceID: s.Name, OperationName: operation, Err: err}
	}
	return s.decoded(operation, answer, json.Unmarshal, out)
}

// targeted is the request of an operation that the service finds by a header.
func (s JSONService) targeted(operation string, in any) (request, error) {
	body, err := json.Marshal(in)
	return request{operation: operation, method: http.MethodPost, path: "/", body: body, header: map[string]string{
		"Content-Type": "application/x-amz-json-" + s.Version, "X-Amz-Target": s.Target + "." + operation,
	}}, err
}

// Rest makes one call of a service that is asked by methods and paths. A nil in sends no body. What stands for a name in path is
// escaped by the caller.
func (s JSONService) Rest(ctx context.Context, cloud reconcile.Cloud, operation, method, path string, query url.Values, in, out any) error {
	r := request{operation: operation, method: method, path: path, query: query}
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil {
			return err
		}
		r.body, r.header = body, map[string]string{"Content-Type": "application/json"}
	}
	_, err := s.make(ctx, cloud, r, json.Unmarshal, out)
	return err
}

// reply is what a service answered to one call.
type reply struct {
	header http.Header
	body   []byte
}

// make makes one call, and reads the answer into out by decode. It returns the headers of the answer.
func (s JSONService) make(ctx context.Context, cloud reconcile.Cloud, r request, decode func([]byte, any) error, out any) (_ http.Header, err error) {
	c, err := placeOf(cloud)
	if err != nil {
		return nil, err
	}
	operation := r.operation
	call := reconcile.Call{Service: s.Name, Operation: operation, Mutates: !reads(s.Name, operation)}
	if call.Place, err = c.Place(ctx); err != nil {
		return nil, err
	}
	var answer reply
	err = c.limits.of(call).Through(ctx, call, rate.Attempt{
		Do: func(ctx context.Context) error {
			var err error
			if answer, err = s.send(ctx, c, r); err != nil {
				err = &smithy.OperationError{ServiceID: s.Name, OperationName: operation, Err: err}
			}
			return hinted(err)
		},
		Judge: func(err error) (reconcile.Class, time.Duration) { return classOf(err), retryAfter(err) },
		Again: func() error { return nil }, // each attempt makes a request of its own
	})
	if err != nil {
		return nil, err
	}
	c.limits.note(call)
	return answer.header, s.decoded(operation, answer, decode, out)
}

func placeOf(cloud reconcile.Cloud) (*Cloud, error) {
	if c, ok := cloud.(*Cloud); ok {
		return c, nil
	}
	return nil, fmt.Errorf("%T is no location in AWS", cloud)
}

// decoded reads an answer.
func (s JSONService) decoded(operation string, answer reply, decode func([]byte, any) error, out any) error {
	if out == nil || len(answer.body) == 0 {
		return nil
	}
	if err := decode(answer.body, out); err != nil {
		return &smithy.OperationError{ServiceID: s.Name, OperationName: operation, Err: &smithy.DeserializationError{Err: err}}
	}
	return nil
}

// send signs and sends one request.
func (s JSONService) send(ctx context.Context, c *Cloud, r request) (reply, error) {
	cfg, err := c.Config()
	if err != nil {
		return reply{}, err
	}
	server, region := "https://"+s.Host+"."+cfg.Region+"."+Domain(cfg.Region), cfg.Region
	if s.isGlobal {
		server, region = globalServer(s.Host, cfg.Region)
	}
	if cfg.BaseEndpoint != nil {
		server = *cfg.BaseEndpoint
	}
	if own := os.Getenv("AWS_ENDPOINT_URL_" + cmp.Or(s.Env, strings.ToUpper(s.Name))); own != "" && c.settings.Endpoint == nil && len(cfg.ConfigSources) > 0 {
		server = own
	}
	req, err := http.NewRequestWithContext(ctx, r.method, strings.TrimRight(server, "/")+r.path, bytes.NewReader(r.body))
	if err != nil {
		return reply{}, err
	}
	req.URL.RawQuery = r.query.Encode()
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	if cfg.Credentials == nil {
		return reply{}, &CredentialsError{Err: errors.New("there are none")}
	}
	keys, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return reply{}, err
	}
	sum := sha256.Sum256(r.body)
	if err := v4.NewSigner().SignHTTP(ctx, keys, req, hex.EncodeToString(sum[:]), s.Signing, region, time.Now()); err != nil {
		return reply{}, err
	}
	resp, err := cfg.HTTPClient.Do(req)
	if err != nil {
		return reply{}, &smithyhttp.RequestSendError{Err: err}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return reply{}, &smithyhttp.RequestSendError{Err: err}
	}
	if resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices {
		return reply{resp.Header, answer}, nil
	}
	refusal := jsonError
	if s.refusal != nil {
		refusal = s.refusal
	}
	return reply{}, &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: resp}, Err: refusal(resp, answer)}
}

// jsonError is what a service says of a call that it refused. Its code may have a namespace before and a page after it:
// https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html#operation-error-serialization
func jsonError(resp *http.Response, answer []byte) error {
	var says struct {
		Type    string `json:"__type"`
		Code    string `json:"code"`
		Message string `json:"message"` // Message too: names of members are found whatever their case
	}
	if json.Unmarshal(answer, &says) != nil {
		says.Message = ""
	}
	code := cmp.Or(resp.Header.Get("X-Amzn-Errortype"), says.Type, says.Code)
	code, _, _ = strings.Cut(code, ":")
	if i := strings.LastIndexByte(code, '#'); i >= 0 {
		code = code[i+1:]
	}
	return &smithy.GenericAPIError{Code: cmp.Or(code, "UnknownError"), Message: says.Message}
}
