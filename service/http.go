package service

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// bearer is the token of the header.
func bearer(header string) (string, error) {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		p := wire.NewProblem(http.StatusUnauthorized, wire.CodeUnauthorized, "a token is needed", "the request has no bearer token")
		p.Hint = "athanor login URL"
		return "", p
	}
	return strings.TrimSpace(token), nil
}

// checkProtocol refuses a client whose protocol the service does not speak. A client that says nothing is taken as it is.
func checkProtocol(header string) error {
	if header == "" || header == strconv.Itoa(wire.Version) {
		return nil
	}
	p := wire.NewProblem(http.StatusUpgradeRequired, wire.CodeProtocol, "client and service do not fit",
		"the service speaks protocol "+strconv.Itoa(wire.Version)+" and the client "+header)
	p.Hint = "install the version of athanor that the service has"
	return p
}

func tooMany(wait time.Duration) error {
	return &limitError{wire.NewProblem(http.StatusTooManyRequests, wire.CodeTooMany, "too many requests", ""), wait}
}

// limitError says when to ask again.
type limitError struct {
	problem *wire.Problem
	wait    time.Duration
}

func (e *limitError) Error() string { return e.problem.Error() }
func (e *limitError) Unwrap() error { return e.problem }

// decode reads a body. Unknown fields are refused: what a newer client says must not be dropped in silence.
func decode(in *request, into any) error {
	var body io.Reader = http.MaxBytesReader(in.writer, in.Body, wire.MaxBody)
	switch coding := in.Header.Get("Content-Encoding"); coding {
	case "", "identity":
	case "gzip":
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			return bodyError(err)
		}
		body = &bounded{unpacked, wire.MaxBody}
	default:
		return wire.NewProblem(http.StatusUnsupportedMediaType, wire.CodeMalformed, "the body has an unknown encoding", coding)
	}
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return bodyError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return bodyError(errors.New("there is more than one JSON value"))
	}
	return nil
}

var errTooLarge = errors.New("the body is too large")

// bounded is a reader that refuses to give more than so many bytes.
type bounded struct {
	from io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		if n, _ := b.from.Read(make([]byte, 1)); n > 0 {
			return 0, errTooLarge
		}
	}
	n, err := b.from.Read(p[:min(int64(len(p)), max(b.left, 0))])
	b.left -= int64(n)
	if n == 0 && err == nil && b.left <= 0 {
		err = io.EOF
	}
	return n, err
}

func bodyError(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok || errors.Is(err, errTooLarge) {
		return wire.NewProblem(http.StatusRequestEntityTooLarge, wire.CodeTooLarge, "the body is too large",
			"a body has at most "+strconv.Itoa(wire.MaxBody>>20)+" MiB, after decompression too")
	}
	return wire.NewProblem(http.StatusBadRequest, wire.CodeMalformed, "the body cannot be read", err.Error())
}

// write writes an answer, compressed when the client takes that and it is worth it.
func (s *Service) write(w http.ResponseWriter, r *http.Request, status int, answer any) {
	body, err := json.Marshal(answer)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeBody(w, r, status, "application/json", body)
}

// worthPacking is the size from which on an answer is compressed.
const worthPacking = 1 << 10

func writeBody(w http.ResponseWriter, r *http.Request, status int, media string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", media)
	h.Add("Vary", "Accept-Encoding")
	if len(body) < worthPacking || !takesGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		_, _ = w.Write(body) // a client that went away asks again
		return
	}
	h.Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err == nil {
		_, _ = packed.Write(body)
		_ = packed.Close()
	}
}

func takesGzip(header string) bool {
	return slices.ContainsFunc(strings.Split(header, ","), func(coding string) bool {
		name, params, _ := strings.Cut(strings.TrimSpace(coding), ";")
		return name == "gzip" && strings.ReplaceAll(params, " ", "") != "q=0"
	})
}

// fail writes an error. One that is the service's own is logged and not shown: it may name hosts and roles.
func (s *Service) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // nobody reads it
	}
	h := w.Header()
	if e, ok := errors.AsType[*limitError](err); ok {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.wait.Seconds()))))
	}
	p := wire.FromError(err)
	if p == nil {
		p = wire.NewProblem(http.StatusInternalServerError, "internal", "the service failed", "")
	}
	if p.Status >= http.StatusInternalServerError {
		s.settings.Log(r.Method, r.URL.EscapedPath(), err)
	}
	switch p.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	case http.StatusUpgradeRequired:
		h.Set("Upgrade", "athanor/"+strconv.Itoa(wire.Version))
	}
	body, encoding := json.Marshal(p)
	if encoding != nil {
		body = []byte("{}")
	}
	writeBody(w, r, p.Status, wire.ProblemType, body)
}

// remoteOf is the address that a request comes from: the last one that no proxy of ours has.
func remoteOf(r *http.Request, proxies []*net.IPNet) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	ours := func(address string) bool {
		ip := net.ParseIP(address)
		return ip != nil && slices.ContainsFunc(proxies, func(n *net.IPNet) bool { return n.Contains(ip) })
	}
	if !ours(host) {
		return host
	}
	for _, hop := range slices.Backward(strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")) {
		if hop = strings.TrimSpace(hop); net.ParseIP(hop) == nil {
			break
		} else if host = hop; !ours(hop) {
			break
		}
	}
	return host
}
