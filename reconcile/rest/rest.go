// Package rest is the way to a service that keeps JSON documents under paths, for kinds that are written outside of athanor. It
// knows HTTP: which statuses are an absence, which errors pass, and what no request may do. It knows no kind and no service.
package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/reconcile"
)

// maxBody bounds an answer, in bytes.
const maxBody = 16 << 20

// Service is one such service, and the [reconcile.Cloud] of its kinds.
type Service struct {
	// Name is that of the provider, such as "house", and of the service in what is counted and asked about.
	Name string
	// URL is where all paths begin, such as "https://house.example/v1".
	URL string
	// Account tells two accounts at one URL apart. Default: none.
	Account string
	// Header is sent with every request, such as Authorization; no redirection carries it elsewhere. Default: none.
	Header http.Header
	// Client makes the requests. Default: that of [reconcile.NewHTTPClient].
	Client *http.Client
}

var defaultClient = sync.OnceValue(reconcile.NewHTTPClient)

// Place is the service's URL, with the account where there is one.
func (s *Service) Place(context.Context) (reconcile.Place, error) {
	account := s.URL
	if s.Account != "" {
		account = s.Account + "@" + s.URL
	}
	return reconcile.Place{Provider: s.Name, Account: account}, nil
}

// Classify judges errors of the connection. What the service answers has its class already.
func (s *Service) Classify(err error) reconcile.Class { return reconcile.ClassOfConnection(err) }

// Request is one call.
type Request struct {
	// Operation is the name of the call in plans and counts, such as "PutLamp".
	Operation string
	// Method is that of HTTP. Every other than GET and HEAD changes something, unless Reads says otherwise.
	Method string
	// Path is where the document is, below the service's URL; each part is escaped.
	Path []string
	// Query follows the path. Default: none.
	Query url.Values
	// Send is the body, written as JSON. Default: none.
	Send any
	// Answer is a pointer that the answer is read into, where it has a body. Default: it is not read.
	Answer any
	// Reads says of a POST that it only asks.
	Reads bool
}

// StatusError says that a service refused a call.
type StatusError struct {
	Operation string
	// Status is the line of the answer, such as "409 Conflict", and Text the beginning of its body.
	Status, Text string
}

func (e *StatusError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", e.Operation, e.Status, e.Text), ": ")
}

// Do makes a call to the service of a kind. A call that changes something is refused while an object is observed. The error is
// [reconcile.ErrAbsent] when the service says 404 or 410; other statuses than 2xx are a *StatusError with the class of the status.
func Do(ctx context.Context, cloud reconcile.Cloud, r Request) error {
	s, ok := cloud.(*Service)
	if !ok {
		return fmt.Errorf("%T is no service of this kind", cloud)
	}
	place, err := s.Place(ctx)
	if err != nil {
		return err
	}
	reads := r.Reads || r.Method == http.MethodGet || r.Method == http.MethodHead
	made := reconcile.Call{Service: s.Name, Operation: r.Operation, Place: place, Mutates: !reads}
	return reconcile.Through(ctx, made, func(ctx context.Context) error { return s.send(ctx, r) })
}

func (s *Service) send(ctx context.Context, r Request) error {
	req, err := s.request(ctx, r)
	if err != nil {
		return reconcile.WithClass(err, reconcile.Invalid)
	}
	res, err := cmp.Or(s.Client, defaultClient()).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return refused(r.Operation, res)
	}
	if r.Answer == nil {
		return nil
	}
	body := &io.LimitedReader{R: res.Body, N: maxBody}
	switch err := json.NewDecoder(body).Decode(r.Answer); {
	case errors.Is(err, io.EOF) && body.N == maxBody:
		return nil
	case body.N <= 0:
		return reconcile.WithClass(fmt.Errorf("%s: the answer is larger than %d MiB", r.Operation, maxBody>>20), reconcile.Invalid)
	case err != nil && reconcile.ClassOfConnection(err) == reconcile.Unknown:
		return reconcile.WithClass(fmt.Errorf("%s: the answer: %w", r.Operation, err), reconcile.Invalid)
	default:
		return err
	}
}

func (s *Service) request(ctx context.Context, r Request) (*http.Request, error) {
	at, err := url.Parse(s.URL)
	if err != nil {
		return nil, fmt.Errorf("the address of %s: %w", s.Name, err)
	}
	parts := make([]string, len(r.Path))
	for i, part := range r.Path {
		if part == "" || part == "." || part == ".." {
			return nil, fmt.Errorf("%s: %q is no part of a path", r.Operation, part)
		}
		parts[i] = url.PathEscape(part)
	}
	at = at.JoinPath(parts...)
	at.RawQuery = r.Query.Encode()
	var body io.Reader
	if r.Send != nil {
		text, err := json.Marshal(r.Send)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Operation, err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, at.String(), body)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, s.Header)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// refused is the error of an answer, with its class.
func refused(operation string, res *http.Response) error {
	if res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone {
		return reconcile.ErrAbsent
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	if err != nil {
		text = nil // the status says it
	}
	return reconcile.WithClass(
		&StatusError{Operation: operation, Status: res.Status, Text: strings.TrimSpace(string(text))}, reconcile.ClassOfStatus(res.StatusCode),
	)
}
