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
	// Name is the service in calls, such as "ECR". Its environment variable for an endpoint ends with it.
	Name string
	// Signing is what requests are signed for, such as "ecr"; Host begins the name of its servers, such as "api.ecr".
	Signing, Host string
	// Target begins the operation's name in requests, such as "AmazonEC2ContainerRegistry_V20150921".
	Target string
	// Version is that of the protocol, "1.0" or "1.1".
	Version string
}

// mostAnswer bounds the answer to one call.
const mostAnswer = 16 << 20

// Call makes one call. It passes all that calls of the SDK's clients pass: gates, limits, the check of the account. in is written
// as JSON, and out is a pointer to what the answer is read into, nil for none. An error has the service's code.
func (s JSONService) Call(ctx context.Context, cloud reconcile.Cloud, operation string, in, out any) error {
	c, ok := cloud.(*Cloud)
	if !ok {
		return fmt.Errorf("%T is no location in AWS", cloud)
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	call := reconcile.Call{Service: s.Name, Operation: operation, Mutates: !reads(s.Name, operation)}
	if call.Place, err = c.Place(ctx); err != nil {
		return err
	}
	var answer []byte
	err = c.limits.of(call).Through(ctx, call, rate.Attempt{
		Do: func(ctx context.Context) error {
			var err error
			if answer, err = s.send(ctx, c, operation, body); err != nil {
				err = &smithy.OperationError{ServiceID: s.Name, OperationName: operation, Err: err}
			}
			return hinted(err)
		},
		Judge: func(err error) (reconcile.Class, time.Duration) { return classOf(err), retryAfter(err) },
		Again: func() error { return nil }, // each attempt makes a request of its own
	})
	if err != nil {
		return err
	}
	c.limits.note(call)
	if out == nil || len(answer) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return &smithy.OperationError{ServiceID: s.Name, OperationName: operation, Err: &smithy.DeserializationError{Err: err}}
	}
	return nil
}

// send signs and sends one request.
func (s JSONService) send(ctx context.Context, c *Cloud, operation string, body []byte) ([]byte, error) {
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	url := "https://" + s.Host + "." + cfg.Region + "." + Domain(cfg.Region) + "/"
	if cfg.BaseEndpoint != nil {
		url = *cfg.BaseEndpoint
	}
	if own := os.Getenv("AWS_ENDPOINT_URL_" + strings.ToUpper(s.Name)); own != "" && c.settings.Endpoint == nil && len(cfg.ConfigSources) > 0 {
		url = own
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-"+s.Version)
	req.Header.Set("X-Amz-Target", s.Target+"."+operation)
	if cfg.Credentials == nil {
		return nil, &CredentialsError{Err: errors.New("there are none")}
	}
	keys, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, keys, req, hex.EncodeToString(sum[:]), s.Signing, cfg.Region, time.Now()); err != nil {
		return nil, err
	}
	resp, err := cfg.HTTPClient.Do(req)
	if err != nil {
		return nil, &smithyhttp.RequestSendError{Err: err}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return nil, &smithyhttp.RequestSendError{Err: err}
	}
	if resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices {
		return answer, nil
	}
	return nil, &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: resp}, Err: jsonError(resp, answer)}
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
